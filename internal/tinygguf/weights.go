package tinygguf

import (
	"fmt"
	"math"
)

// constNorm is what the last norm multiplies the constant dimension by: little
// in a model for embeddings, which would otherwise all point the same way.
func (s *spec) constNorm() float64 {
	if s.Pooling != "" {
		return 0.02
	}
	return 1
}

// constAt is the value of the constant dimension after the last norm, for an
// embedding whose other dimensions are of variance one.
func (s *spec) constAt() float64 { return math.Sqrt(float64(s.Embd)/2) * s.constNorm() }

// tensors lists the model's tensors in the order in which they are written.
func (s *spec) tensors() []tensor {
	ts := []tensor{s.embedding(), constant("output_norm.weight", s.Embd, float32(s.constNorm())), s.output()}
	for l := range s.Layers {
		ts = append(ts, s.block(fmt.Sprintf("blk.%d.", l))...)
	}
	for i := range ts {
		ts[i].seed = s.Seed
	}
	return ts
}

// embedding holds a constant in the first dimension of every token.
func (s *spec) embedding() tensor {
	fill := func(r *rng, _ int, x []float32) {
		for i := range x {
			x[i] = float32(r.norm())
		}
		x[0] = float32(math.Sqrt(float64(s.Embd)))
	}
	return tensor{name: "token_embd.weight", typ: s.Type, ne: []int{s.Embd, len(s.vocab.tokens)}, row: fill}
}

// output reads that constant as a bias for each token. The end and the
// preferred words keep near their bias, so that answers end after some words,
// and greedy ones do not.
func (s *spec) output() tensor {
	bias := s.biases()
	fill := func(r *rng, i int, x []float32) {
		scale := 2 * inv(s.Embd)
		if i == tokEnd || bias[i] > 0 {
			scale /= 4
		}
		for j := range x {
			x[j] = float32(r.norm() * scale)
		}
		x[0] = float32(bias[i] / s.constAt())
	}
	return tensor{name: "output.weight", typ: s.Type, ne: []int{s.Embd, len(s.vocab.tokens)}, row: fill}
}

// block is one transformer block. It neither reads nor writes the constant
// dimension: its norms begin with zero, and the first row of what it adds to
// the stream is empty.
func (s *spec) block(p string) []tensor {
	e, kvd := s.Embd, s.Embd/s.Heads*s.KVHeads
	deep := 0.5 / math.Sqrt(float64(s.Layers))
	return []tensor{
		constant(p+"attn_norm.weight", e, 0),
		s.matrix(p+"attn_q.weight", e, e, inv(e)),
		s.matrix(p+"attn_k.weight", e, kvd, inv(e)),
		s.matrix(p+"attn_v.weight", e, kvd, inv(e)),
		s.still(p+"attn_output.weight", e, deep*inv(e)),
		constant(p+"ffn_norm.weight", e, 0),
		s.matrix(p+"ffn_gate.weight", e, s.FF, inv(e)),
		s.matrix(p+"ffn_up.weight", e, s.FF, inv(e)),
		s.still(p+"ffn_down.weight", s.FF, deep*inv(s.FF)),
	}
}

func inv(n int) float64 { return 1 / math.Sqrt(float64(n)) }

// constant is a vector of ones with another first value.
func constant(name string, n int, first float32) tensor {
	return tensor{name: name, typ: "f32", ne: []int{n}, row: func(_ *rng, _ int, x []float32) {
		for i := range x {
			x[i] = 1
		}
		x[0] = first
	}}
}

func (s *spec) matrix(name string, in, out int, scale float64) tensor {
	return tensor{name: name, typ: s.Type, ne: []int{in, out}, row: noise(scale)}
}

// still is a matrix into the stream that leaves the constant dimension alone.
func (s *spec) still(name string, in int, scale float64) tensor {
	t := s.matrix(name, in, s.Embd, scale)
	fill := t.row
	t.row = func(r *rng, i int, x []float32) {
		fill(r, i, x)
		if i == 0 {
			clear(x)
		}
	}
	return t
}

// noise fills a row with normal numbers of a scale.
func noise(scale float64) func(*rng, int, []float32) {
	return func(r *rng, _ int, x []float32) {
		for i := range x {
			x[i] = float32(r.norm() * scale)
		}
	}
}

// biases says how likely each token is before the model has read anything.
func (s *spec) biases() []float64 {
	b := make([]float64, len(s.vocab.tokens))
	for i := range b {
		switch {
		case i == tokEnd:
			b[i] = s.End
		case s.vocab.whole[i]:
			b[i] = 0
		default:
			b[i] = -30
		}
	}
	for _, w := range s.Say {
		b[s.vocab.id["▁"+w]] = 12
	}
	if s.Tools {
		b[s.vocab.id["<tool_call>"]] = 15
	}
	if n := len(s.Say); n > 0 {
		b[tokEnd] += 12 - 3.7 + math.Log(float64(n)) // ends after ten words or so
	}
	return b
}
