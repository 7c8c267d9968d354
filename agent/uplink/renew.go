package uplink

import (
	"context"
	"fmt"
	"math/rand/v2"
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
	for {
		cert, err := c.pair.Current()
		if err != nil {
			return err
		}
		due := pki.RenewAt(cert.Leaf, 2*rand.Float64()-1)
		for left := time.Until(due); left > 0; left = time.Until(due) {
			if !sleep(ctx, min(left, renewLook)) {
				return nil
			}
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
	keyPEM, csrPEM, err := pki.NewRequest(c.id.Node)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cert, err := c.Renew(ctx, protocol.Renew{CSR: string(csrPEM)})
	if err != nil {
		return err
	}
	if cert.Node != c.id.Node {
		return fmt.Errorf("uplink: the control plane certified %.200q and not %q", cert.Node, c.id.Node)
	}
	id := c.id
	id.Certificate, id.Key, id.Control = cert.Certificate, string(keyPEM), orElse(cert.Control, id.Control)
	if _, err := pki.NewKeyPair([]byte(id.Certificate), keyPEM); err != nil {
		return err
	}
	if err := writeIdentity(c.cfg.DataDir, id); err != nil {
		return err
	}
	if err := c.pair.Set([]byte(id.Certificate), keyPEM); err != nil {
		return err
	}
	c.id = id
	c.connectAnew()
	c.cfg.Logger.Info("certificate renewed", "node", id.Node)
	return nil
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
