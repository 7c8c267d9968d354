package fetch

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"llmgw.io/llmgw/agent/protocol"
)

// pickFiles are the files of a repository that a set needs, weights first, with
// their paths there as from. Pure.
func pickFiles(r *repo, at found, w want) ([]setFile, error) {
	there := make(map[string]foundFile, len(at.Files))
	for _, f := range at.Files {
		if validFileName(f.Path) && f.Bytes >= 0 {
			there[f.Path] = f
		}
	}
	p := picker{r: r, there: there}
	switch {
	case len(r.named) > 0:
		return p.named()
	case w.adapter && !w.gguf:
		return p.adapter(w.pair)
	case r.file != "":
		return p.one()
	case w.gguf:
		return p.gguf()
	}
	return p.model()
}

type picker struct {
	r     *repo
	there map[string]foundFile
}

func (p *picker) missing(name string) error {
	return failed(protocol.CauseFile, fmt.Sprintf("%s at %s has no file %s; check the source in the definition", p.r.id, p.r.rev, clip(name)))
}

// take is one file there, under a name here.
func (p *picker) take(at, name, sum string, bytes int64) (setFile, error) {
	f, ok := p.there[at]
	if !ok {
		return setFile{}, p.missing(at)
	}
	if sum != "" && f.SHA256 != "" && sum != f.SHA256 || bytes > 0 && bytes != f.Bytes {
		return setFile{}, failed(protocol.CauseHash, fmt.Sprintf("%s of %s at %s is not the file that the definition names: it has %d bytes and the hash %s; correct the definition or the revision", clip(at), p.r.id, p.r.rev, f.Bytes, f.SHA256))
	}
	return setFile{name: name, sha256: cmp.Or(f.SHA256, sum), blob: f.Blob, bytes: f.Bytes, from: []string{at}}, nil
}

func (p *picker) named() ([]setFile, error) {
	var out []setFile
	for _, n := range p.r.named {
		f, err := p.take(n.from[0], n.name, n.sha256, n.bytes)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// one is the named file, with all parts of the model that it is a part of.
func (p *picker) one() ([]setFile, error) {
	dir, base := path.Split(p.r.file)
	if err := noPickle(base); err != nil {
		return nil, err
	}
	parts, err := partNames(base)
	if err != nil {
		return nil, err
	}
	var out []setFile
	for _, name := range parts {
		sum := ""
		if name == base {
			sum = p.r.sum
		}
		f, err := p.take(dir+name, name, sum, 0)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// gguf is the only GGUF model there is.
func (p *picker) gguf() ([]setFile, error) {
	var models []string
	for name := range p.there {
		base := path.Base(name)
		if !strings.HasSuffix(base, ".gguf") || strings.HasPrefix(strings.ToLower(base), "mmproj") {
			continue
		}
		if m := splitName.FindStringSubmatch(base); m == nil || m[2] == "00001" {
			models = append(models, name)
		}
	}
	slices.Sort(models)
	if len(models) == 1 {
		one := picker{r: &repo{id: p.r.id, rev: p.r.rev, file: models[0]}, there: p.there}
		return one.one()
	}
	if len(models) == 0 {
		return nil, failed(protocol.CauseFile, fmt.Sprintf("%s at %s has no GGUF file, and the engine reads no other; name a repository that has one", p.r.id, p.r.rev))
	}
	return nil, failed(protocol.CauseFile, fmt.Sprintf("%s at %s has %d GGUF models; name one in the source: %s", p.r.id, p.r.rev, len(models), few(models)))
}

// model is a folder of safetensors with what an engine reads beside them.
func (p *picker) model() ([]setFile, error) {
	var weights []string
	pickled := false
	for name := range p.there {
		pickled = pickled || pickles[path.Ext(name)]
		if path.Dir(name) == "." && path.Ext(name) == ".safetensors" {
			weights = append(weights, name)
		}
	}
	// Some repositories have a second copy in another layout.
	if rest := slices.DeleteFunc(slices.Clone(weights), consolidated); len(rest) > 0 {
		weights = rest
	}
	if len(weights) == 0 && pickled {
		return nil, failed(protocol.CauseModel, fmt.Sprintf("%s at %s has its weights as pickles alone, which run code when they are loaded; choose one with safetensors, or name them under files in the definition if you trust them", p.r.id, p.r.rev))
	}
	if len(weights) == 0 {
		return p.gguf()
	}
	return p.folder(weights, true)
}

func consolidated(name string) bool { return strings.HasPrefix(name, "consolidated") }

// folder are weights with the small files that are read with them. Programs are
// left out: an engine is not let run any.
func (p *picker) folder(weights []string, deep bool) ([]setFile, error) {
	slices.Sort(weights)
	var beside []string
	for name, f := range p.there {
		if (deep || path.Dir(name) == ".") && besideWeights(name, f.Bytes) {
			beside = append(beside, name)
		}
	}
	slices.Sort(beside)
	var out []setFile
	for _, name := range slices.Concat(weights, beside) {
		f, err := p.take(name, name, "", 0)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// mostBeside is the most that a file beside weights may have: vocabularies have
// some tens of MB.
const mostBeside = 256 << 20

// besideWeights reports whether a file is one that engines read beside weights.
func besideWeights(name string, bytes int64) bool {
	if bytes == 0 || bytes > mostBeside {
		return false
	}
	switch path.Ext(name) {
	case ".json":
		return true
	case ".txt", ".model", ".tiktoken", ".jinja":
		return path.Dir(name) == "."
	}
	return false
}

func few(names []string) string {
	const most = 8
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
