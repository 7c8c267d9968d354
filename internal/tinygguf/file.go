package tinygguf

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// content is one file: its header and its tensors.
type content struct {
	meta    []kv
	tensors []tensor
	sparse  bool
	cut     int64
}

// Write writes the model that o describes to path, or beside it when o splits
// it. A file appears under its name only when it is whole; what was there
// before is replaced.
func Write(path string, o Options) error {
	s, err := newSpec(o)
	if err != nil {
		return err
	}
	parts, err := s.parts()
	if err != nil {
		return err
	}
	for i, name := range fileNames(path, s.Split) {
		if err := writeFile(name, parts[i]); err != nil {
			return err
		}
	}
	return nil
}

func fileNames(path string, n int) []string {
	if n == 1 {
		return []string{path}
	}
	base := strings.TrimSuffix(path, ".gguf")
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%05d-of-%05d.gguf", base, i+1, n)
	}
	return names
}

// parts shares the model out over its files by size. Only the first carries
// the model's header; each says which part of how many it is.
func (s *spec) parts() ([]content, error) {
	ts, n := s.tensors(), s.Split
	if n == 1 {
		return []content{{meta: s.meta(), tensors: ts, sparse: s.Sparse, cut: s.Cut}}, nil
	}
	if n > len(ts) {
		return nil, fmt.Errorf("tinygguf: cannot split %d tensors into %d files: ask for fewer files or more layers", len(ts), n)
	}
	var total, sum int64
	for _, t := range ts {
		total += t.bytes()
	}
	parts := make([]content, n)
	for i := range parts {
		if i == 0 {
			parts[i].meta = s.meta()
		}
		parts[i].meta = append(parts[i].meta, kv{"split.no", uint16(i)}, kv{"split.count", uint16(n)}, kv{"split.tensors.count", int32(len(ts))})
		parts[i].sparse = s.Sparse
	}
	parts[n-1].cut = s.Cut
	for i, t := range ts {
		p := min(int(sum*int64(n)/total), n-1)
		p = max(p, n-(len(ts)-i)) // Leave none empty.
		parts[p].tensors = append(parts[p].tensors, t)
		sum += t.bytes()
	}
	return parts, nil
}

func writeFile(path string, c content) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".tinygguf-*")
	if err != nil {
		return fmt.Errorf("tinygguf: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("tinygguf: write %s: %w", path, err), os.Remove(f.Name()))
		}
	}()
	size, err := writeContent(f, c)
	if err == nil {
		err = f.Truncate(max(0, size-c.cut))
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// writeContent writes header and weights, and returns the size that the file
// has or, when sparse, is to have.
func writeContent(f *os.File, c content) (int64, error) {
	w := &writer{w: bufio.NewWriterSize(f, 1<<20)}
	w.raw([]byte("GGUF"))
	w.u32(3)
	w.u64(uint64(len(c.tensors)))
	w.u64(uint64(len(c.meta)))
	for _, e := range c.meta {
		w.str(e.key)
		w.value(e.value)
	}
	room := w.directory(c.tensors)
	w.zeros(pad(w.n) - w.n)
	if c.sparse {
		w.n += room
	} else {
		for _, t := range c.tensors {
			w.tensor(t)
		}
	}
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.n, w.err
}
