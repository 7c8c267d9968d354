package gguf

import "strings"

// The types of values.
const (
	typeU8 = iota
	typeI8
	typeU16
	typeI16
	typeU32
	typeI32
	typeF32
	typeBool
	typeString
	typeArray
	typeU64
	typeI64
	typeF64
)

// width is how many bytes a value of a plain type takes. Zero: it is no plain
// type, or none at all.
func width(t uint32) int64 {
	switch t {
	case typeU8, typeI8, typeBool:
		return 1
	case typeU16, typeI16:
		return 2
	case typeU32, typeI32, typeF32:
		return 4
	case typeU64, typeI64, typeF64:
		return 8
	}
	return 0
}

// meta is what the keys say beyond the Header.
type meta struct {
	alignment int64
	// counts are numbers of the architecture, by key. Which it is may be said
	// after them.
	counts map[string]int64
}

// The keys of an architecture that are of interest, behind its name.
const (
	contextKey = ".context_length"
	layersKey  = ".block_count"
	// maxCounts bounds how many are kept: a file has one architecture.
	maxCounts = 64
)

// of are the numbers of an architecture.
func (m *meta) of(architecture string) (context, layers int) {
	return int(m.counts[architecture+contextKey]), int(m.counts[architecture+layersKey])
}

// meta reads the keys. Those that are not of interest are passed over.
func (in *reader) meta(n uint64, h *Header, m *meta) error {
	seen := map[string]bool{}
	for range n {
		key, err := in.text(maxKey, "the name of a key")
		if err != nil {
			return err
		}
		t, err := in.u32()
		if err != nil {
			return err
		}
		if seen[key] {
			return broken("it has the key %s twice", clip(key))
		}
		seen[key] = true
		if err := in.value(key, t, h, m); err != nil {
			return err
		}
	}
	return nil
}

// value reads one value and keeps it where it matters.
func (in *reader) value(key string, t uint32, h *Header, m *meta) error {
	switch {
	case key == "general.architecture":
		return in.word(key, t, &h.Architecture)
	case key == "general.type":
		return in.word(key, t, &h.Type)
	case key == "general.name":
		return in.word(key, t, &h.Name)
	case key == "general.alignment":
		if err := in.whole(key, t, maxAlignment, &m.alignment); err != nil {
			return err
		}
		if m.alignment == 0 || m.alignment&(m.alignment-1) != 0 {
			return broken("its alignment of %d is no power of two", m.alignment)
		}
		return nil
	case strings.HasPrefix(key, "split."):
		return in.split(key, t, &h.Split)
	case (strings.HasSuffix(key, contextKey) || strings.HasSuffix(key, layersKey)) && t == typeU32 && len(m.counts) < maxCounts:
		n, err := in.u32()
		if m.counts == nil {
			m.counts = map[string]int64{}
		}
		m.counts[key] = int64(n)
		return err
	}
	return in.pass(key, t, 0)
}

func (in *reader) split(key string, t uint32, s *Split) error {
	var n int64
	var at *int
	limit := int64(maxParts)
	switch key {
	case "split.no":
		at = &s.No
	case "split.count":
		at = &s.Count
	case "split.tensors.count":
		at, limit = &s.Tensors, maxTensors
	default:
		return in.pass(key, t, 0)
	}
	err := in.whole(key, t, limit, &n)
	*at = int(n)
	return err
}

// word reads a short text.
func (in *reader) word(key string, t uint32, to *string) (err error) {
	if t != typeString {
		return broken("its key %s is no text", key)
	}
	*to, err = in.text(maxKey, "its key "+key)
	return err
}

// whole reads a number from zero to limit, of whichever type.
func (in *reader) whole(key string, t uint32, limit int64, to *int64) error {
	w := width(t)
	if w == 0 || t == typeF32 || t == typeF64 || t == typeBool {
		return broken("its key %s is no whole number", key)
	}
	b, err := in.take(int(w))
	if err != nil {
		return err
	}
	var v uint64
	for i, c := range b {
		v |= uint64(c) << (8 * i)
	}
	// A negative number of a signed type is huge here, or beyond the limit of a
	// narrow one; either is refused.
	if signed := t == typeI8 || t == typeI16 || t == typeI32; signed && b[w-1]&0x80 != 0 || v > uint64(limit) {
		return broken("its key %s has a value that cannot be", key)
	}
	*to = int64(v)
	return nil
}

// pass goes over a value.
func (in *reader) pass(key string, t uint32, depth int) error {
	switch {
	case width(t) > 0:
		return in.skip(width(t))
	case t == typeString:
		return in.passText(key)
	case t == typeArray:
		return in.passArray(key, depth+1)
	}
	return broken("its key %s has a value of the unknown type %d", clip(key), t)
}

func (in *reader) passText(key string) error {
	n, err := in.u64()
	if err != nil {
		return err
	}
	if n > maxString {
		return broken("a text in its key %s claims %d bytes", clip(key), n)
	}
	return in.skip(int64(n))
}

func (in *reader) passArray(key string, depth int) error {
	if depth > maxDepth {
		return broken("its key %s nests lists too deep", clip(key))
	}
	t, err := in.u32()
	if err != nil {
		return err
	}
	n, err := in.u64()
	if err != nil {
		return err
	}
	// Each element takes a byte at least, so more than the header may have is a lie.
	if n > MaxHeader {
		return broken("a list in its key %s claims %d elements", clip(key), n)
	}
	if w := width(t); w > 0 {
		return in.skip(int64(n) * w)
	}
	for range n {
		if err := in.pass(key, t, depth); err != nil {
			return err
		}
	}
	return nil
}

// clip keeps what a file says short in our sentences.
func clip(s string) string {
	const limit = 80
	s = strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s), "?")
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}
