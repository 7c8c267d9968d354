package uplink

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/durable"
	"llmgw.io/llmgw/internal/pki"
)

// gates is this machine's certificate for gates, which all gates of it show. There
// is none until one is asked for; from then on it is renewed.
type gates struct {
	// turn is held by whoever has one made.
	turn sync.Mutex

	mu   sync.Mutex
	leaf *x509.Certificate // nil: there is none
	made chan struct{}     // closed once there is one
}

func gatePath(dataDir string) string { return filepath.Join(dataDir, "gate-identity.json") }

// forgetGates removes the certificate, which was of another membership.
func forgetGates(dataDir string) error {
	if err := os.Remove(gatePath(dataDir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("uplink: the certificate for gates of before cannot be removed: %w", err)
	}
	return nil
}

// recall takes up a certificate that was kept, if it is of this membership. One
// that is not, or cannot be read, is made anew when a gate asks.
func (g *gates) recall(dataDir string, id identity) {
	g.made = make(chan struct{})
	var kept identity
	if found, err := durable.ReadJSON(gatePath(dataDir), &kept); err != nil || !found || kept.CA != id.CA {
		return
	}
	if leaf, err := leafOf(kept, pki.Peer{Cluster: id.Cluster, Kind: pki.KindGate, ID: id.Node}); err == nil {
		g.set(leaf)
	}
}

func (g *gates) set(leaf *x509.Certificate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leaf == nil {
		close(g.made)
	}
	g.leaf = leaf
}

func (g *gates) current() *x509.Certificate {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.leaf
}

// GateIdentity gives the path of a file with this machine's certificate for gates,
// its key and the authority. It has one made where there is none, or where it has
// ended, and blocks until that is done. The file is replaced at each renewal.
func (c *Client) GateIdentity(ctx context.Context) (string, error) {
	c.gates.turn.Lock()
	defer c.gates.turn.Unlock()
	if leaf := c.gates.current(); leaf != nil && time.Now().Before(leaf.NotAfter) {
		return gatePath(c.cfg.DataDir), nil
	}
	return gatePath(c.cfg.DataDir), c.certifyGate(ctx)
}

// certifyGate is called with the turn taken.
func (c *Client) certifyGate(ctx context.Context) error {
	id, leaf, err := c.certify(ctx, protocol.ForGate, pki.KindGate)
	if err != nil {
		return err
	}
	if err := durable.WriteJSON(gatePath(c.cfg.DataDir), id); err != nil {
		return fmt.Errorf("uplink: the certificate for gates cannot be kept: %w", err)
	}
	c.gates.set(leaf)
	c.cfg.Logger.Info("certificate for gates made", "node", id.Node, "ends", leaf.NotAfter)
	return nil
}

// renewGates renews the certificate at two thirds of its life, give or take a
// tenth, once there is one. Gates see for themselves that the file has changed.
func (c *Client) renewGates(ctx context.Context) {
	select {
	case <-c.gates.made:
	case <-ctx.Done():
		return
	}
	for sleepUntil(ctx, pki.RenewAt(c.gates.current(), 2*rand.Float64()-1)) {
		for err := c.renewGate(ctx); err != nil; err = c.renewGate(ctx) {
			if ctx.Err() == nil {
				c.cfg.Logger.Warn("certificate for gates not renewed; routers refuse gates once it has ended", "node", c.node,
					"ends", c.gates.current().NotAfter, "err", err)
			}
			if !sleep(ctx, renewRetry*4/5+rand.N(renewRetry*2/5)) {
				return
			}
		}
	}
}

func (c *Client) renewGate(ctx context.Context) error {
	c.gates.turn.Lock()
	defer c.gates.turn.Unlock()
	return c.certifyGate(ctx)
}

// leafOf reads the certificate of an identity, which must be of a peer and belong
// to its key.
func leafOf(id identity, want pki.Peer) (*x509.Certificate, error) {
	pair, err := pki.NewKeyPair([]byte(id.Certificate), []byte(id.Key))
	if err != nil {
		return nil, err
	}
	cert, err := pair.Current()
	if err != nil {
		return nil, err
	}
	got, err := pki.Identity(cert.Leaf)
	if err != nil {
		return nil, err
	}
	if got != want {
		return nil, fmt.Errorf("uplink: the certificate is of %.200s where %s is wanted; the control plane may be of an older version, so upgrade it", got, want)
	}
	return cert.Leaf, nil
}
