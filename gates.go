package llmgw

import (
	"crypto/tls"
	"fmt"
	"sync"
	"time"

	"llmgw.io/llmgw/internal/pki"
	"llmgw.io/llmgw/inventory"
)

// routerID is what routers that live in a control plane are called in their
// certificates. Gates let in any router of their cluster.
const routerID = "control"

// gates is this process as a router before the gates of nodes: what it shows them,
// and by what it knows them.
type gates struct {
	ca *pki.CA
	// revoked says whether a certificate of a node issued then is refused.
	revoked func(node inventory.NodeID, issued time.Time) bool

	mu   sync.Mutex
	pair pki.KeyPair
	due  time.Time
}

// to is the TLS side of a connection to the gate of a node, as router.Config has it.
// A removed node's is refused, whatever it shows.
func (g *gates) to(node string) (*tls.Config, error) {
	conf, err := pki.ClientTLS(pki.ClientConfig{
		Trust: g.ca.Trust(), Certificate: g.current, Server: pki.Peer{Cluster: g.ca.Cluster(), Kind: pki.KindGate, ID: node},
	})
	if err != nil {
		return nil, err
	}
	conf.NextProtos = []string{"http/1.1"} // a connection carries one request at a time
	verify := conf.VerifyConnection
	conf.VerifyConnection = func(cs tls.ConnectionState) error {
		if err := verify(cs); err != nil {
			return err
		}
		if g.revoked(inventory.NodeID(node), pki.IssuedAt(cs.PeerCertificates[0])) {
			return fmt.Errorf("%w: node %s was removed from the cluster after its gates were certified; join it again", pki.ErrUntrusted, node)
		}
		return nil
	}
	return conf, nil
}

// current is the certificate to show. It is made by the first handshake, and anew
// at two thirds of its life by the first that finds it old; as the authority is
// here, nobody has to be asked.
func (g *gates) current() (*tls.Certificate, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if now.Before(g.due) {
		return g.pair.Current()
	}
	if err := g.renew(now); err != nil {
		if old, oldErr := g.pair.Current(); oldErr == nil {
			return old, nil // good for ten days more
		}
		return nil, err
	}
	return g.pair.Current()
}

func (g *gates) renew(now time.Time) error {
	key, csr, err := pki.NewRequest(routerID)
	if err != nil {
		return err
	}
	cert, _, err := g.ca.SignRouter(csr, routerID, now, 0)
	if err != nil {
		return fmt.Errorf("certify this router: %w", err)
	}
	if err := g.pair.Set(cert, key); err != nil {
		return err
	}
	g.due = now.Add(pki.RouterLife * 2 / 3)
	return nil
}
