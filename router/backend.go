package router

import (
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router/openai"
	"llmgw.io/llmgw/router/upstream"
)

// Backend is one ready replica as the router sees it.
type Backend struct {
	// ID is the replica's own and is never used twice.
	ID string
	// Model is the name the engine serves under. Empty: the model's own.
	Model string
	// Address is "host:port", or a URL with or without "/v1" at its end. GateAddress
	// makes one of a gate.
	Address string
	// Key is sent to the engine as a bearer token. Empty: none.
	Key string
	// Adapters are those loaded; a request for another one is not sent here.
	Adapters []catalog.Name
	// ByPlace says that the engine knows adapters by their place in Adapters and
	// not by name, as llama-server does: it would answer as the model itself to
	// a name that it does not know.
	ByPlace bool
	// Node is where the shard runs that is asked, for [Router.Cut]. Empty: on none.
	Node string
	// Draining replicas get no new request.
	Draining bool
	// Unreachable is a replica whose node is silent: the last choice, since the
	// engine may well be there.
	Unreachable bool
	// Static replicas are run by others.
	Static bool
	// Slots is how many requests the engine works at at once. Of a static replica
	// it is a limit: that many are sent there at once, and others wait. Zero:
	// unknown, and no request is expected to wait for one.
	Slots int
	// CacheTokens is how many tokens the engine's prefix cache holds. Zero:
	// unknown, and learned from what the engine says it found there.
	CacheTokens int64
}

// GateAddress is the address of a replica behind the gate of a node, which must
// prove to be that node's.
func GateAddress(node, hostPort string) string {
	return upstream.SchemeGate + "://" + node + "@" + hostPort
}

// base is the address as a URL without a slash or "/v1" at its end.
func (b *Backend) base() string { return baseURL(b.Address) }

func baseURL(address string) string {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	return strings.TrimSuffix(strings.TrimRight(address, "/"), "/v1")
}

// replica is what this router knows of one replica by itself.
type replica struct {
	inFlight atomic.Int64
	lastUsed atomic.Int64 // Unix nanoseconds; 0 never
	heard    atomic.Int64 // of the last content, in nanoseconds after the router began; 0: none came
	target   atomic.Pointer[target]
	asked    asked
}

// target is a replica's address taken apart, once for all requests.
type target struct {
	address string
	urls    map[openai.Endpoint]*url.URL
}

func (p *replica) url(b *Backend, e openai.Endpoint) (*url.URL, error) {
	if t := p.target.Load(); t != nil && t.address == b.Address {
		return t.urls[e], nil
	}
	t := &target{address: b.Address, urls: map[openai.Endpoint]*url.URL{}}
	for _, e := range []openai.Endpoint{openai.Chat, openai.Completions, openai.Embeddings} {
		u, err := url.Parse(b.base() + string(e))
		if err != nil {
			return nil, err
		}
		t.urls[e] = u
	}
	p.target.Store(t)
	return t.urls[e], nil
}

// replicas are all that were ever asked and are not gone yet.
type replicas struct{ byID sync.Map } // string to *replica

func (m *replicas) get(id string) *replica {
	if p, ok := m.byID.Load(id); ok {
		return p.(*replica)
	}
	p, _ := m.byID.LoadOrStore(id, &replica{})
	return p.(*replica)
}
