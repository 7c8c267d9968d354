package pki_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/internal/pki"
)

func TestCASurvivesTheStore(t *testing.T) {
	t.Parallel()
	ca := newCA(t, "prod.example")
	back, err := pki.ParseCA(ca.CertPEM(), ca.KeyPEM())
	if err != nil {
		t.Fatal(err)
	}
	if back.Cluster() != "prod.example" || back.Pin() != ca.Pin() {
		t.Errorf("want prod.example %s, got %s %s", ca.Pin(), back.Cluster(), back.Pin())
	}
	n := sign(t, back.SignNode, "a1", start, 0)
	if _, err := ca.Trust().VerifyPeer(n.chain(), start, 0); err != nil {
		t.Errorf("signed after reading back: %v", err)
	}
}

func TestParseCARefuses(t *testing.T) {
	t.Parallel()
	ca, other := newCA(t, "one"), newCA(t, "one")
	node := sign(t, ca.SignNode, "a1", start, 0)
	for name, c := range map[string]struct {
		cert, key []byte
		want      error
	}{
		"nothing":              {nil, nil, pki.ErrMalformed},
		"garbage":              {[]byte("hello"), ca.KeyPEM(), pki.ErrMalformed},
		"garbage in PEM":       {[]byte("-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n"), ca.KeyPEM(), pki.ErrMalformed},
		"garbage behind":       {append(ca.CertPEM(), "x"...), ca.KeyPEM(), pki.ErrMalformed},
		"two certificates":     {append(ca.CertPEM(), ca.CertPEM()...), ca.KeyPEM(), pki.ErrMalformed},
		"key for certificate":  {ca.KeyPEM(), ca.KeyPEM(), pki.ErrMalformed},
		"certificate for key":  {ca.CertPEM(), ca.CertPEM(), pki.ErrMalformed},
		"key of another":       {ca.CertPEM(), other.KeyPEM(), pki.ErrMalformed},
		"a node's certificate": {node.certPEM, node.keyPEM, pki.ErrUntrusted},
		"far too much":         {bytes.Repeat([]byte("x"), 1<<20), ca.KeyPEM(), pki.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := pki.ParseCA(c.cert, c.key); !errors.Is(err, c.want) {
				t.Errorf("want %v, got %v", c.want, err)
			}
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "Prod", "a/b", "a..b", "a.", ".a", "a b", "ü", "a%2f", "a:1", "a@b", strings.Repeat("a", 101)} {
		if _, err := pki.NewCA(bad, start); !errors.Is(err, pki.ErrName) {
			t.Errorf("cluster %q: want %v, got %v", bad, pki.ErrName, err)
		}
	}
	ca := newCA(t, "prod")
	_, csr, err := pki.NewRequest("x")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", ".", "..", "../control", "a/b", "a b", "a\x00", "a?b", "a#b", "a%41", "é", strings.Repeat("a", 254)} {
		if _, _, err := ca.SignNode(csr, bad, start, 0); !errors.Is(err, pki.ErrName) {
			t.Errorf("node %q: want %v, got %v", bad, pki.ErrName, err)
		}
	}
	for _, good := range []string{"a1", "A1", "gpu-01.rack_7.example", "1"} {
		cert, info, err := ca.SignNode(csr, good, start, 0)
		if err != nil {
			t.Errorf("node %q: %v", good, err)
			continue
		}
		p, err := pki.Identity(parse(t, cert)[0])
		if want := (pki.Peer{Cluster: "prod", Kind: pki.KindNode, ID: good}); err != nil || p != want || info.Peer != want {
			t.Errorf("want %v, got %v, %v, %v", want, p, info.Peer, err)
		}
	}
}

func TestSignBelievesNothingButTheKey(t *testing.T) {
	t.Parallel()
	ca := newCA(t, "prod")
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	lie, err := url.Parse("spiffe://prod/control")
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:     pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		DNSNames:    []string{"control.example"},
		IPAddresses: []net.IP{net.IPv4(10, 0, 0, 1)},
		URIs:        []*url.URL{lie},
		ExtraExtensions: []pkix.Extension{
			{Id: []int{2, 5, 29, 19}, Critical: true, Value: []byte{0x30, 0x03, 0x01, 0x01, 0xff}}, // CA:TRUE
		},
	}, k)
	if err != nil {
		t.Fatal(err)
	}
	csr := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	certPEM, info, err := ca.SignNode(csr, "a1", start, 0)
	if err != nil {
		t.Fatal(err)
	}
	cert := parse(t, certPEM)[0]
	if got := cert.URIs; len(got) != 1 || got[0].String() != "spiffe://prod/node/a1" {
		t.Errorf("want the node's URI alone, got %v", got)
	}
	if cert.IsCA || len(cert.DNSNames)+len(cert.IPAddresses) != 0 || cert.Subject.String() != "" {
		t.Errorf("the request's wishes came through: CA %t, names %v %v, subject %q", cert.IsCA, cert.DNSNames, cert.IPAddresses, cert.Subject)
	}
	if !slices.Equal(cert.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}) {
		t.Errorf("want client authentication alone, got %v", cert.ExtKeyUsage)
	}
	if !cert.NotBefore.Equal(start.Add(-5*time.Minute)) || !cert.NotAfter.Equal(start.Add(24*time.Hour)) {
		t.Errorf("want 5 minutes before to 24 hours after, got %s to %s", cert.NotBefore, cert.NotAfter)
	}
	if !info.IssuedAt.Equal(start) || info.Serial != cert.SerialNumber.Text(16) || cert.SerialNumber.BitLen() > 128 {
		t.Errorf("particulars differ from the certificate: %+v", info)
	}
	if !k.PublicKey.Equal(cert.PublicKey) {
		t.Error("another key was signed than the request's")
	}
}

func TestSignRefuses(t *testing.T) {
	t.Parallel()
	ca := newCA(t, "prod")
	request := func(key any) []byte {
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	}
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, good, err := pki.NewRequest("a1")
	if err != nil {
		t.Fatal(err)
	}
	stolen, _ := pem.Decode(good)
	stolen.Bytes[len(stolen.Bytes)-1] ^= 1 // the signature's last byte
	for name, c := range map[string]struct {
		csr  []byte
		want error
	}{
		"RSA":          {request(weak), pki.ErrKey},
		"P-384":        {request(p384), pki.ErrKey},
		"no proof":     {pem.EncodeToMemory(stolen), pki.ErrMalformed},
		"empty":        {nil, pki.ErrMalformed},
		"certificate":  {ca.CertPEM(), pki.ErrMalformed},
		"two requests": {append(slices.Clone(good), good...), pki.ErrMalformed},
	} {
		if _, _, err := ca.SignNode(c.csr, "a1", start, 0); !errors.Is(err, c.want) {
			t.Errorf("%s: want %v, got %v", name, c.want, err)
		}
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := ca.SignNode(request(ed), "a1", start, 0); err != nil {
		t.Errorf("Ed25519: %v", err)
	}
	if _, _, err := ca.SignNode(good, "a1", start, -time.Hour); err == nil {
		t.Error("a negative life was signed")
	}
}

func TestNothingOutlivesTheCA(t *testing.T) {
	t.Parallel()
	ca := newCA(t, "prod")
	n := sign(t, ca.SignRouter, "r1", ca.NotAfter().Add(-time.Hour), 0)
	if !n.cert.NotAfter.Equal(ca.NotAfter()) {
		t.Errorf("want an end at %s, got %s", ca.NotAfter(), n.cert.NotAfter)
	}
	for _, now := range []time.Time{ca.NotAfter().Add(time.Second), start.Add(-48 * time.Hour)} {
		if _, _, err := ca.IssueServer(nil, now, 0); !errors.Is(err, pki.ErrExpired) {
			t.Errorf("at %s: want %v, got %v", now, pki.ErrExpired, err)
		}
	}
	// The grace of a leaf does not stretch the life of its authority.
	if _, err := ca.Trust().VerifyPeer(n.chain(), ca.NotAfter().Add(time.Hour), pki.RenewGrace); !errors.Is(err, pki.ErrExpired) {
		t.Errorf("want %v, got %v", pki.ErrExpired, err)
	}
}

func TestIssueServer(t *testing.T) {
	t.Parallel()
	ca := newCA(t, "prod")
	certPEM, _, err := ca.IssueServer([]string{"control.example", "10.0.0.7", "fd00::7"}, start, 0)
	if err != nil {
		t.Fatal(err)
	}
	certs := parse(t, certPEM)
	if len(certs) != 2 || !certs[1].IsCA {
		t.Fatalf("want the leaf and its authority, got %d certificates", len(certs))
	}
	if got := certs[0]; !slices.Equal(got.DNSNames, []string{"control.example"}) || len(got.IPAddresses) != 2 ||
		!slices.Equal(got.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}) {
		t.Errorf("got names %v %v, usages %v", got.DNSNames, got.IPAddresses, got.ExtKeyUsage)
	}
	if _, _, err := ca.IssueServer([]string{"*.example"}, start, 0); !errors.Is(err, pki.ErrName) {
		t.Errorf("want %v, got %v", pki.ErrName, err)
	}
}
