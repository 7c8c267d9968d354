package pki

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"
)

const (
	typeCert    = "CERTIFICATE"
	typeKey     = "PRIVATE KEY"
	typeRequest = "CERTIFICATE REQUEST"

	// maxPEM bounds what a stranger may make us parse; a request is under 1 KiB.
	maxPEM = 64 << 10
)

// blocks reads PEM that holds blocks of one type and nothing else.
func blocks(data []byte, want string) ([][]byte, error) {
	if len(data) > maxPEM {
		return nil, fmt.Errorf("%w: %d bytes of PEM where at most %d are read", ErrMalformed, len(data), maxPEM)
	}
	var out [][]byte
	for rest := bytes.TrimSpace(data); len(rest) > 0; rest = bytes.TrimSpace(rest) {
		b, after := pem.Decode(rest)
		if b == nil {
			return nil, fmt.Errorf("%w: not PEM; a block of type %q is wanted", ErrMalformed, want)
		}
		if b.Type != want {
			return nil, fmt.Errorf("%w: a PEM block of type %q where %q is wanted", ErrMalformed, cut(b.Type), want)
		}
		out, rest = append(out, b.Bytes), after
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: empty where a PEM block of type %q is wanted", ErrMalformed, want)
	}
	return out, nil
}

func block(data []byte, want string) ([]byte, error) {
	all, err := blocks(data, want)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("%w: %d PEM blocks of type %q where one is wanted", ErrMalformed, len(all), want)
	}
	return all[0], nil
}

// ParseCertificates reads one or more certificates, the leaf first.
func ParseCertificates(certPEM []byte) ([]*x509.Certificate, error) {
	ders, err := blocks(certPEM, typeCert)
	if err != nil {
		return nil, err
	}
	out := make([]*x509.Certificate, 0, len(ders))
	for _, der := range ders {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("%w: certificate: %w", ErrMalformed, err)
		}
		out = append(out, cert)
	}
	return out, nil
}

// parseKey leaves the parser's own words out, so that no byte of a key reaches a log.
func parseKey(keyPEM []byte) (crypto.Signer, error) {
	der, err := block(keyPEM, typeKey)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("%w: the private key is not PKCS #8", ErrMalformed)
	}
	s, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%w: the private key cannot sign", ErrKey)
	}
	return s, nil
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a private key: %w", err)
	}
	return encode(typeKey, der), nil
}

func encode(typ string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: der})
}
