package hub

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"net/netip"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/pki"
	"llmgw.io/llmgw/inventory"
)

// besideAsks is how many exchanges a node may have open beside its answers: a
// poll and a beat, and those of connections that died without a word. Each may
// hold a whole frame in memory.
const besideAsks = 8

// known lets in nodes with a certificate that is good now, not revoked, and
// within their rate; and ends the exchange when the node is removed meanwhile.
func (h *Hub) known(serve func(http.ResponseWriter, *http.Request, caller)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := h.identify(r, 0)
		if err != nil {
			h.write(w, c, nil, err)
			return
		}
		s := c.session
		if !s.limit.Allow() {
			h.write(w, c, nil, refuse(protocol.CodeLimited, "this node asks too often; wait a moment"))
			return
		}
		defer s.open.Add(-1)
		if int(s.open.Add(1)) > h.cfg.Limits.Asks+besideAsks {
			h.write(w, c, nil, refuse(protocol.CodeLimited, "this node has too many exchanges open; end some"))
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		rc := http.NewResponseController(w)
		over := make(chan struct{})
		stop := context.AfterFunc(s.cut, func() {
			defer close(over)
			cancel()
			_ = rc.SetReadDeadline(time.Now()) // a body that is being read ends too
		})
		// The writer must not be touched once this has returned.
		defer func() {
			if !stop() {
				<-over
			}
		}()
		serve(w, r.WithContext(ctx), c)
	}
}

// identify says which node calls. Grace takes certificates that ended up to so
// long ago, for the route that renews them.
func (h *Hub) identify(r *http.Request, grace time.Duration) (caller, error) {
	c := caller{peer: peerOf(r)}
	var chain []*x509.Certificate
	if r.TLS != nil {
		chain = r.TLS.PeerCertificates
	}
	if len(chain) == 0 {
		return c, refuse(protocol.CodeForbidden, "a certificate of this cluster is needed; join with a token first")
	}
	now := time.Now()
	if c.session = h.recall(chain[0], now); c.session != nil {
		c.node = c.session.node
		return c, h.checkRevoked(r.Context(), c.node, pki.IssuedAt(chain[0]))
	}
	p, err := h.trust.VerifyPeer(chain, now, grace)
	switch {
	case errors.Is(err, pki.ErrExpired):
		return c, refuse(protocol.CodeExpired, "the node's certificate has ended; renew it, or join again with a new token, and check the machine's clock")
	case err != nil:
		return c, refuse(protocol.CodeForbidden, "the certificate is none of this cluster's; join with a token of this cluster")
	case p.Kind != pki.KindNode:
		return c, refuse(protocol.CodeForbidden, "only nodes call here")
	}
	c.node = inventory.NodeID(p.ID)
	c.session = h.session(c.node)
	if !now.After(chain[0].NotAfter) { // else it was let in by grace, and on one route
		h.remember(c.session, chain[0])
	}
	return c, h.checkRevoked(r.Context(), c.node, pki.IssuedAt(chain[0]))
}

// recall finds the session of a node whose certificate was verified before, as
// this very object: it was signed then and is signed now, and only time has
// passed. A verification takes more of the processor than all else that the hub
// does for a beat. Nil: it has to be verified.
func (h *Hub) recall(leaf *x509.Certificate, now time.Time) *session {
	p, err := pki.Identity(leaf)
	if err != nil || now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) || now.After(h.cfg.CA.NotAfter()) {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.sessions[inventory.NodeID(p.ID)]; s != nil && s.shown == leaf {
		return s
	}
	return nil
}

func (h *Hub) remember(s *session, leaf *x509.Certificate) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.shown = leaf
}

// checkRevoked refuses what is revoked. Before the list was read once, nobody
// is let in: an empty list would let in everybody.
func (h *Hub) checkRevoked(ctx context.Context, node inventory.NodeID, issued time.Time) error {
	at, loaded := h.list.at(node)
	if !loaded {
		if err := h.recheck(ctx); err != nil {
			h.log.Warn("revocations cannot be read; agents wait", "err", err)
			return refuse(protocol.CodeNotReady, "the control plane cannot reach its store; go on and ask again")
		}
		at, _ = h.list.at(node)
	}
	if pki.Revoked(issued, at) {
		return revokedError(node)
	}
	return nil
}

// peerOf is the address a request comes from. Headers that claim another are
// not read.
func peerOf(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap()
}
