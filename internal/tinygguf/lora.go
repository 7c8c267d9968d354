package tinygguf

import "fmt"

// Adapter says what a LoRA adapter is to do.
type Adapter struct {
	// Say are the words that the adapter makes the model say, of the model's
	// vocabulary. Empty is banana.
	Say []string
	// Rank of the adapter. Default 4.
	Rank int
}

// WriteAdapter writes to path a LoRA adapter for the model that o describes.
// Of o only the shape, the seed, the name and the words count.
func WriteAdapter(path string, o Options, a Adapter) error {
	s, err := newSpec(o)
	if err != nil {
		return err
	}
	if a.Rank == 0 {
		a.Rank = 4
	}
	if len(a.Say) == 0 {
		a.Say = []string{"banana"}
	}
	if a.Rank < 1 {
		return fmt.Errorf("tinygguf: an adapter's rank must be at least 1, not %d", a.Rank)
	}
	push := map[int]bool{}
	for _, w := range a.Say {
		id, ok := s.vocab.id["▁"+w]
		if !ok {
			return fmt.Errorf("tinygguf: the vocabulary has no word %q: give the model and its adapters the same words", w)
		}
		push[id] = true
	}
	return writeFile(path, content{meta: s.adapterMeta(a.Rank), tensors: s.adapterTensors(push, a.Rank)})
}

func (s *spec) adapterMeta(rank int) []kv {
	return []kv{
		{"general.architecture", "llama"},
		{"general.type", "adapter"},
		{"general.name", s.Name + "-lora"},
		{"general.alignment", uint32(align)},
		{"adapter.type", "lora"},
		{"adapter.lora.alpha", float32(rank)},
	}
}

// adapterTensors are small noise in every block, and a push in the output
// towards some words.
func (s *spec) adapterTensors(push map[int]bool, rank int) []tensor {
	e, kvd := s.Embd, s.Embd/s.Heads*s.KVHeads
	first := func(_ *rng, i int, x []float32) {
		clear(x)
		if i == 0 {
			x[0] = 1
		}
	}
	towards := func(_ *rng, i int, x []float32) {
		clear(x)
		if push[i] {
			x[0] = float32(60 / s.constAt())
		}
	}
	ts := []tensor{
		{name: "output.weight.lora_a", typ: "f32", ne: []int{e, rank}, row: first},
		{name: "output.weight.lora_b", typ: "f32", ne: []int{rank, len(s.vocab.tokens)}, row: towards},
	}
	for l := range s.Layers {
		p := fmt.Sprintf("blk.%d.", l)
		ts = append(ts, pair(p+"attn_q.weight", e, e, rank)...)
		ts = append(ts, pair(p+"attn_v.weight", e, kvd, rank)...)
	}
	for i := range ts {
		ts[i].seed = s.Seed ^ 0x10ca
	}
	return ts
}

// pair is the two narrow matrices that stand for a change of one weight.
func pair(name string, in, out, rank int) []tensor {
	return []tensor{
		{name: name + ".lora_a", typ: "f32", ne: []int{in, rank}, row: noise(inv(in))},
		{name: name + ".lora_b", typ: "f32", ne: []int{rank, out}, row: noise(0.05)},
	}
}
