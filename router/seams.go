package router

import (
	"context"
	"net/http"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/storage"
)

// Models says what clients may ask for.
type Models interface {
	// Index returns the newest index, never nil, and the same one while nothing
	// has changed. It does not block, since every request calls it.
	Index() *catalog.Index
}

// Keys finds client keys.
type Keys interface {
	// Key finds one by id; an error that matches storage.ErrNotFound when there
	// is none. Any other error means that nobody knows.
	Key(ctx context.Context, id string) (storage.Key, error)
}

// Backends says where models are served. No method blocks, since every request
// calls them.
type Backends interface {
	// Backends returns the replicas of a model that are ready, in any order. The
	// slice is shared and must not change afterwards.
	Backends(model catalog.Name) []Backend
	// Changed returns a channel that is closed at the next change of any answer,
	// also of Prospects where both are one thing. Callers take it before they ask.
	Changed() <-chan struct{}
}

// Prospects says whether it is worth waiting for a model.
type Prospects interface {
	// Status returns why the model has no replica, as a sentence without its end
	// ("no node has 2 free devices"), and whether waiting is hopeless: it is
	// parked, or fits nowhere. Both zero: it is being started. It does not block.
	Status(model catalog.Name) (reason string, hopeless bool)
}

// Demand is told of requests that found no replica.
type Demand interface {
	// Asked may be called at once for many requests of one model and does not
	// block.
	Asked(model catalog.Name)
}

// Usage keeps the rows of requests.
type Usage interface {
	// AppendUsage keeps rows durably before it returns. A row whose request id is
	// there already is left as it is, since rows are sent again after a failure.
	AppendUsage(ctx context.Context, rows []storage.Request) error
}

// Picker chooses among the replicas that may be asked.
type Picker interface {
	// Pick returns the position of the chosen candidate; there is at least one.
	// It is pure: the same arguments give the same answer. It keeps nothing of
	// the candidates, and does not block.
	Pick(candidates []Candidate, ask Ask) int
}

// Upstream carries requests to replicas.
type Upstream interface {
	// Do sends one request to a replica and returns its answer, whose body the
	// caller closes. It follows no redirect and undoes no compression. Each
	// replica has connections of its own, so that a hung one holds up no other.
	// The end of the request's context ends the exchange at once.
	Do(replica string, req *http.Request) (*http.Response, error)
	// Forget closes what is idle towards a replica that is gone.
	Forget(replica string)
}
