package routertest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
)

// errRefused is what dialling an address gives at which nobody listens.
var errRefused = &net.OpError{Op: "dial", Net: "memory", Err: errors.New("routertest: connection refused")}

// Network is a network in memory. The zero value is ready and has nobody on it.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*listener
	dialled   map[string]int
}

// Serve puts a handler at an address, instead of whoever was there. The function
// returned cuts it off, open connections included.
func (n *Network) Serve(address string, h http.Handler) (stop func()) {
	l := &listener{conns: make(chan net.Conn), done: make(chan struct{})}
	n.mu.Lock()
	if n.listeners == nil {
		n.listeners = map[string]*listener{}
	}
	n.listeners[address] = l
	n.mu.Unlock()
	srv := &http.Server{Handler: h, ErrorLog: nil}
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = srv.Serve(l) // ends with the listener
	}()
	return func() {
		n.mu.Lock()
		if n.listeners[address] == l {
			delete(n.listeners, address)
		}
		n.mu.Unlock()
		_ = srv.Close() // of a listener in memory
		<-over
	}
}

// Dial connects to an address; it fits router.Config and http.Transport.
func (n *Network) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[address]
	if n.dialled == nil {
		n.dialled = map[string]int{}
	}
	n.dialled[address]++
	n.mu.Unlock()
	if l == nil {
		return nil, errRefused
	}
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.done:
		return nil, errRefused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Dialled counts the connections that were asked for at an address.
func (n *Network) Dialled(address string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dialled[address]
}

// Client is an HTTP client on this network.
func (n *Network) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: n.Dial, DisableCompression: true}}
}

type listener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *listener) Addr() net.Addr { return memory{} }

type memory struct{}

func (memory) Network() string { return "memory" }
func (memory) String() string  { return "memory" }

// Upstream is a fake of router.Upstream that answers without any network.
type Upstream func(replica string, req *http.Request) (*http.Response, error)

// Do calls the function.
func (u Upstream) Do(replica string, req *http.Request) (*http.Response, error) {
	return u(replica, req)
}

// Forget does nothing.
func (Upstream) Forget(string) {}
