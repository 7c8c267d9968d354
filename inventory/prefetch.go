package inventory

// Prefetched is how far a node is with weights that it is to have though no shard
// needs them there.
type Prefetched struct {
	Model string `json:"model"`
	// Source is what is fetched, as the definition said it, without a query.
	Source string        `json:"source,omitempty"`
	State  PrefetchState `json:"state"`
	// Percent is of the fetch, 0 to 100. Nil: not fetching, or of unknown size.
	Percent *int `json:"percent,omitempty"`
	// Error is why nothing comes, as a sentence with the next step.
	Error string `json:"error,omitempty"`
}

// PrefetchState is how far it is.
type PrefetchState string

// The states of weights that are fetched ahead.
const (
	PrefetchWaiting  PrefetchState = "waiting"
	PrefetchFetching PrefetchState = "fetching"
	PrefetchReady    PrefetchState = "ready"
	PrefetchFailed   PrefetchState = "failed"
)
