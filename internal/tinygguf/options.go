package tinygguf

import (
	"errors"
	"fmt"
)

// Options says what to write. The zero value is a model of 0.3 MB that says
// random words.
type Options struct {
	// Name is the model's general.name. Default "tiny-random-llama".
	Name string
	// Seed makes the weights. Zero is a seed like any other.
	Seed uint64
	// Layers, Embd, FF, Heads and KVHeads are the model's shape. Defaults 2,
	// 64, 128, 4 and 2. Embd and FF are multiples of 32; fewer KVHeads than
	// Heads is grouped-query attention.
	Layers, Embd, FF, Heads, KVHeads int
	// Context is the training context length in tokens. Default 2048.
	Context int
	// Type is how weights are stored: f32, f16, q8_0 or q4_0. Default f16.
	Type string
	// Pooling declares an embedding model: mean, cls or last. Empty declares
	// none.
	Pooling string
	// Say are words that the model prefers strongly. Empty: it has no taste.
	Say []string
	// Words are in the vocabulary, but are said only with an adapter. Nil is
	// banana, cherry, mango, papaya and tomato. A model and its adapters need
	// the same list.
	Words []string
	// End is the bias of the end token: higher gives shorter answers, and -30
	// none that ends by itself. Zero is the default, 1.5.
	End float64
	// Tools gives a chat template with tools, and a model that starts its
	// answer with a tool call.
	Tools bool
	// MB makes the file about this many megabytes and sets the shape for it.
	// Zero keeps the shape.
	MB int
	// Sparse writes a right header and leaves holes where the weights belong.
	Sparse bool
	// Split is the number of files. Zero and one mean one, at the path given;
	// more are named path-00001-of-0000N.gguf.
	Split int
	// Cut leaves this many bytes off the end of the last file: a download that
	// broke off. Zero leaves the file whole.
	Cut int64
}

// spec is Options made whole: every default filled, the shape settled, the
// vocabulary built.
type spec struct {
	Options
	vocab *vocab
}

func newSpec(o Options) (*spec, error) {
	s := &spec{Options: o.withDefaults()}
	if s.MB > 0 {
		if _, ok := types[s.Type]; !ok {
			return nil, fmt.Errorf("tinygguf: unknown type %q: use f32, f16, q8_0 or q4_0", s.Type)
		}
		s.size(int64(s.MB) * 1_000_000)
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	s.vocab = newVocab(s.Say, s.Words, s.Tools)
	return s, nil
}

func (o Options) withDefaults() Options {
	or := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	or(&o.Layers, 2)
	or(&o.Embd, 64)
	or(&o.FF, 128)
	or(&o.Heads, 4)
	or(&o.KVHeads, 2)
	or(&o.Context, 2048)
	or(&o.Split, 1)
	if o.Name == "" {
		o.Name = "tiny-random-llama"
	}
	if o.Type == "" {
		o.Type = "f16"
	}
	if o.Words == nil {
		o.Words = []string{"banana", "cherry", "mango", "papaya", "tomato"}
	}
	if o.End == 0 {
		o.End = 1.5
	}
	return o
}

func (s *spec) check() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("tinygguf: "+format, args...))
		}
	}
	small := s.Layers < 1 || s.Embd < 32 || s.FF < 32 || s.Heads < 1 || s.KVHeads < 1 || s.Context < 8
	refuse(small, "layers, embd, ff, heads, kv-heads or ctx is too small")
	refuse(s.Embd%32 != 0 || s.FF%32 != 0, "embd and ff must be multiples of 32")
	if s.Heads > 0 && s.KVHeads > 0 {
		refuse(s.Embd%s.Heads != 0 || s.Embd/s.Heads%2 != 0, "embd must divide into heads of an even length")
		refuse(s.Heads%s.KVHeads != 0, "heads must be a multiple of kv-heads")
	}
	_, known := types[s.Type]
	refuse(!known, "unknown type %q: use f32, f16, q8_0 or q4_0", s.Type)
	_, known = poolings[s.Pooling]
	refuse(!known, "unknown pooling %q: use mean, cls or last", s.Pooling)
	refuse(s.Split < 1 || s.Split > 99999, "split must be from 1 to 99999, not %d", s.Split)
	refuse(s.MB < 0 || s.Cut < 0, "mb and cut must not be negative")
	return errors.Join(errs...)
}
