package upstream

import (
	"errors"
	"net/http"
	"sync"
	"time"
)

// Standard is the same seam over net/http, with a pool for each replica.
type Standard struct {
	cfg       Config
	byReplica sync.Map // string to *http.Transport
}

// NewStandard makes a Standard. It opens nothing.
func NewStandard(cfg Config) *Standard { return &Standard{cfg: cfg.withDefaults()} }

// Do sends one request to a replica and returns its answer, whose body the
// caller closes. A change of protocol is refused.
func (s *Standard) Do(replica string, req *http.Request) (*http.Response, error) {
	res, err := s.of(replica).RoundTrip(req)
	if err == nil && res.StatusCode == http.StatusSwitchingProtocols {
		return nil, errors.Join(ErrSwitched, res.Body.Close())
	}
	return res, err
}

// Forget closes what is idle towards a replica that is gone.
func (s *Standard) Forget(replica string) {
	if v, ok := s.byReplica.LoadAndDelete(replica); ok {
		v.(*http.Transport).CloseIdleConnections()
	}
}

// CloseIdle closes what is idle towards every replica.
func (s *Standard) CloseIdle() {
	s.byReplica.Range(func(_, v any) bool {
		v.(*http.Transport).CloseIdleConnections()
		return true
	})
}

func (s *Standard) of(replica string) *http.Transport {
	if v, ok := s.byReplica.Load(replica); ok {
		return v.(*http.Transport)
	}
	v, _ := s.byReplica.LoadOrStore(replica, &http.Transport{
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
	})
	return v.(*http.Transport)
}
