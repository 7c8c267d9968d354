package catalog

// Canary sends a share of a model's requests to a candidate.
type Canary struct {
	// Model is the candidate's name.
	Model Name `json:"model"`
	// Share is from 0 to 1.
	Share float64 `json:"share"`
	// Sticky keeps an end user on one side.
	Sticky bool          `json:"sticky,omitempty"`
	Guards *CanaryGuards `json:"guards,omitempty"`
}

// CanaryGuards stop a canary by themselves. Zero values guard nothing.
type CanaryGuards struct {
	MaxErrorRate float64 `json:"max_error_rate,omitempty"`
	MaxTTFTRatio float64 `json:"max_ttft_ratio,omitempty"`
	MinRequests  int     `json:"min_requests,omitempty"`
}
