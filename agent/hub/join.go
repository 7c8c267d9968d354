package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/pki"
	"llmgw.io/llmgw/inventory"
)

func (h *Hub) serveJoin(w http.ResponseWriter, r *http.Request) {
	c := caller{peer: peerOf(r)}
	if !h.joins.Allow() {
		h.write(w, c, nil, refuse(protocol.CodeLimited, "too many machines join at once; wait a moment and try again"))
		return
	}
	var j protocol.Join
	if !read(w, r, maxRequest, &j) {
		return
	}
	ans, err := h.join(r.Context(), j)
	h.write(w, c, ans, err)
}

// join gives a machine its first certificate. The order matters: all that can
// be known to be wrong comes before the token is used, since it works once.
func (h *Hub) join(ctx context.Context, j protocol.Join) (protocol.Certificate, error) {
	var none protocol.Certificate
	if addr, here := h.cfg.Leader(); !here {
		return none, notLeader(addr)
	}
	token, err := pki.ParseJoinToken(j.Token)
	if err != nil {
		return none, refuse(protocol.CodeInvalid, "the join token cannot be read; copy the whole line, or make a new one with `llmgw-control token join create`")
	}
	node := inventory.NodeID(j.Node)
	if n := h.cfg.Registry.Snapshot().Node(node); n != nil && n.Hearing != inventory.Lost {
		return none, refuse(protocol.CodeNameTaken, fmt.Sprintf("node %s is part of the cluster already; choose another name with --name, or remove that node first", text(j.Node, maxName)))
	}
	ans, info, err := h.certify(node, j.CSR, h.cfg.CA.SignNode)
	if err != nil {
		return none, err
	}
	// The time is the certificate's own, so that all earlier ones end with it.
	if err := h.cfg.Enrolment.UseJoinToken(ctx, token.ID(), token.HashHex(), node, info.IssuedAt); err != nil {
		return none, h.tokenRefusal(token, err)
	}
	// A machine that had this name before is another one now.
	h.list.add(node, info.IssuedAt)
	h.cut(node)
	if err := h.keep(ctx, info); err != nil {
		return none, err
	}
	h.log.Info("node joined", "node", node, "token", token.ID())
	return ans, nil
}

func (h *Hub) tokenRefusal(token pki.JoinToken, err error) error {
	const anew = "make a new one with `llmgw-control token join create`"
	switch {
	case errors.Is(err, ErrTokenUsed):
		h.log.Warn("a join token was tried again after it was used", "token", token.ID())
		return refuse(protocol.CodeUsed, "this join token was used already, and each works once; "+anew)
	case errors.Is(err, ErrTokenExpired):
		return refuse(protocol.CodeExpired, "this join token has expired; "+anew)
	case errors.Is(err, ErrTokenUnknown):
		return refuse(protocol.CodeForbidden, "this join token is not known here; check that it is of this cluster, or "+anew)
	}
	return err
}

func (h *Hub) serveRenew(w http.ResponseWriter, r *http.Request) {
	c, err := h.identify(r, pki.RenewGrace)
	if err != nil {
		h.write(w, c, nil, err)
		return
	}
	if !h.session(c.node).limit.Allow() {
		h.write(w, c, nil, refuse(protocol.CodeLimited, "this node asks too often; wait a moment"))
		return
	}
	var in protocol.Renew
	if !read(w, r, maxRequest, &in) {
		return
	}
	if in.For != "" { // the grace is for coming back, and for nothing else
		if _, err := h.identify(r, 0); err != nil {
			h.write(w, c, nil, err)
			return
		}
	}
	ans, err := h.renew(r.Context(), c.node, in)
	h.write(w, c, ans, err)
}

// renew works on every control plane, also one that does not lead: an outage of
// the leader must not end certificates.
func (h *Hub) renew(ctx context.Context, node inventory.NodeID, in protocol.Renew) (protocol.Certificate, error) {
	sign := h.cfg.CA.SignNode
	switch in.For {
	case "":
	case protocol.ForGate:
		sign = h.cfg.CA.SignGate
	default:
		return protocol.Certificate{}, refuse(protocol.CodeInvalid, fmt.Sprintf("this control plane gives no certificate for %q; upgrade it", text(string(in.For), maxName)))
	}
	ans, info, err := h.certify(node, in.CSR, sign)
	if err != nil {
		return protocol.Certificate{}, err
	}
	return ans, h.keep(ctx, info)
}

// signer is what the authority signs one kind of certificate with.
type signer func(csrPEM []byte, node string, now time.Time, life time.Duration) ([]byte, pki.CertInfo, error)

// certify signs the key of a request for a node.
func (h *Hub) certify(node inventory.NodeID, csr string, sign signer) (protocol.Certificate, pki.CertInfo, error) {
	at, _ := h.list.at(node)
	cert, info, err := sign([]byte(csr), string(node), pki.IssueTime(time.Now(), at), 0)
	switch {
	case errors.Is(err, pki.ErrName):
		return protocol.Certificate{}, info, refuse(protocol.CodeInvalid, "the node's name must be 1 to 253 letters, digits, '.', '_' or '-', and begin with a letter or digit; choose one with --name")
	case errors.Is(err, pki.ErrMalformed), errors.Is(err, pki.ErrKey):
		return protocol.Certificate{}, info, refuse(protocol.CodeInvalid, "the certificate request cannot be used; send one for an ECDSA key on P-256 or an Ed25519 key")
	case err != nil:
		return protocol.Certificate{}, info, err
	}
	return protocol.Certificate{
		Cluster: h.cfg.CA.Cluster(), Node: string(node),
		Certificate: string(cert), CA: string(h.cfg.CA.CertPEM()), Control: h.cfg.Control,
	}, info, nil
}

func (h *Hub) keep(ctx context.Context, info pki.CertInfo) error {
	return h.cfg.Enrolment.KeepCertificate(ctx, inventory.Certificate{
		Serial: info.Serial, Node: inventory.NodeID(info.Peer.ID), IssuedAt: info.IssuedAt, ExpiresAt: info.NotAfter,
	})
}
