package tinygguf

const align = 32

type kv struct {
	key   string
	value any
}

type tensor struct {
	name string
	typ  string
	ne   []int // ne[0] is a row's length
	row  func(r *rng, i int, x []float32)
	seed uint64
}

func (t tensor) elems() int64 {
	n := int64(1)
	for _, d := range t.ne {
		n *= int64(d)
	}
	return n
}

func (t tensor) bytes() int64 {
	k := types[t.typ]
	return t.elems() / int64(k.block) * int64(k.size)
}

type dtype struct {
	id, ftype   int
	block, size int // elements and bytes of a block
	put         func(dst []byte, x []float32)
}

var types = map[string]dtype{
	"f32":  {id: 0, ftype: 0, block: 1, size: 4, put: putF32},
	"f16":  {id: 1, ftype: 1, block: 1, size: 2, put: putF16},
	"q4_0": {id: 2, ftype: 2, block: 32, size: 18, put: putQ4},
	"q8_0": {id: 8, ftype: 7, block: 32, size: 34, put: putQ8},
}

var poolings = map[string]int{"": 0, "mean": 1, "cls": 2, "last": 3}
