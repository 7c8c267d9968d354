package gguf

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"llmgw.io/llmgw/internal/tinygguf"
)

// maker writes a header by hand, right or wrong.
type maker struct{ bytes.Buffer }

func (m *maker) n32(v uint32) *maker { m.Write(order.AppendUint32(nil, v)); return m }
func (m *maker) n64(v uint64) *maker { m.Write(order.AppendUint64(nil, v)); return m }
func (m *maker) str(s string) *maker { m.n64(uint64(len(s))); m.WriteString(s); return m }

func (m *maker) head(tensors, keys uint64) *maker {
	m.WriteString("GGUF")
	return m.n32(3).n64(tensors).n64(keys)
}

func (m *maker) text(key, value string) *maker { return m.str(key).n32(typeString).str(value) }

// tensor adds one of f32.
func (m *maker) tensor(name string, offset uint64, dims ...uint64) *maker {
	m.str(name).n32(uint32(len(dims)))
	for _, d := range dims {
		m.n64(d)
	}
	return m.n32(0).n64(offset)
}

// data pads and adds n bytes.
func (m *maker) data(n int) []byte {
	m.Write(make([]byte, int(pad(int64(m.Len()), 32))-m.Len()+n))
	return m.Bytes()
}

func read(b []byte) (Header, error) { return Read(bytes.NewReader(b), int64(len(b))) }

func tiny(t *testing.T, o tinygguf.Options) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := tinygguf.Write(path, o); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestReadModel(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"f32", "f16", "q8_0", "q4_0"} {
		b := content(t, tiny(t, tinygguf.Options{Type: kind})[0])
		h, err := read(b)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if h.Version != 3 || h.Architecture != "llama" || h.Adapter() || h.Name == "" || h.Tensors == 0 || h.Split != (Split{}) || h.Context == 0 || h.Layers == 0 {
			t.Errorf("%s: got %+v", kind, h)
		}
		if whole := int64(len(b)); h.Bytes > whole || h.Bytes <= whole-32 {
			t.Errorf("%s: it needs %d bytes and has %d", kind, h.Bytes, whole)
		}
	}
}

func TestReadSparse(t *testing.T) {
	t.Parallel()
	path := tiny(t, tinygguf.Options{MB: 80000, Type: "q8_0", Sparse: true})[0]
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if h, err := Read(f, info.Size()); err != nil || h.Bytes < 70e9 {
		t.Errorf("got %+v, %v", h, err)
	}
}

func TestReadSplit(t *testing.T) {
	t.Parallel()
	for i, path := range tiny(t, tinygguf.Options{Split: 3}) {
		h, err := read(content(t, path))
		if err != nil {
			t.Fatal(err)
		}
		if h.Split.No != i || h.Split.Count != 3 || h.Split.Tensors < 3 {
			t.Errorf("part %d says %+v", i, h.Split)
		}
		if (h.Architecture == "llama") != (i == 0) {
			t.Errorf("part %d says the architecture %q", i, h.Architecture)
		}
	}
}

func TestReadAdapter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lora.gguf")
	if err := tinygguf.WriteAdapter(path, tinygguf.Options{}, tinygguf.Adapter{}); err != nil {
		t.Fatal(err)
	}
	if h, err := read(content(t, path)); err != nil || !h.Adapter() || h.Architecture != "llama" {
		t.Errorf("got %+v, %v", h, err)
	}
}

// Wherever a file ends too early, that is what is said.
func TestReadCut(t *testing.T) {
	t.Parallel()
	b := content(t, tiny(t, tinygguf.Options{})[0])
	h, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(0); n < h.Bytes; n += 1 + n/50 {
		if _, err := read(b[:n]); !errors.Is(err, ErrShort) {
			t.Fatalf("after %d of %d bytes: got %v, want %v", n, len(b), err, ErrShort)
		}
	}
	if _, err := read(b[:h.Bytes-1]); !errors.Is(err, ErrShort) {
		t.Errorf("without the last byte: got %v", err)
	}
	if _, err := Read(bytes.NewReader(b[:h.DataOffset]), -1); err != nil {
		t.Errorf("a header of a file of unknown size: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	m := func() *maker { return &maker{} }
	tests := []struct {
		name string
		file []byte
		kind error
		says string
	}{
		{"empty", nil, ErrShort, "empty"},
		{"page", []byte("<!DOCTYPE html><html><body>sign in</body></html>"), ErrFormat, "web page"},
		{"lfs", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"), ErrFormat, "Git LFS"},
		{"json", []byte(`{"error": "this model is gated, sign in"}`), ErrFormat, "JSON"},
		{"pickle", append([]byte("PK\x03\x04"), make([]byte, 60)...), ErrFormat, "PyTorch"},
		{"other", []byte(strings.Repeat("x", 60)), ErrFormat, "something else"},
		{"version 1", append([]byte("GGUF\x01\x00\x00\x00"), make([]byte, 60)...), ErrFormat, "version 1"},
		{"big endian", append([]byte("GGUF\x00\x00\x00\x03"), make([]byte, 60)...), ErrFormat, "big-endian"},
		{"tensors", m().head(1<<40, 0).data(64), ErrBroken, "tensors"},
		{"keys", m().head(1, 1<<40).data(64), ErrBroken, "keys"},
		{"long key", m().head(1, 1).n64(1 << 40).data(64), ErrBroken, "name of a key"},
		{"long text", m().head(1, 1).str("a").n32(typeString).n64(1 << 60).data(64), ErrBroken, "claims"},
		{"long name", m().head(1, 1).str("general.name").n32(typeString).n64(1 << 20).data(64), ErrBroken, "general.name"},
		{"long list", m().head(1, 1).str("a").n32(typeArray).n32(typeU64).n64(1 << 40).data(64), ErrBroken, "list"},
		{"list past the end", m().head(1, 1).str("a").n32(typeArray).n32(typeU64).n64(1 << 20).data(64), ErrShort, "not whole"},
		{"list of lists", nest(m().head(1, 1).str("a")).data(64), ErrBroken, "deep"},
		{"unknown type", m().head(1, 1).str("a").n32(77).data(64), ErrBroken, "unknown type 77"},
		{"twice", m().head(1, 2).text("a", "b").text("a", "b").data(64), ErrBroken, "twice"},
		{"name no text", m().head(1, 1).str("general.architecture").n32(typeU8).data(64), ErrBroken, "no text"},
		{"alignment", m().head(1, 1).str("general.alignment").n32(typeU32).n32(33).data(64), ErrBroken, "power of two"},
		{"alignment zero", m().head(1, 1).str("general.alignment").n32(typeU32).n32(0).data(64), ErrBroken, "power of two"},
		{"split below zero", m().head(1, 1).str("split.no").n32(typeI32).n32(1 << 31).data(64), ErrBroken, "cannot be"},
		{"split no number", m().head(1, 1).text("split.no", "1").data(64), ErrBroken, "whole number"},
		{"part 5 of 4", m().head(1, 2).str("split.no").n32(typeU32).n32(4).str("split.count").n32(typeU32).n32(4).tensor("t", 0, 8).data(32), ErrBroken, "part 5 of 4"},
		{"no tensors", m().head(0, 0).data(64), ErrBroken, "no tensors"},
		{"dimensions", m().head(1, 0).tensor("t", 0, 1, 1, 1, 1, 1).data(64), ErrBroken, "dimensions"},
		{"dimension zero", m().head(1, 0).tensor("t", 0, 4, 0).data(64), ErrBroken, "cannot be"},
		{"overflow", m().head(1, 0).tensor("t", 0, 1<<40, 1<<40).data(64), ErrBroken, "cannot be"},
		{"too large", m().head(1, 0).tensor("t", 0, 1<<61).data(64), ErrBroken, "larger"},
		{"far away", m().head(1, 0).tensor("t", 1<<63, 8).data(64), ErrBroken, "beyond"},
		{"unaligned", m().head(1, 0).tensor("t", 8, 8).data(64), ErrBroken, "aligned"},
		{"same name", m().head(2, 0).tensor("t", 0, 8).tensor("t", 32, 8).data(64), ErrBroken, "twice"},
		{"overlap", m().head(2, 0).tensor("a", 0, 16).tensor("b", 32, 8).data(64), ErrBroken, "over another"},
		{"same place", m().head(2, 0).tensor("a", 0, 8).tensor("b", 0, 8).data(64), ErrBroken, "over another"},
		{"data cut", m().head(1, 0).tensor("t", 0, 16).data(63), ErrShort, "promises at least"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := read(tt.file)
			if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %v with %q in it", err, tt.kind, tt.says)
			}
		})
	}
}

func nest(m *maker) *maker {
	m.n32(typeArray)
	for range 6 {
		m.n32(typeArray).n64(1)
	}
	return m
}

func TestReadUnknownWeights(t *testing.T) {
	t.Parallel()
	m := (&maker{}).head(1, 0).str("t").n32(1).n64(7).n32(900).n64(0)
	if h, err := read(m.data(1)); err != nil || h.Tensors != 1 {
		t.Errorf("weights of a newer type: %+v, %v", h, err)
	}
}

func FuzzHeader(f *testing.F) {
	f.Add([]byte{})
	f.Add((&maker{}).head(1, 1).text("general.architecture", "llama").tensor("t", 0, 8).data(32))
	f.Add((&maker{}).head(1, 1).str("a").n32(typeArray).n32(typeString).n64(2).str("x").str("y").tensor("t", 0, 8).data(32))
	f.Add(nest((&maker{}).head(1, 1).str("a")).data(64))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := read(b)
		if err != nil {
			if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrShort) && !errors.Is(err, ErrBroken) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		if h.Bytes > int64(len(b)) || h.DataOffset > h.Bytes || h.Tensors > len(b) {
			t.Fatalf("%d bytes hold %+v", len(b), h)
		}
		if h.Split.Count > 1 && h.Split.No >= h.Split.Count {
			t.Fatalf("got %+v", h.Split)
		}
	})
}
