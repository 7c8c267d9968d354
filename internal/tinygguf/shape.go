package tinygguf

// size sets the shape so that the file comes near n bytes.
func (s *spec) size(n int64) {
	switch {
	case n < 20e6:
		s.Embd, s.Heads, s.KVHeads = 256, 8, 4
	case n < 200e6:
		s.Embd, s.Heads, s.KVHeads = 512, 8, 4
	case n < 5e9:
		s.Embd, s.Heads, s.KVHeads = 1024, 16, 4
	default:
		s.Embd, s.Heads, s.KVHeads = 8192, 64, 8
	}
	t := types[s.Type]
	bytes := func(params int64) int64 { return params / int64(t.block) * int64(t.size) }
	e := int64(s.Embd)
	attn := 2*e*e + 2*e*e*int64(s.KVHeads)/int64(s.Heads)
	s.Layers = max(1, int(n/bytes(attn+3*e*(e*11/4))))
	left := n/int64(s.Layers) - bytes(attn)
	s.FF = max(32, int(left/bytes(3*e*32))*32)
}

// params counts the model's weights.
func (s *spec) params() int64 {
	var n int64
	for _, t := range s.tensors() {
		n += t.elems()
	}
	return n
}
