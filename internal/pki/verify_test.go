package pki_test

import (
	"crypto/x509"
	"errors"
	"math/big"
	"net/url"
	"testing"
	"time"

	"llmgw.io/llmgw/internal/pki"
)

// A node's certificate, signed at start for a day, seen by clocks that differ.
func TestVerifyPeerAndClocks(t *testing.T) {
	t.Parallel()
	ca := newCA(t, "prod")
	node := sign(t, ca.SignNode, "a1", start, 24*time.Hour)
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		at    time.Duration // after start
		grace time.Duration
		want  error
	}{
		"at once":                  {0, 0, nil},
		"clock 4 minutes behind":   {-4 * time.Minute, 0, nil},
		"clock 10 minutes behind":  {-10 * time.Minute, 0, pki.ErrNotYetValid},
		"clock a day behind":       {-day, 0, pki.ErrNotYetValid},
		"grace is not for early":   {-day, pki.RenewGrace, pki.ErrNotYetValid},
		"clock 10 minutes ahead":   {10 * time.Minute, 0, nil},
		"last second":              {day, 0, nil},
		"a second late":            {day + time.Second, 0, pki.ErrExpired},
		"clock a day ahead at end": {2 * day, 0, pki.ErrExpired},
		"late, renewing":           {2 * day, pki.RenewGrace, nil},
		"last day of grace":        {day + pki.RenewGrace, pki.RenewGrace, nil},
		"after the grace":          {day + pki.RenewGrace + time.Second, pki.RenewGrace, pki.ErrExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := ca.Trust().VerifyPeer(node.chain(), start.Add(c.at), c.grace)
			if !errors.Is(err, c.want) {
				t.Fatalf("want %v, got %v", c.want, err)
			}
			if want := (pki.Peer{Cluster: "prod", Kind: pki.KindNode, ID: "a1"}); err == nil && p != want {
				t.Errorf("want %v, got %v", want, p)
			}
		})
	}
}

// A machine with a clock a day behind still gets in to be told so.
func TestServerIsBelievedByLateClocks(t *testing.T) {
	t.Parallel()
	ca := newCA(t, "prod")
	s := server(t, ca, start)
	control := pki.Peer{Cluster: "prod", Kind: pki.KindControl}
	for _, at := range []time.Duration{-23 * time.Hour, -10 * time.Minute, 0, 10 * time.Minute, 24 * time.Hour} {
		if err := ca.Trust().VerifyServer(s.chain(), control, start.Add(at)); err != nil {
			t.Errorf("seen at %s: %v", at, err)
		}
	}
	if err := ca.Trust().VerifyServer(s.chain(), control, start.Add(pki.ServerLife+time.Second)); !errors.Is(err, pki.ErrExpired) {
		t.Errorf("want %v, got %v", pki.ErrExpired, err)
	}
}

func TestVerifyPeerRefuses(t *testing.T) {
	t.Parallel()
	ca, foreign, impostor := newCA(t, "prod"), newCA(t, "other"), newCA(t, "prod")
	node := sign(t, ca.SignNode, "a1", start, 0)
	made := func(uri string, use x509.ExtKeyUsage) []*x509.Certificate {
		u, err := url.Parse(uri)
		if err != nil {
			t.Fatal(err)
		}
		return []*x509.Certificate{forge(t, ca, &x509.Certificate{
			SerialNumber: big.NewInt(7),
			URIs:         []*url.URL{u},
			NotBefore:    start.Add(-time.Hour), NotAfter: start.Add(time.Hour),
			ExtKeyUsage: []x509.ExtKeyUsage{use},
		}, node.cert.PublicKey)}
	}
	two := made("spiffe://prod/node/a1", x509.ExtKeyUsageClientAuth)
	for name, chain := range map[string][]*x509.Certificate{
		"nothing":                  nil,
		"of another authority":     sign(t, foreign.SignNode, "a1", start, 0).chain(),
		"of a namesake":            sign(t, impostor.SignNode, "a1", start, 0).chain(),
		"namesake brings its CA":   append(sign(t, impostor.SignNode, "a1", start, 0).chain(), parse(t, impostor.CertPEM())...),
		"of another cluster":       made("spiffe://other/node/a1", x509.ExtKeyUsageClientAuth),
		"a server's":               server(t, ca, start).chain(),
		"a gate's":                 sign(t, ca.SignGate, "a1", start, 0).chain(),
		"the authority's own":      parse(t, ca.CertPEM()),
		"node that may serve only": made("spiffe://prod/node/a1", x509.ExtKeyUsageServerAuth),
		"control that calls":       made("spiffe://prod/control", x509.ExtKeyUsageClientAuth),
		"kind unknown":             made("spiffe://prod/root/a1", x509.ExtKeyUsageClientAuth),
		"node without id":          made("spiffe://prod/node/", x509.ExtKeyUsageClientAuth),
		"longer path":              made("spiffe://prod/node/a1/b", x509.ExtKeyUsageClientAuth),
		"doubled slash":            made("spiffe://prod//node/a1", x509.ExtKeyUsageClientAuth),
		"query":                    made("spiffe://prod/node/a1?x", x509.ExtKeyUsageClientAuth),
		"fragment":                 made("spiffe://prod/node/a1#x", x509.ExtKeyUsageClientAuth),
		"user":                     made("spiffe://x@prod/node/a1", x509.ExtKeyUsageClientAuth),
		"port":                     made("spiffe://prod:1/node/a1", x509.ExtKeyUsageClientAuth),
		"another scheme":           made("https://prod/node/a1", x509.ExtKeyUsageClientAuth),
		"escaped":                  made("spiffe://prod/node/%61%31", x509.ExtKeyUsageClientAuth),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, grace := range []time.Duration{0, pki.RenewGrace} {
				if p, err := ca.Trust().VerifyPeer(chain, start, grace); !errors.Is(err, pki.ErrUntrusted) {
					t.Errorf("want %v, got %v as %v", pki.ErrUntrusted, err, p)
				}
			}
		})
	}
	two[0].URIs = append(two[0].URIs, two[0].URIs[0])
	if _, err := pki.Identity(two[0]); !errors.Is(err, pki.ErrUntrusted) {
		t.Errorf("two names: want %v, got %v", pki.ErrUntrusted, err)
	}
	// A stranger's expired certificate is a stranger's, not one to renew.
	old := sign(t, foreign.SignNode, "a1", start, time.Hour)
	if _, err := ca.Trust().VerifyPeer(old.chain(), start.Add(2*time.Hour), 0); !errors.Is(err, pki.ErrUntrusted) || errors.Is(err, pki.ErrExpired) {
		t.Errorf("want %v, got %v", pki.ErrUntrusted, err)
	}
}

// While an authority is replaced, both are trusted.
func TestTrustInTwo(t *testing.T) {
	t.Parallel()
	old, next, foreign := newCA(t, "prod"), newCA(t, "prod"), newCA(t, "other")
	both, err := pki.ParseTrust(append(old.CertPEM(), next.CertPEM()...))
	if err != nil {
		t.Fatal(err)
	}
	again, err := pki.ParseTrust(both.PEM())
	if err != nil {
		t.Fatal(err)
	}
	for _, ca := range []*pki.CA{old, next} {
		n := sign(t, ca.SignNode, "a1", start, 0)
		if _, err := again.VerifyPeer(n.chain(), start, 0); err != nil {
			t.Errorf("authority %s: %v", ca.Pin(), err)
		}
	}
	if _, err := pki.ParseTrust(append(old.CertPEM(), foreign.CertPEM()...)); !errors.Is(err, pki.ErrUntrusted) {
		t.Errorf("two clusters: want %v, got %v", pki.ErrUntrusted, err)
	}
	if _, err := pki.ParseTrust(nil); !errors.Is(err, pki.ErrMalformed) {
		t.Errorf("none: want %v, got %v", pki.ErrMalformed, err)
	}
}
