package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
)

// NewRequest makes a fresh key and a request to sign it. The key never leaves
// the machine; keep it readable by its owner alone. The name is for people who
// look at the request: the certificate's name is chosen by the control plane.
func NewRequest(name string) (keyPEM, csrPEM []byte, err error) {
	key, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	if keyPEM, err = encodeKey(key); err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader,
		&x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}, key)
	if err != nil {
		return nil, nil, fmt.Errorf("make a certificate request: %w", err)
	}
	return keyPEM, encode(typeRequest, der), nil
}

// requestKey gives the key of a request whose sender has shown that it holds it.
func requestKey(csrPEM []byte) (crypto.PublicKey, error) {
	der, err := block(csrPEM, typeRequest)
	if err != nil {
		return nil, fmt.Errorf("the certificate request: %w", err)
	}
	csr, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, fmt.Errorf("%w: certificate request: %w", ErrMalformed, err)
	}
	if err := checkKey(csr.PublicKey); err != nil {
		return nil, err
	}
	if err := csr.CheckSignature(); err != nil {
		return nil, fmt.Errorf("%w: the request is not signed by its own key: %w", ErrMalformed, err)
	}
	return csr.PublicKey, nil
}

// checkKey lets in two kinds of key that cannot be weak by choice of size.
func checkKey(pub crypto.PublicKey) error {
	switch k := pub.(type) {
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P256() {
			return nil
		}
	case ed25519.PublicKey:
		return nil
	}
	return fmt.Errorf("%w: %T; use an ECDSA key on P-256 or an Ed25519 key", ErrKey, pub)
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return key, nil
}
