package uplink

import (
	"context"
	"crypto/x509"
	"math/rand/v2"
	"sync"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/pki"
)

const (
	// renewRetry is how long a renewal that failed waits, give or take a fifth, so
	// that a fleet does not come back at once; there are hours left.
	renewRetry = time.Minute
	// renewLook is when the clock is looked at again: it may have been set, or
	// the machine may have slept, which timers do not notice.
	renewLook = 5 * time.Minute
)

// Run renews the certificate at two thirds of its life, give or take a tenth,
// until ctx ends. A machine whose certificate ended while the control plane was
// away renews it at once when it is back.
func (c *Client) Run(ctx context.Context) error {
	var gates sync.WaitGroup
	gates.Go(func() { c.renewGates(ctx) })
	defer gates.Wait()
	for {
		cert, err := c.pair.Current()
		if err != nil {
			return err
		}
		if !sleepUntil(ctx, pki.RenewAt(cert.Leaf, 2*rand.Float64()-1)) {
			return nil
		}
		for err := c.renew(ctx); err != nil; err = c.renew(ctx) {
			if ctx.Err() == nil {
				c.cfg.Logger.Warn("certificate not renewed", "node", c.node, "err", err)
			}
			if !sleep(ctx, renewRetry*4/5+rand.N(renewRetry*2/5)) {
				return nil
			}
		}
	}
}

// renew makes a new key, has it certified, keeps both and shows them from the
// next connection on. Exchanges in flight are not cut.
func (c *Client) renew(ctx context.Context) error {
	id, _, err := c.certify(ctx, "", pki.KindNode)
	if err != nil {
		return err
	}
	if err := writeIdentity(c.cfg.DataDir, id); err != nil {
		return err
	}
	if err := c.pair.Set([]byte(id.Certificate), []byte(id.Key)); err != nil {
		return err
	}
	c.setIdentity(id)
	c.connectAnew()
	c.cfg.Logger.Info("certificate renewed", "node", id.Node)
	return nil
}

// certify makes a new key and has it certified for a use.
func (c *Client) certify(ctx context.Context, use protocol.CertificateUse, kind pki.Kind) (identity, *x509.Certificate, error) {
	id := c.identity()
	keyPEM, csrPEM, err := pki.NewRequest(id.Node)
	if err != nil {
		return id, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cert, err := c.Renew(ctx, protocol.Renew{CSR: string(csrPEM), For: use})
	if err != nil {
		return id, nil, err
	}
	id.Certificate, id.Key, id.Control = cert.Certificate, string(keyPEM), orElse(cert.Control, id.Control)
	leaf, err := leafOf(id, pki.Peer{Cluster: id.Cluster, Kind: kind, ID: id.Node})
	return id, leaf, err
}

// sleepUntil reports whether that time came before ctx ended. The clock is looked
// at now and then.
func sleepUntil(ctx context.Context, due time.Time) bool {
	for left := time.Until(due); left > 0; left = time.Until(due) {
		if !sleep(ctx, min(left, renewLook)) {
			return false
		}
	}
	return true
}

// sleep reports whether the time passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
