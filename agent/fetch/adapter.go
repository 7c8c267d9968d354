package fetch

import (
	"fmt"
	"path"
	"strings"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
)

// The files of an adapter as vLLM wants them: by these names, in one folder.
const (
	adapterWeights = "adapter_model.safetensors"
	adapterConfig  = "adapter_config.json"
)

// Adapter says what an engine needs of one adapter on disk. llama.cpp takes one
// GGUF file; vLLM weights and their configuration, of which a source names the
// weights, or the folder that both are in. Its errors are an *Error.
func Adapter(f protocol.DesiredFile, engine catalog.Engine) (Set, error) {
	if len(f.From) == 0 {
		return Set{}, failed(protocol.CauseFile, fmt.Sprintf("adapter %s has no source; name one in its definition", clip(f.Name)))
	}
	w := Set{source: f.From[0], want: want{adapter: true, gguf: engine == catalog.EngineLlamaCPP, pair: engine == catalog.EngineVLLM}}
	if err := w.want.takes(f); err != nil {
		return Set{}, err
	}
	w, err := w.expand(f.From[0])
	if err != nil {
		return Set{}, err
	}
	if len(w.files) > 0 {
		if f.SHA256 != "" {
			w.files[0].sha256 = f.SHA256
		}
		w.files[0].bytes = f.Bytes
	}
	return w, nil
}

// takes refuses an adapter that is in another engine's form by its name.
func (w want) takes(f protocol.DesiredFile) error {
	source, _, _ := strings.Cut(f.From[0], "#")
	source, _, _ = strings.Cut(source, "?")
	ext := strings.ToLower(path.Ext(source))
	switch {
	case w.gguf && ext == ".safetensors":
		return failed(protocol.CauseModel, fmt.Sprintf("adapter %s is a safetensors file, and llama.cpp takes adapters as GGUF; convert it", clip(f.Name)))
	case w.pair && ext == ".gguf":
		return failed(protocol.CauseModel, fmt.Sprintf("adapter %s is a GGUF file, and vLLM takes adapters as a folder of %s and %s; name that", clip(f.Name), adapterWeights, adapterConfig))
	case w.pair && strings.HasPrefix(source, mirrorScheme):
		return failed(protocol.CauseModel, fmt.Sprintf("adapter %s is one file by its hash, and vLLM needs %s beside it; name a folder or a repository as its source", clip(f.Name), adapterConfig))
	}
	return nil
}

// pair are the two files of an adapter that a source names by its weights, its
// configuration or its folder. What is fetched gets the names that vLLM looks for;
// a file of this machine must have them.
func (w Set) pair(source string) (Set, error) {
	u, sum, err := splitSource(source)
	if err != nil {
		return Set{}, err
	}
	base := path.Base(u.Path)
	if err := noPickle(base); err != nil {
		return Set{}, err
	}
	local := u.Scheme == "file"
	weights, dir := adapterWeights, path.Dir(u.Path)
	switch {
	case base == adapterConfig:
	case strings.HasSuffix(strings.ToLower(base), ".safetensors"):
		if weights = base; local && base != adapterWeights {
			return Set{}, failed(protocol.CauseFile, fmt.Sprintf("vLLM looks for %s in an adapter's folder, and the source names %s; give the file that name", adapterWeights, clip(base)))
		}
	case local: // it is looked at where it is
		f, err := wantFile(base, sum, 0, []string{u.String()})
		w.files = []setFile{f}
		return w, err
	default:
		dir = u.Path
	}
	for _, name := range [...]struct{ here, there, sum string }{{adapterWeights, weights, sum}, {adapterConfig, adapterConfig, ""}} {
		part := *u
		part.Path, part.RawPath = path.Join(dir, name.there), ""
		f, err := wantFile(name.here, name.sum, 0, []string{part.String()})
		if err != nil {
			return Set{}, err
		}
		w.files = append(w.files, f)
	}
	return w, nil
}

// adapter are the files of an adapter in a repository, under the names they have
// there: two adapters of one repository must not meet.
func (p *picker) adapter(pair bool) ([]setFile, error) {
	dir := p.r.file
	switch base := path.Base(p.r.file); {
	case p.r.file != "" && !pair:
		return p.one()
	case base == adapterWeights || base == adapterConfig:
		dir = path.Dir(p.r.file)
	case isFile(base):
		return nil, failed(protocol.CauseFile, fmt.Sprintf("vLLM looks for %s in an adapter's folder, and the source names %s; name the folder or the repository", adapterWeights, clip(p.r.file)))
	}
	if dir == "" || dir == "." {
		files, err := p.folder([]string{adapterWeights}, false)
		if _, there := p.there[adapterConfig]; err == nil && pair && !there {
			err = p.missing(adapterConfig)
		}
		return files, err
	}
	var out []setFile
	for _, name := range [...]string{adapterWeights, adapterConfig} {
		sum := ""
		if path.Base(p.r.file) == name {
			sum = p.r.sum
		}
		f, err := p.take(path.Join(dir, name), path.Join(dir, name), sum, 0)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}
