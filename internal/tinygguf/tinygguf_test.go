package tinygguf

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, o Options) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := Write(path, o); err != nil {
		t.Fatal(err)
	}
	return read(t, path)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSameOptionsGiveSameBytes(t *testing.T) {
	t.Parallel()
	a, b := write(t, Options{Seed: 7, Say: []string{"alpha"}}), write(t, Options{Seed: 7, Say: []string{"alpha"}})
	if !bytes.Equal(a, b) {
		t.Error("two writes of the same options differ")
	}
	if bytes.Equal(a, write(t, Options{Seed: 8, Say: []string{"alpha"}})) {
		t.Error("another seed gives the same weights")
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	b := write(t, Options{})
	if got := string(b[:4]); got != "GGUF" {
		t.Errorf("magic: want GGUF, got %q", got)
	}
	if got := binary.LittleEndian.Uint32(b[4:]); got != 3 {
		t.Errorf("version: want 3, got %d", got)
	}
	// Three tensors around the blocks, nine in each of the two.
	if got := binary.LittleEndian.Uint64(b[8:]); got != 21 {
		t.Errorf("tensors: want 21, got %d", got)
	}
	if !bytes.Contains(b, []byte("tokenizer.chat_template")) {
		t.Error("the header has no chat template")
	}
}

func TestMBComesNearTheSizeAskedFor(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"f16", "q8_0", "q4_0"} {
		for _, mb := range []int{10, 50, 300} {
			path := filepath.Join(t.TempDir(), "m.gguf")
			if err := Write(path, Options{MB: mb, Type: typ, Sparse: true}); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			want := int64(mb) * 1_000_000
			if got := info.Size(); got < want*9/10 || got > want*12/10 {
				t.Errorf("%s of %d MB: got %d bytes", typ, mb, got)
			}
		}
	}
}

func TestSparseHasTheHeaderAndTheSizeOfTheWholeFile(t *testing.T) {
	t.Parallel()
	whole, sparse := write(t, Options{}), write(t, Options{Sparse: true})
	if len(whole) != len(sparse) {
		t.Fatalf("size: want %d, got %d", len(whole), len(sparse))
	}
	data := len(bytes.TrimRight(sparse, "\x00"))
	if !bytes.Equal(whole[:data], sparse[:data]) {
		t.Error("the headers differ")
	}
}

func TestCutLeavesAPrefix(t *testing.T) {
	t.Parallel()
	whole := write(t, Options{})
	for _, n := range []int64{1, 1000, int64(len(whole)) - 20} {
		got := write(t, Options{Cut: n})
		if int64(len(got)) != int64(len(whole))-n || !bytes.HasPrefix(whole, got) {
			t.Errorf("cut %d: got %d of %d bytes", n, len(got), len(whole))
		}
	}
	if got := write(t, Options{Cut: 1 << 40}); len(got) != 0 {
		t.Errorf("cut of more than there is: want an empty file, got %d bytes", len(got))
	}
}

func TestSplitSharesAllTensorsOut(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "m.gguf")
	o := Options{Split: 3}
	if err := Write(path, o); err != nil {
		t.Fatal(err)
	}
	d, err := Describe(path, o)
	if err != nil {
		t.Fatal(err)
	}
	var tensors uint64
	for i, f := range d.Files {
		if !strings.HasSuffix(f, "-of-00003.gguf") {
			t.Errorf("name of part %d: %s", i, f)
		}
		n := binary.LittleEndian.Uint64(read(t, f)[8:])
		if n == 0 {
			t.Errorf("part %d is empty", i)
		}
		tensors += n
	}
	if tensors != 21 {
		t.Errorf("tensors in all parts: want 21, got %d", tensors)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a split model also wrote the unsplit name")
	}
}

func TestAdapterKnowsTheModelsWords(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "l.gguf")
	if err := WriteAdapter(path, Options{}, Adapter{Say: []string{"cherry"}}); err != nil {
		t.Fatal(err)
	}
	if b := read(t, path); !bytes.Contains(b, []byte("output.weight.lora_b")) {
		t.Error("the adapter does not touch the output")
	}
	err := WriteAdapter(path, Options{}, Adapter{Say: []string{"zeppelin"}})
	if err == nil || !strings.Contains(err.Error(), `no word "zeppelin"`) {
		t.Errorf("a word outside the vocabulary: got %v", err)
	}
}

func TestBadOptionsAreRefusedTogether(t *testing.T) {
	t.Parallel()
	err := Write(filepath.Join(t.TempDir(), "m.gguf"), Options{Embd: 33, Type: "f8", Pooling: "max", Heads: 3})
	if err == nil {
		t.Fatal("want an error, got none")
	}
	for _, want := range []string{"multiples of 32", `unknown type "f8"`, `unknown pooling "max"`, "heads must be a multiple"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want a complaint about %q, got %v", want, err)
		}
	}
}

func TestFailedWriteLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "m.gguf", "in-the-way"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, "m.gguf"), Options{}); err == nil {
		t.Fatal("want an error, got none")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("want only the folder in the way, got %v %v", left, err)
	}
}

func TestHalfRoundsToNearest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   float32
		want uint16
	}{{0, 0}, {1, 0x3c00}, {-2, 0xc000}, {65504, 0x7bff}, {1e9, 0x7bff}, {1e-9, 0}, {1.0004883, 0x3c00}, {1.0009766, 0x3c01}} {
		if got := half(c.in); got != c.want {
			t.Errorf("half(%v): want %#x, got %#x", c.in, c.want, got)
		}
	}
}
