package tinygguf

import "strings"

// Summary says in numbers what Options lead to.
type Summary struct {
	// Files are the names that Write writes, in order.
	Files []string
	// Params counts the model's weights.
	Params int64
	// Layers, Embd, FF, Heads and KVHeads are the shape in force.
	Layers, Embd, FF, Heads, KVHeads int
	// Vocab counts the tokens.
	Vocab int
	// Context is the training context length in tokens.
	Context int
}

// Describe says what Write would write to path, and writes nothing.
func Describe(path string, o Options) (Summary, error) {
	s, err := newSpec(o)
	if err != nil {
		return Summary{}, err
	}
	return Summary{
		Files: fileNames(path, s.Split), Params: s.params(), Vocab: len(s.vocab.tokens), Context: s.Context,
		Layers: s.Layers, Embd: s.Embd, FF: s.FF, Heads: s.Heads, KVHeads: s.KVHeads,
	}, nil
}

// ParseWords reads words from a comma-separated list. Spaces around a word do
// not count, and an empty list has no words.
func ParseWords(list string) []string {
	var out []string
	for w := range strings.SplitSeq(list, ",") {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}
