package catalog

// Name is a model's name, an alias or an adapter's name.
type Name string

// Model is one definition: what clients may ask for and how it is run. Its JSON
// form is what the admin API, the configuration file and the store speak.
type Model struct {
	Name        Name   `json:"name"`
	Description string `json:"description,omitempty"`
	// Owner is a team or a person, for reports. It grants nothing.
	Owner   string `json:"owner,omitempty"`
	Aliases []Name `json:"aliases,omitempty"`
	// Source is where the weights come from: file:///…, https://…,
	// hf://org/name@rev[/file], mirror://sha256:…. Empty for models that others
	// serve.
	Source string `json:"source,omitempty"`
	// Files are expected hashes, verified while fetching.
	Files  []File  `json:"files,omitempty"`
	Origin *Origin `json:"origin,omitempty"`
	// Prefetch are nodes that have the weights though no replica runs there.
	Prefetch *Prefetch `json:"prefetch,omitempty"`
	// Class decides who gives way. Empty means standard.
	Class Class `json:"class,omitempty"`
	// Scaling absent means exactly one replica.
	Scaling *Scaling `json:"scaling,omitempty"`
	// Profiles are tried in order; the first that fits is used.
	Profiles []Profile `json:"profiles,omitempty"`
	// Apart are models that never share a node with this one, nor this one with
	// them: it is enough that one names the other. A model's own replicas are kept
	// apart by a profile's Spread.
	Apart []Name `json:"apart,omitempty"`
	// Fallbacks are tried in order when this model fails or has no room.
	Fallbacks []Name    `json:"fallbacks,omitempty"`
	Adapters  []Adapter `json:"adapters,omitempty"`
	External  *External `json:"external,omitempty"`
	Canary    *Canary   `json:"canary,omitempty"`
	Eval      *EvalGate `json:"eval,omitempty"`
	Price     *Price    `json:"price,omitempty"`
	// ContextLength and Capabilities are what /v1/models tells clients.
	ContextLength int      `json:"context_length,omitempty"`
	Capabilities  []string `json:"capabilities,omitempty"`
}

// File is one file of weights with what it must be.
type File struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256,omitempty"`
	// Bytes is the expected size. Zero: unknown.
	Bytes int64 `json:"bytes,omitempty"`
}

// Price is in micros (1e-6 of the cluster's currency) per million tokens, and
// micros per request.
type Price struct {
	Input       int64 `json:"input,omitempty"`
	CachedInput int64 `json:"cached_input,omitempty"`
	Output      int64 `json:"output,omitempty"`
	Request     int64 `json:"request,omitempty"`
}
