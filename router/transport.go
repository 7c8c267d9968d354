package router

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// idleConnTimeout is below the 5 seconds after which engines close a connection:
// a request must not meet one that is being closed.
const idleConnTimeout = 3 * time.Second

// transports is Upstream over net/http, with a pool for each replica.
type transports struct {
	dial      func(ctx context.Context, network, address string) (net.Conn, error)
	connect   time.Duration
	byReplica sync.Map // string to *http.Transport
}

func newTransports(dial func(context.Context, string, string) (net.Conn, error), connect time.Duration) *transports {
	return &transports{dial: dial, connect: connect}
}

// errSwitched is an answer that speaks another protocol from there on.
var errSwitched = errors.New("router: the replica changed the protocol, which nobody asked for")

// Do sends one request to a replica. A change of protocol is refused: the end of
// the request's context would not end such an exchange.
func (t *transports) Do(replica string, req *http.Request) (*http.Response, error) {
	res, err := t.of(replica).RoundTrip(req)
	if err == nil && res.StatusCode == http.StatusSwitchingProtocols {
		return nil, errors.Join(errSwitched, res.Body.Close())
	}
	return res, err
}

// Forget closes what is idle towards a replica that is gone.
func (t *transports) Forget(replica string) {
	if v, ok := t.byReplica.LoadAndDelete(replica); ok {
		v.(*http.Transport).CloseIdleConnections()
	}
}

func (t *transports) of(replica string) *http.Transport {
	if v, ok := t.byReplica.Load(replica); ok {
		return v.(*http.Transport)
	}
	v, _ := t.byReplica.LoadOrStore(replica, &http.Transport{
		// No proxy of the environment: where requests go is the catalog's to say.
		Proxy:               nil,
		DialContext:         t.dialWithin,
		TLSHandshakeTimeout: 5 * time.Second,
		DisableCompression:  true,
		// Every idle connection is kept, since streams are as many as clients are,
		// and there is no cap on those in use: the 51st stream must not wait.
		MaxIdleConnsPerHost:    4096,
		IdleConnTimeout:        idleConnTimeout,
		MaxResponseHeaderBytes: 64 << 10,
	})
	return v.(*http.Transport)
}

func (t *transports) dialWithin(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, t.connect)
	defer cancel()
	return t.dial(ctx, network, address)
}

// closeIdle closes what is idle towards every replica.
func (t *transports) closeIdle() {
	t.byReplica.Range(func(_, v any) bool {
		v.(*http.Transport).CloseIdleConnections()
		return true
	})
}
