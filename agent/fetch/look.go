package fetch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/gguf"
	"llmgw.io/llmgw/internal/safetensors"
)

// look reads the headers of a set's files: what is cut off, is something else or
// lacks a part is said here, with the file's name, and not by an engine.
func (f *Fetcher) look(w Set, paths []string) error {
	if w.want.any {
		return nil
	}
	heads := map[string]gguf.Header{}
	for i, path := range paths {
		var err error
		switch {
		case strings.HasSuffix(path, ".safetensors.index.json"):
			err = lookIndex(path)
		case strings.HasSuffix(strings.ToLower(path), ".safetensors"):
			err = lookSafetensors(path)
		case w.want.pair && filepath.Base(path) == adapterConfig:
			err = lookConfig(path)
		case strings.HasSuffix(strings.ToLower(path), ".gguf") || i == 0 && w.want.gguf:
			var h gguf.Header
			if h, err = lookGGUF(path, w.want); err == nil {
				heads[path] = h
			}
		}
		if err != nil {
			return f.reject(w, path, err)
		}
	}
	return lookParts(heads)
}

// reject forgets a fetched file that is no good, so that it is fetched again
// when it is wanted again: its source may have been mended.
func (f *Fetcher) reject(w Set, path string, err error) error {
	var fail *Error
	if !errors.As(err, &fail) || !fail.broken || w.local() {
		return err
	}
	_ = os.Remove(path)
	_ = os.Remove(path + noteSuffix)
	return err
}

// content is a failure of what is in a file.
func content(path string, err error) error {
	e := failed(protocol.CauseModel, fmt.Sprintf("the file %s cannot be used: %s; fetch or copy it again", path, problemText(err)))
	e.broken = true
	return e
}

func problemText(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

func open(path string) (*os.File, int64, error) {
	file, err := os.Open(path)
	if err == nil {
		var info os.FileInfo
		if info, err = file.Stat(); err == nil {
			return file, info.Size(), nil
		}
		_ = file.Close()
	}
	return nil, 0, failed(protocol.CauseFile, fmt.Sprintf("the file %s cannot be read: %s; check its owner, its mode and its disk", path, problemText(err)))
}

func lookGGUF(path string, w want) (gguf.Header, error) {
	file, size, err := open(path)
	if err != nil {
		return gguf.Header{}, err
	}
	defer file.Close()
	h, err := gguf.Read(file, size)
	if err != nil {
		return gguf.Header{}, content(path, err)
	}
	return h, kindOf(path, h, w)
}

// kindOf wants a GGUF file to be what the definition uses it for.
func kindOf(path string, h gguf.Header, w want) error {
	wrong := func(format string) error { return failed(protocol.CauseModel, fmt.Sprintf(format, path)) }
	switch {
	case h.Projector():
		return wrong("the file %s is the part of a model for pictures or sound (mmproj) and no model; name the model itself as the source")
	case h.Matrix():
		return wrong("the file %s is a table for those who quantize (imatrix) and no model; name the model itself as the source")
	case w.adapter && !h.Adapter():
		return wrong("the file %s is a model and no adapter; correct the adapters of the definition")
	case !w.adapter && h.Adapter():
		return wrong("the file %s is an adapter and no model; name the model as the source, and this file under adapters")
	}
	return nil
}

func lookSafetensors(path string) error {
	file, size, err := open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := safetensors.Read(file, size); err != nil {
		return content(path, err)
	}
	return nil
}

// mostConfig is the most that an adapter's configuration may have.
const mostConfig = 1 << 20

// lookConfig wants an adapter's configuration to be one.
func lookConfig(path string) error {
	file, size, err := open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	text := make([]byte, min(size, mostConfig+1))
	if _, err := file.ReadAt(text, 0); err != nil {
		return content(path, err)
	}
	var c map[string]any
	if len(text) > mostConfig || json.Unmarshal(text, &c) != nil {
		return content(path, errors.New("it is no JSON object, as the configuration of an adapter is"))
	}
	return nil
}

// lookIndex wants every file that an index names beside it.
func lookIndex(path string) error {
	file, size, err := open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if size > safetensors.MaxIndex {
		return content(path, errors.New("an index is not that long"))
	}
	text := make([]byte, size)
	if _, err := file.ReadAt(text, 0); err != nil {
		return content(path, err)
	}
	names, err := safetensors.Index(text)
	if err != nil {
		return content(path, err)
	}
	for _, name := range names {
		info, err := os.Stat(filepath.Join(filepath.Dir(path), name))
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
			return failed(protocol.CauseFile, fmt.Sprintf("%s is missing beside %s, which names it; fetch or copy all files of the model", name, path))
		}
	}
	return nil
}

// lookParts wants the parts of a model together: all that its header counts, in
// the places that their names say.
func lookParts(heads map[string]gguf.Header) error {
	for path, h := range heads {
		m := splitName.FindStringSubmatch(filepath.Base(path))
		switch {
		case h.Split.Count < 2 && m == nil:
			continue
		case h.Split.Count < 2:
			return failed(protocol.CauseModel, fmt.Sprintf("the file %s is called a part of a model and is a whole one; give it a name without -of-", path))
		case m == nil:
			return failed(protocol.CauseModel, fmt.Sprintf("the file %s is part %d of %d of a model, and its name does not say so; give all parts the names that they had, -00001-of-%05d.gguf and on", path, h.Split.No+1, h.Split.Count, h.Split.Count))
		case m[2] != fmt.Sprintf("%05d", h.Split.No+1) || m[3] != fmt.Sprintf("%05d", h.Split.Count):
			return failed(protocol.CauseModel, fmt.Sprintf("the file %s is part %d of %d of a model by its header and another by its name; fetch or copy it again", path, h.Split.No+1, h.Split.Count))
		}
		tensors := 0
		for i := range h.Split.Count {
			part := filepath.Join(filepath.Dir(path), fmt.Sprintf("%s-%05d-of-%s.gguf", m[1], i+1, m[3]))
			other, ok := heads[part]
			if !ok {
				return failed(protocol.CauseFile, fmt.Sprintf("part %d of %d of the model is missing: %s; name all parts in the definition, or the first alone and no files", i+1, h.Split.Count, part))
			}
			tensors += other.Tensors
		}
		if h.Split.Tensors > 0 && tensors != h.Split.Tensors {
			return failed(protocol.CauseModel, fmt.Sprintf("the parts of %s have %d tensors together and should have %d: they are not of one model; fetch or copy all of them again", path, tensors, h.Split.Tensors))
		}
	}
	return nil
}

// SameArchitecture wants an adapter to be for the architecture of a model. What
// is no GGUF file is not looked into: engines that read others say so themselves.
// The error is an *Error.
func SameArchitecture(model, adapter string) error {
	if !strings.HasSuffix(model, ".gguf") || !strings.HasSuffix(adapter, ".gguf") {
		return nil
	}
	m, err := lookGGUF(model, want{})
	if err != nil {
		return nil //nolint:nilerr // the model was looked at before, and its engine will say what is wrong
	}
	a, err := lookGGUF(adapter, want{adapter: true})
	if err != nil {
		return err
	}
	if m.Architecture != "" && a.Architecture != "" && m.Architecture != a.Architecture {
		return failed(protocol.CauseModel, fmt.Sprintf("the adapter %s is for the architecture %s and the model is %s; use an adapter that was made for this model", adapter, a.Architecture, m.Architecture))
	}
	return nil
}
