package llmgw

import (
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/internal/pki"
	"llmgw.io/llmgw/inventory"
)

// A router believes the gate of the node it means, for as long as that node is a
// member, and shows a certificate of its own that is renewed in time.
func TestGates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ca, err := pki.NewCA("c", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		removed := map[inventory.NodeID]time.Time{}
		g := &gates{ca: ca, revoked: func(n inventory.NodeID, issued time.Time) bool { return pki.Revoked(issued, removed[n]) }}
		shown := map[string]bool{}
		// meet has a router that means a node meet the gate of n1.
		meet := func(node string) error {
			key, csr, err := pki.NewRequest("n1")
			if err != nil {
				t.Fatal(err)
			}
			cert, _, err := ca.SignGate(csr, "n1", time.Now(), 0)
			if err != nil {
				t.Fatal(err)
			}
			pair, err := pki.NewKeyPair(cert, key)
			if err != nil {
				t.Fatal(err)
			}
			server, err := pki.ServerTLS(pki.ServerConfig{
				Trust: ca.Trust(), Certificate: pair.Current, Kinds: []pki.Kind{pki.KindRouter}, RequireClient: true,
				Check: func(c pki.CertInfo) error { shown[c.Serial] = true; return nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			conf, err := g.to(node)
			if err != nil {
				t.Fatal(err)
			}
			a, b := net.Pipe()
			for _, c := range []net.Conn{a, b} { // both may speak at once, which a pipe does not bear
				if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
					t.Fatal(err)
				}
			}
			done := make(chan error, 1)
			go func() { done <- errors.Join(tls.Server(b, server).HandshakeContext(t.Context()), b.Close()) }()
			err = tls.Client(a, conf).HandshakeContext(t.Context())
			_ = a.Close()
			<-done
			return err
		}
		if err := meet("n1"); err != nil {
			t.Errorf("its own node's: %v", err)
		}
		if err := meet("n2"); !errors.Is(err, pki.ErrUntrusted) {
			t.Errorf("another node's: %v", err)
		}
		removed["n1"] = time.Now().Add(time.Minute)
		if err := meet("n1"); !errors.Is(err, pki.ErrUntrusted) {
			t.Errorf("a removed node's: %v", err)
		}
		delete(removed, "n1")
		for range 4 * 30 { // four months
			time.Sleep(24 * time.Hour)
			if err := meet("n1"); err != nil {
				t.Fatalf("at %s: %v", time.Now(), err)
			}
		}
		if n := len(shown); n < 6 || n > 8 {
			t.Errorf("%d certificates were shown in four months", n)
		}
	})
}
