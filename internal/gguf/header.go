package gguf

import (
	"bytes"
	"io"
)

// Header is what a file says of itself.
type Header struct {
	// Version is 2 or 3.
	Version uint32
	// Architecture is of the model, or of the model that an adapter is for. Empty:
	// it does not say, as the later parts of a split model.
	Architecture string
	// Type is "model", "adapter", "mmproj" and the like. Empty: it does not say,
	// which older files mean to be a model.
	Type string
	// Name is the model's own. May be empty.
	Name string
	// Context is how many tokens the model was trained for, Layers how many blocks
	// it has. Zero: it does not say.
	Context, Layers int
	// Tensors is how many are in this file.
	Tensors int
	// Split says which part of a model this is.
	Split Split
	// DataOffset is where weights begin, Bytes what the file must have at least.
	DataOffset, Bytes int64
}

// Split says which part of a split model a file is. Zero: the file is whole.
type Split struct {
	// No counts from zero.
	No int
	// Count is how many parts there are. Zero or one: the file is whole.
	Count int
	// Tensors is how many all parts have together. Zero: it does not say.
	Tensors int
}

// Adapter reports whether the file is an adapter and no model.
func (h *Header) Adapter() bool { return h.Type == "adapter" }

// Projector reports whether the file is the part of a model that looks at
// pictures or listens, which is loaded beside a model and is none. Files from
// before they had a type have an architecture of their own.
func (h *Header) Projector() bool {
	return h.Type == "mmproj" || h.Type == "" && h.Architecture == "clip"
}

// Matrix reports whether the file is a table for those who quantize a model.
func (h *Header) Matrix() bool { return h.Type == "imatrix" }

// Bounds of a header. Real ones have some hundred keys and tensors, and a
// vocabulary of some megabytes.
const (
	// MaxHeader is the most bytes that are read of one file.
	MaxHeader = 128 << 20

	maxKeys      = 1 << 16
	maxTensors   = 1 << 20
	maxKey       = 1 << 12
	maxString    = 16 << 20
	maxName      = 256
	maxDims      = 4
	maxDepth     = 4
	maxAlignment = 1 << 20
	maxParts     = 1 << 16
)

// Read reads a header. size is the whole file's; -1 where it is not known, and
// then nothing is held against it. Errors match ErrFormat, ErrShort or
// ErrBroken, or are r's.
func Read(r io.ReaderAt, size int64) (Header, error) {
	in := newReader(r, size)
	h := Header{}
	var tensors, keys uint64
	if err := in.open(&h, &tensors, &keys); err != nil {
		return Header{}, err
	}
	m := meta{alignment: 32}
	if err := in.meta(keys, &h, &m); err != nil {
		return Header{}, err
	}
	h.Context, h.Layers = m.of(h.Architecture)
	ts, err := in.directory(tensors, m.alignment)
	if err != nil {
		return Header{}, err
	}
	h.Tensors = len(ts)
	h.DataOffset = pad(in.at, m.alignment)
	if h.Bytes, err = extent(ts, h.DataOffset); err != nil {
		return Header{}, err
	}
	if size >= 0 && h.Bytes > size {
		return Header{}, short("it has %d bytes and its header promises at least %d: it is not whole", size, h.Bytes)
	}
	return h, h.check()
}

// open reads what stands before the keys.
func (in *reader) open(h *Header, tensors, keys *uint64) error {
	head, err := in.take(24)
	if err != nil {
		if in.size == 0 {
			return short("it is empty")
		}
		return err
	}
	if !bytes.Equal(head[:4], []byte("GGUF")) {
		return noGGUF("it does not begin as a GGUF file does: %s", looksLike(head))
	}
	h.Version = order.Uint32(head[4:])
	switch h.Version {
	case 2, 3:
	case 2 << 24, 3 << 24:
		return noGGUF("it is a GGUF file for big-endian machines; convert the model again")
	default:
		return noGGUF("it is of GGUF version %d, and 2 and 3 are read; convert the model again", h.Version)
	}
	*tensors, *keys = order.Uint64(head[8:]), order.Uint64(head[16:])
	if *tensors > maxTensors {
		return broken("it claims %d tensors", *tensors)
	}
	if *keys > maxKeys {
		return broken("it claims %d keys", *keys)
	}
	return nil
}

// looksLike says what people most often have in the place of weights.
func looksLike(head []byte) string {
	low := bytes.ToLower(bytes.TrimSpace(head))
	switch {
	case bytes.HasPrefix(low, []byte("<!doctype")), bytes.HasPrefix(low, []byte("<html")):
		return "it is a web page"
	case bytes.HasPrefix(low, []byte("version https://git-lfs")):
		return "it is a pointer of Git LFS, which stands for a file that was not fetched"
	case bytes.HasPrefix(low, []byte("{")):
		return "it is a JSON text"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return "it is a ZIP archive, as PyTorch writes them"
	}
	return "it is something else"
}

// check holds the header against itself.
func (h *Header) check() error {
	s := h.Split
	switch {
	case s.Count > 1 && s.No >= s.Count:
		return broken("it calls itself part %d of %d", s.No+1, s.Count)
	case h.Tensors == 0 && s.Count < 2:
		return broken("it holds no tensors, so it is a vocabulary or a stub and no model")
	}
	return nil
}
