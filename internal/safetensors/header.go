package safetensors

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
)

// Why a file is refused. Each error matches one of them, and its text does not
// name the file, which the caller knows.
var (
	// ErrFormat says that it is no such file, or that its header is broken.
	ErrFormat = errors.New("safetensors: no safetensors file")
	// ErrShort says that the file has fewer bytes than its header promises.
	ErrShort = errors.New("safetensors: the file ends too early")
)

// Bounds. The format itself ends headers at 100 MB; real ones have some MB.
const (
	// MaxHeader is the most bytes that are read of one file.
	MaxHeader = 64 << 20
	// MaxIndex is the most that an index may have.
	MaxIndex = 64 << 20

	maxFiles = 10000
)

type problem struct {
	kind error
	text string
}

// Error is the sentence.
func (p *problem) Error() string { return p.text }

// Unwrap gives the kind.
func (p *problem) Unwrap() error { return p.kind }

func bad(kind error, format string, args ...any) error {
	return &problem{kind, fmt.Sprintf(format, args...)}
}

// span is where a tensor lies among the weights.
type span struct {
	Offsets *[2]int64 `json:"data_offsets"`
}

// Read reads the header of a file of a size, and gives how many bytes of weights
// follow. Errors match ErrFormat or ErrShort, or are r's.
func Read(r io.ReaderAt, size int64) (weights int64, err error) {
	var head [8]byte
	if size < int64(len(head)) {
		return 0, bad(ErrShort, "it has %d bytes: it is not whole", size)
	}
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return 0, cut(err)
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n > MaxHeader || n < 2 {
		return 0, bad(ErrFormat, "it does not begin as a safetensors file does%s", looksLike(head[:]))
	}
	if int64(n) > size-8 {
		return 0, bad(ErrShort, "it has %d bytes and its header alone takes %d: it is not whole", size, n+8)
	}
	text := make([]byte, n)
	if _, err := r.ReadAt(text, 8); err != nil {
		return 0, cut(err)
	}
	end, err := extent(text)
	if err != nil {
		return 0, err
	}
	switch have := size - 8 - int64(n); {
	case have < end:
		return 0, bad(ErrShort, "it has %d bytes and its header promises %d: it is not whole", size, size-have+end)
	case have > end:
		return 0, bad(ErrFormat, "it has %d bytes and its header promises %d: something else was added to it", size, size-have+end)
	}
	return end, nil
}

// extent is where the last tensor ends.
func extent(text []byte) (int64, error) {
	var all map[string]span
	if err := json.Unmarshal(text, &all); err != nil {
		return 0, bad(ErrFormat, "its header is no JSON object of tensors")
	}
	end := int64(0)
	for name, s := range all {
		if name == "__metadata__" {
			continue
		}
		if s.Offsets == nil || s.Offsets[0] < 0 || s.Offsets[1] < s.Offsets[0] || s.Offsets[1] > math.MaxInt64/2 {
			return 0, bad(ErrFormat, "its tensor %q lies nowhere", clip(name))
		}
		end = max(end, s.Offsets[1])
	}
	return end, nil
}

func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return bad(ErrShort, "it ends within its header: it is not whole")
	}
	return err
}

func looksLike(head []byte) string {
	switch s := string(head); {
	case strings.HasPrefix(s, "PK\x03\x04"), strings.HasPrefix(s, "\x80\x02"):
		return ": it is a pickle of PyTorch"
	case strings.HasPrefix(s, "version "):
		return ": it is a pointer of Git LFS, which stands for a file that was not fetched"
	case strings.HasPrefix(strings.TrimSpace(s), "<"):
		return ": it is a web page"
	case strings.HasPrefix(s, "GGUF"):
		return ": it is a GGUF file"
	}
	return ""
}

// Index gives the files that an index names, in order, each once. They stand
// beside it; an index that leads elsewhere is refused.
func Index(text []byte) ([]string, error) {
	if len(text) > MaxIndex {
		return nil, bad(ErrFormat, "the index has more than %d MiB", MaxIndex>>20)
	}
	var x struct {
		Map map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(text, &x); err != nil || len(x.Map) == 0 {
		return nil, bad(ErrFormat, "it is no index: it has no weight_map")
	}
	names := map[string]bool{}
	for _, f := range x.Map {
		if f == "" || f != path.Base(f) || strings.ContainsAny(f, `\`) || f == "." || f == ".." {
			return nil, bad(ErrFormat, "the index names %q, which is no file beside it", clip(f))
		}
		names[f] = true
	}
	if len(names) > maxFiles {
		return nil, bad(ErrFormat, "the index names %d files", len(names))
	}
	return slices.Sorted(maps.Keys(names)), nil
}

func clip(s string) string {
	const limit = 80
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}
