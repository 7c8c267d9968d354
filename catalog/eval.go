package catalog

// EvalGate is the quality gate an update of the model must pass.
type EvalGate struct {
	Suite    string  `json:"suite"`
	MinScore float64 `json:"min_score,omitempty"`
	MaxDrop  float64 `json:"max_drop,omitempty"`
}
