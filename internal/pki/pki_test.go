package pki_test

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"llmgw.io/llmgw/internal/pki"
)

// start is a whole second in the middle of nothing.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newCA(t *testing.T, cluster string) *pki.CA {
	t.Helper()
	ca, err := pki.NewCA(cluster, start)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// leaf is a signed certificate with its key.
type leaf struct {
	cert            *x509.Certificate
	certPEM, keyPEM []byte
}

func (l leaf) chain() []*x509.Certificate { return []*x509.Certificate{l.cert} }

func (l leaf) pair(t *testing.T) *pki.KeyPair {
	t.Helper()
	k, err := pki.NewKeyPair(l.certPEM, l.keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

type signer func(csrPEM []byte, id string, now time.Time, life time.Duration) ([]byte, pki.CertInfo, error)

func sign(t *testing.T, by signer, id string, now time.Time, life time.Duration) leaf {
	t.Helper()
	keyPEM, csrPEM, err := pki.NewRequest(id)
	if err != nil {
		t.Fatal(err)
	}
	certPEM, _, err := by(csrPEM, id, now, life)
	if err != nil {
		t.Fatal(err)
	}
	return leaf{parse(t, certPEM)[0], certPEM, keyPEM}
}

func server(t *testing.T, ca *pki.CA, now time.Time) leaf {
	t.Helper()
	certPEM, keyPEM, err := ca.IssueServer(nil, now, 0)
	if err != nil {
		t.Fatal(err)
	}
	return leaf{parse(t, certPEM)[0], certPEM, keyPEM}
}

func parse(t *testing.T, certPEM []byte) []*x509.Certificate {
	t.Helper()
	certs, err := pki.ParseCertificates(certPEM)
	if err != nil {
		t.Fatal(err)
	}
	return certs
}

func key(t *testing.T, keyPEM []byte) crypto.Signer {
	t.Helper()
	b, _ := pem.Decode(keyPEM)
	k, err := x509.ParsePKCS8PrivateKey(b.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return k.(crypto.Signer)
}

// forge signs whatever template with the authority's key, which a mere holder
// of the key could do and our own code never does.
func forge(t *testing.T, ca *pki.CA, template *x509.Certificate, pub crypto.PublicKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parse(t, ca.CertPEM())[0], pub, key(t, ca.KeyPEM()))
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}
