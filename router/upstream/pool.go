package upstream

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	defaultConnect = 2 * time.Second
	// defaultIdle is below the 5 seconds after which engines close a connection: a
	// request must not meet one that is being closed.
	defaultIdle = 3 * time.Second
)

// ErrSwitched is an answer that speaks another protocol from there on. The end
// of a request's context would not end such an exchange.
var ErrSwitched = errors.New("upstream: the replica changed the protocol, which nobody asked for")

// Dial opens a connection within ctx; it fits net.Dialer.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Config is what a Pool and a Standard need. The zero value dials TCP.
type Config struct {
	// Dial opens connections. Nil: TCP with keep-alive probes.
	Dial Dial
	// Connect bounds opening one. Zero means 2 seconds.
	Connect time.Duration
	// Idle is how long a connection is kept that nobody uses. Zero means 3 seconds.
	Idle time.Duration
	// Gate gives the TLS side of a connection to the gate of a node, by which it must
	// prove to be that node's. It may be called at once from many goroutines. Nil:
	// there are no gates, and their addresses are refused.
	Gate func(node string) (*tls.Config, error)
}

func (c Config) withDefaults() Config {
	c.Connect = cmp.Or(c.Connect, defaultConnect)
	c.Idle = cmp.Or(c.Idle, defaultIdle)
	if c.Dial == nil {
		c.Dial = (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext
	}
	return c
}

// dial opens a connection within the limit.
func (c *Config) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Connect)
	defer cancel()
	return c.Dial(ctx, network, address)
}

// Pool sends requests over connections of its own, with a set of them for each
// replica, so that a hung one holds up no other. There is no cap on those in use.
type Pool struct {
	cfg    Config
	secure *Standard
	peers  sync.Map // string to *peer
}

// New makes a Pool. It opens nothing.
func New(cfg Config) *Pool {
	cfg = cfg.withDefaults()
	return &Pool{cfg: cfg, secure: NewStandard(cfg)}
}

// Do sends one request to a replica and returns its answer, whose body the
// caller closes; the body is a [Body]. The end of the request's context closes
// the connection. A request that found an old connection closed is sent once
// more over a fresh one, where nothing of an answer had come and the request can
// be given again: its body is [Slices], or it has GetBody, or it has none.
func (p *Pool) Do(replica string, req *http.Request) (*http.Response, error) {
	t := trip{peer: p.of(replica), req: req, at: place{node: nodeOf(req.URL), address: hostPort(req.URL.Host)}}
	if req.URL.Scheme != "http" && t.at.node == "" {
		return p.secure.Do(replica, req)
	}
	res, err := t.run()
	if err != nil {
		return nil, err
	}
	return res, nil
}

// Forget closes what is idle towards a replica that is gone.
func (p *Pool) Forget(replica string) {
	p.secure.Forget(replica)
	if v, ok := p.peers.LoadAndDelete(replica); ok {
		v.(*peer).close(true)
	}
}

// CloseIdle closes what is idle towards every replica.
func (p *Pool) CloseIdle() {
	p.secure.CloseIdle()
	p.peers.Range(func(_, v any) bool {
		v.(*peer).close(false)
		return true
	})
}

func (p *Pool) of(replica string) *peer {
	if v, ok := p.peers.Load(replica); ok {
		return v.(*peer)
	}
	v, _ := p.peers.LoadOrStore(replica, &peer{cfg: &p.cfg})
	return v.(*peer)
}

// hostPort adds the port of plain HTTP where there is none.
func hostPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	if n := len(host); n > 1 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	return net.JoinHostPort(host, "80")
}
