package inventory

// Collected is what a node did with weights that it was told to remove.
type Collected struct {
	Removed []RemovedWeights `json:"removed"`
	Kept    []KeptWeights    `json:"kept,omitempty"`
}

// RemovedWeights are gone from a node's disk.
type RemovedWeights struct {
	// Path is relative to the agent's folder of weights.
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// KeptWeights are there still.
type KeptWeights struct {
	Path string `json:"path"`
	// Why is a sentence.
	Why string `json:"why"`
}
