package gguf

import (
	"cmp"
	"math"
	"slices"
)

// tensor is one row of the directory.
type tensor struct {
	name   string
	offset int64
	// bytes is what it takes. Zero: its type is newer than this table.
	bytes int64
}

// block says how a type of weights is stored: so many of them in so many bytes.
type block struct{ weights, bytes int64 }

// blocks are the types by number. A type that is not here is taken, and its size
// is not judged: there are new ones each year.
var blocks = map[uint32]block{
	0: {1, 4}, 1: {1, 2}, 2: {32, 18}, 3: {32, 20}, 6: {32, 22}, 7: {32, 24}, 8: {32, 34}, 9: {32, 36},
	10: {256, 84}, 11: {256, 110}, 12: {256, 144}, 13: {256, 176}, 14: {256, 210}, 15: {256, 292},
	16: {256, 66}, 17: {256, 74}, 18: {256, 98}, 19: {256, 50}, 20: {32, 18}, 21: {256, 110}, 22: {256, 82}, 23: {256, 136},
	24: {1, 1}, 25: {1, 2}, 26: {1, 4}, 27: {1, 8}, 28: {1, 8}, 29: {256, 56}, 30: {1, 2}, 34: {256, 54}, 35: {256, 66}, 39: {32, 17},
}

// directory reads the list of tensors.
func (in *reader) directory(n uint64, alignment int64) ([]tensor, error) {
	var out []tensor
	seen := map[string]bool{}
	for range n {
		t, err := in.tensor()
		if err != nil {
			return nil, err
		}
		if seen[t.name] {
			return nil, broken("it has the tensor %s twice", clip(t.name))
		}
		seen[t.name] = true
		if t.offset%alignment != 0 {
			return nil, broken("its tensor %s stands at %d, which is not aligned to %d", clip(t.name), t.offset, alignment)
		}
		out = append(out, t)
	}
	return out, nil
}

func (in *reader) tensor() (tensor, error) {
	name, err := in.text(maxName, "the name of a tensor")
	if err != nil {
		return tensor{}, err
	}
	dims, err := in.u32()
	if err != nil {
		return tensor{}, err
	}
	if dims > maxDims {
		return tensor{}, broken("its tensor %s has %d dimensions", clip(name), dims)
	}
	first, elems := int64(1), int64(1)
	for i := range dims {
		d, err := in.u64()
		if err != nil {
			return tensor{}, err
		}
		if d == 0 || d > math.MaxInt64/uint64(elems) {
			return tensor{}, broken("its tensor %s has a size that cannot be", clip(name))
		}
		if i == 0 {
			first = int64(d)
		}
		elems *= int64(d)
	}
	kind, err := in.u32()
	if err != nil {
		return tensor{}, err
	}
	offset, err := in.u64()
	if err != nil {
		return tensor{}, err
	}
	if offset > math.MaxInt64/2 {
		return tensor{}, broken("its tensor %s stands beyond every file", clip(name))
	}
	t := tensor{name: name, offset: int64(offset)}
	b, known := blocks[kind]
	switch {
	case !known:
	case first%b.weights != 0:
		return tensor{}, broken("its tensor %s has rows of %d, which do not divide into blocks of %d", clip(name), first, b.weights)
	case elems/b.weights > math.MaxInt64/2/b.bytes:
		return tensor{}, broken("its tensor %s is larger than every file", clip(name))
	default:
		t.bytes = elems / b.weights * b.bytes
	}
	return t, nil
}

// extent is how long the file must be at least. No two tensors may share bytes:
// that is no model but an attempt.
func extent(ts []tensor, data int64) (int64, error) {
	sorted := slices.SortedFunc(slices.Values(ts), func(a, b tensor) int { return cmp.Compare(a.offset, b.offset) })
	end := int64(0)
	for i, t := range sorted {
		if t.offset < end || i > 0 && t.offset == sorted[i-1].offset {
			return 0, broken("its tensor %s lies over another", clip(t.name))
		}
		end = t.offset + t.bytes
		if end > math.MaxInt64-data {
			return 0, broken("its tensor %s ends beyond every file", clip(t.name))
		}
	}
	if len(ts) == 0 {
		return data, nil
	}
	return data + end, nil
}

func pad(n, alignment int64) int64 { return (n + alignment - 1) / alignment * alignment }
