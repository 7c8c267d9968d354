package view

import (
	"fmt"
	"time"

	"llmgw.io/llmgw/catalog"
)

// SeenWeights is what a look at the source of a model's weights found.
type SeenWeights struct {
	Architecture  string    `json:"architecture,omitempty" doc:"of a GGUF file, by its header"`
	ContextLength int       `json:"context_length,omitempty" doc:"tokens that the model was trained for, by its header"`
	Layers        int       `json:"layers,omitempty"`
	Bytes         int64     `json:"bytes,omitempty" doc:"of all files; absent: one of them does not say"`
	LookedAt      time.Time `json:"looked_at"`
}

// Look is that, with what people should know of it.
type Look struct {
	SeenWeights
	// Wrong is why no node can serve from them, Unsure what could not be seen.
	Wrong, Unsure []string
}

// addLook shows what was seen of a model's weights.
func (v *ModelView) addLook(w World, m *catalog.Model) {
	if w.Looks == nil {
		return
	}
	l, ok := w.Looks(m)
	if !ok {
		return
	}
	seen := l.SeenWeights
	v.Weights = &seen
	v.Warnings = append(v.Warnings, l.Wrong...)
	for _, text := range l.Unsure {
		v.Warnings = append(v.Warnings, "the control plane could not look into the weights, which nodes may reach all the same (weights in its configuration says what it may): "+text)
	}
	for i := range m.Profiles {
		if p := &m.Profiles[i]; seen.ContextLength > 0 && p.Context > seen.ContextLength {
			v.Warnings = append(v.Warnings, fmt.Sprintf("profile %q asks for a context of %d tokens, and the model was trained for %d: answers get worse beyond that, or the engine does not start", p.Name, p.Context, seen.ContextLength))
		}
	}
}
