package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
)

// file writes a file with a header and n bytes of weights.
func file(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, n)...)
}

const two = `{"__metadata__":{"format":"pt"},"a":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]},"b":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[8,12]}}`

func read(b []byte) (int64, error) { return Read(bytes.NewReader(b), int64(len(b))) }

func TestRead(t *testing.T) {
	t.Parallel()
	whole := file(two, 12)
	if n, err := read(whole); err != nil || n != 12 {
		t.Fatalf("got %d, %v", n, err)
	}
	for n := range whole {
		if _, err := read(whole[:n]); !errors.Is(err, ErrShort) {
			t.Fatalf("after %d of %d bytes: %v", n, len(whole), err)
		}
	}
	tests := []struct {
		name string
		file []byte
		kind error
		says string
	}{
		{"one more", file(two, 13), ErrFormat, "added"},
		{"huge header", append(binary.LittleEndian.AppendUint64(nil, 1<<60), 1), ErrFormat, "does not begin"},
		{"pickle", append([]byte("PK\x03\x04"), make([]byte, 40)...), ErrFormat, "pickle"},
		{"page", []byte("<!DOCTYPE html><html>"), ErrFormat, "web page"},
		{"lfs", []byte("version https://git-lfs"), ErrFormat, "Git LFS"},
		{"gguf", []byte("GGUF\x03\x00\x00\x00xxxxxxxx"), ErrFormat, "begin"},
		{"no JSON", file("{nonsense", 0), ErrFormat, "JSON"},
		{"no place", file(`{"a":{"dtype":"F16"}}`, 0), ErrFormat, "nowhere"},
		{"backwards", file(`{"a":{"data_offsets":[8,0]}}`, 8), ErrFormat, "nowhere"},
		{"below zero", file(`{"a":{"data_offsets":[-8,8]}}`, 8), ErrFormat, "nowhere"},
	}
	for _, tt := range tests {
		if _, err := read(tt.file); !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want %v with %q in it", tt.name, err, tt.kind, tt.says)
		}
	}
}

func TestIndex(t *testing.T) {
	t.Parallel()
	got, err := Index([]byte(`{"metadata":{"total_size":1},"weight_map":{"x":"m-2.safetensors","y":"m-1.safetensors","z":"m-2.safetensors"}}`))
	if err != nil || !slices.Equal(got, []string{"m-1.safetensors", "m-2.safetensors"}) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{``, `[]`, `{}`, `{"weight_map":{}}`, `{"weight_map":{"x":"../m"}}`, `{"weight_map":{"x":"a/b"}}`, `{"weight_map":{"x":".."}}`, `{"weight_map":{"x":""}}`, `{"weight_map":{"x":"a\\b"}}`} {
		if got, err := Index([]byte(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: got %v, %v", bad, got, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(file(two, 12))
	f.Add([]byte{})
	f.Add(file(`{"a":{"data_offsets":[0,8]}}`, 8))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := read(b)
		if err == nil && (n < 0 || n > int64(len(b))) {
			t.Fatalf("%d bytes hold %d of weights", len(b), n)
		}
		if err != nil && !errors.Is(err, ErrFormat) && !errors.Is(err, ErrShort) {
			t.Fatalf("an error of no kind: %v", err)
		}
		if names, err := Index(b); err == nil && len(names) == 0 {
			t.Fatal("an index without files")
		}
	})
}
