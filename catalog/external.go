package catalog

// External says that another provider serves the model.
type External struct {
	URL string `json:"url"`
	// Model is the provider's name for it.
	Model string `json:"model"`
	// API is the dialect: "openai" (default) or "anthropic".
	API string `json:"api,omitempty"`
	// Key is write-only: views leave it out. Nil: none, or on a change the one
	// that is kept; empty removes it.
	Key     *string         `json:"key,omitempty"`
	Timeout Duration        `json:"timeout,omitempty"`
	Limits  *ExternalLimits `json:"limits,omitempty"`
}

// ExternalLimits bound what is sent to a provider. Zero: no limit of ours.
type ExternalLimits struct {
	RequestsPerMinute int `json:"requests_per_minute,omitempty"`
	TokensPerMinute   int `json:"tokens_per_minute,omitempty"`
	Concurrency       int `json:"concurrency,omitempty"`
}
