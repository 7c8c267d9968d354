package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"llmgw.io/llmgw/internal/socket"
)

// SchemeGate is of addresses of gates: gate://NODE@HOST:PORT. It is HTTP/1.1 over
// mutual TLS, where the other side must prove to be the gate of that node.
const SchemeGate = "gate"

// handshake is how long proving who is who may take, beside dialling.
const handshake = 5 * time.Second

// errNoGate is an address of a gate where nobody can say whom to believe.
var errNoGate = errors.New("upstream: the replica is behind a gate, and this router has no certificate of the cluster")

// place is where a connection leads. Node is empty where it is plain HTTP/1.1.
type place struct{ node, address string }

// nodeOf is the node whose gate an address means; empty: it means none.
func nodeOf(u *url.URL) string {
	if u.Scheme != SchemeGate {
		return ""
	}
	return u.User.Username()
}

// open makes a connection to a place.
func (c *Config) open(ctx context.Context, at place) dialled {
	if at.node == "" {
		nc, err := c.dial(ctx, "tcp", at.address)
		return dialled{nc, nc, err}
	}
	if c.Gate == nil {
		return dialled{err: errNoGate}
	}
	conf, err := c.Gate(at.node)
	if err != nil {
		return dialled{err: fmt.Errorf("upstream: the gate of node %s: %w", at.node, err)}
	}
	ctx, cancel := context.WithTimeout(ctx, c.Connect+handshake)
	defer cancel()
	below, err := c.dial(ctx, "tcp", at.address)
	if err != nil {
		return dialled{err: err}
	}
	nc := tls.Client(socket.Quiet(below), conf)
	if err := nc.HandshakeContext(ctx); err != nil {
		// It is as if nobody was there: no request was sent.
		return dialled{err: errors.Join(&net.OpError{Op: "dial", Net: "tcp", Addr: below.RemoteAddr(), Err: err}, below.Close())}
	}
	return dialled{nc: nc, below: below}
}

// overTLS is a request to a gate in the words of net/http.
func overTLS(req *http.Request) *http.Request {
	u := *req.URL
	u.Scheme, u.User = "https", nil
	out := req.WithContext(req.Context())
	out.URL = &u
	return out
}
