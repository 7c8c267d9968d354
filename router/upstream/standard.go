package upstream

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// Standard is the same seam over net/http, with a pool for each replica.
type Standard struct {
	cfg     Config
	byPlace sync.Map // replicaPlace to *http.Transport
}

// replicaPlace is a replica, and the node whose gate is in front of it, if one is.
type replicaPlace struct{ replica, node string }

// NewStandard makes a Standard. It opens nothing.
func NewStandard(cfg Config) *Standard { return &Standard{cfg: cfg.withDefaults()} }

// Do sends one request to a replica and returns its answer, whose body the
// caller closes. A change of protocol is refused.
func (s *Standard) Do(replica string, req *http.Request) (*http.Response, error) {
	node := nodeOf(req.URL)
	if node != "" {
		req = overTLS(req)
	}
	res, err := s.of(replica, node).RoundTrip(req)
	if err == nil && res.StatusCode == http.StatusSwitchingProtocols {
		return nil, errors.Join(ErrSwitched, res.Body.Close())
	}
	return res, err
}

// Forget closes what is idle towards a replica that is gone.
func (s *Standard) Forget(replica string) {
	s.byPlace.Range(func(k, v any) bool {
		if k.(replicaPlace).replica == replica {
			s.byPlace.Delete(k)
			v.(*http.Transport).CloseIdleConnections()
		}
		return true
	})
}

// CloseIdle closes what is idle towards every replica.
func (s *Standard) CloseIdle() {
	s.byPlace.Range(func(_, v any) bool {
		v.(*http.Transport).CloseIdleConnections()
		return true
	})
}

func (s *Standard) of(replica, node string) *http.Transport {
	at := replicaPlace{replica, node}
	if v, ok := s.byPlace.Load(at); ok {
		return v.(*http.Transport)
	}
	t := s.transport()
	if node != "" {
		t.DialTLSContext = func(ctx context.Context, _, address string) (net.Conn, error) {
			d := s.cfg.open(ctx, place{node: node, address: address})
			return d.nc, d.err
		}
	}
	v, _ := s.byPlace.LoadOrStore(at, t)
	return v.(*http.Transport)
}

func (s *Standard) transport() *http.Transport {
	return &http.Transport{
		// No proxy of the environment: where requests go is the catalog's to say.
		Proxy:               nil,
		DialContext:         s.cfg.dial,
		TLSHandshakeTimeout: 5 * time.Second,
		DisableCompression:  true,
		// Every idle connection is kept, since streams are as many as clients are,
		// and there is no cap on those in use: the 51st stream must not wait.
		MaxIdleConnsPerHost:    4096,
		IdleConnTimeout:        s.cfg.Idle,
		MaxResponseHeaderBytes: maxHead,
	}
}
