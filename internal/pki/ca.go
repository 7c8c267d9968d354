package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"time"
)

const (
	caLife = 10 * 365 * 24 * time.Hour

	// backdate is how far in the past the certificates begin that a joining
	// machine must believe. Its clock may be wrong by hours; it has to come in
	// for anybody to be told so.
	backdate = 24 * time.Hour
)

// CA is the authority of one cluster. Its key signs every certificate of the
// cluster; whoever holds the key is the cluster, so it is stored as a secret.
type CA struct {
	cert    *x509.Certificate
	key     crypto.Signer
	keyPEM  []byte
	cluster string
}

// NewCA makes an authority with a fresh key, good for ten years.
func NewCA(cluster string, now time.Time) (*CA, error) {
	if err := (Peer{Cluster: cluster, Kind: KindControl}).check(); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the authority's key: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "llmgw CA " + cluster},
		URIs:                  []*url.URL{clusterURI(cluster)},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(caLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign the authority's certificate: %w", err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	return ParseCA(encode(typeCert, der), keyPEM)
}

// ParseCA reads an authority that CertPEM and KeyPEM wrote. An expired one is
// read too; it refuses to sign.
func ParseCA(certPEM, keyPEM []byte) (*CA, error) {
	der, err := block(certPEM, typeCert)
	if err != nil {
		return nil, fmt.Errorf("the authority's certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("%w: the authority's certificate: %w", ErrMalformed, err)
	}
	cluster, err := checkRoot(cert)
	if err != nil {
		return nil, err
	}
	key, err := parseKey(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("the authority's key: %w", err)
	}
	pub, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !pub.Equal(cert.PublicKey) {
		return nil, fmt.Errorf("%w: the authority's key does not belong to its certificate; restore both from one backup", ErrMalformed)
	}
	return &CA{cert: cert, key: key, keyPEM: slices.Clone(keyPEM), cluster: cluster}, nil
}

// checkRoot says whether a certificate may be an authority of ours, and whose.
// The signature of the certificate by itself is checked because a pin covers
// the key only: anybody can write another certificate around a public key.
func checkRoot(cert *x509.Certificate) (cluster string, err error) {
	if !cert.IsCA || !cert.BasicConstraintsValid {
		return "", fmt.Errorf("%w: the certificate is no authority", ErrUntrusted)
	}
	if err := checkKey(cert.PublicKey); err != nil {
		return "", err
	}
	if err := cert.CheckSignatureFrom(cert); err != nil {
		return "", fmt.Errorf("%w: the authority's certificate is not signed by its own key: %w", ErrUntrusted, err)
	}
	return clusterOf(cert)
}

// Cluster gives the name of the cluster.
func (c *CA) Cluster() string { return c.cluster }

// CertPEM gives the certificate, which is public.
func (c *CA) CertPEM() []byte { return encode(typeCert, c.cert.Raw) }

// KeyPEM gives the private key. It belongs in the store's secrets and nowhere else.
func (c *CA) KeyPEM() []byte { return slices.Clone(c.keyPEM) }

// Pin gives the fingerprint of the authority's public key, as join tokens carry it.
func (c *CA) Pin() string { return pinOf(c.cert) }

// Pool gives a fresh pool that holds this authority alone.
func (c *CA) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(c.cert)
	return p
}

// NotAfter says when the authority ends. No certificate outlives it.
func (c *CA) NotAfter() time.Time { return c.cert.NotAfter }

// Trust gives the trust in this authority alone.
func (c *CA) Trust() *Trust {
	return &Trust{cluster: c.cluster, roots: []*x509.Certificate{c.cert}, pool: c.Pool()}
}

// pinOf hashes the public key rather than the certificate, so that an authority
// whose certificate is renewed with the same key keeps its pin.
func pinOf(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func newSerial() (*big.Int, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	n := new(big.Int).SetBytes(b[:])
	if n.Sign() == 0 {
		return nil, errors.New("pki: the random source gave nothing but zeros")
	}
	return n, nil
}
