package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"strings"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
)

// Set is files that belong together, in one folder on disk: an engine finds the
// parts of a model beside its first. The zero Set has none. It never changes.
type Set struct {
	files []setFile
	// hub is a repository whose files are known once its hub was asked. Nil: they
	// are in files.
	hub *repo
	// dir names the folder on disk. Empty: it is named by key.
	dir string
	// source is what the definition says; it is shown without its query.
	source string
	want   want
}

// want is what an engine needs files to be.
type want struct {
	// any: nobody looks into the files.
	any bool
	// adapter: the files are an adapter and no model.
	adapter bool
	// pair: the adapter is weights and their configuration, in one folder.
	pair bool
	// gguf: the engine reads GGUF alone.
	gguf bool
}

// file is one file to have.
type setFile struct {
	// name is relative to the set's folder, with slashes.
	name   string
	sha256 string
	// blob is git's hash of the file, for files that a hub gives no other of.
	blob  string
	bytes int64
	// from are https, http or mirror URLs in order, or one file URL.
	from []string
}

// empty reports whether nothing is needed.
func (w Set) empty() bool { return len(w.files) == 0 && w.hub == nil }

// local reports whether the files are used where they are.
func (w Set) local() bool {
	return len(w.files) > 0 && strings.HasPrefix(w.files[0].from[0], "file:")
}

// key names the set by all that decides its content.
func (w Set) key() string {
	if w.hub != nil {
		return w.hub.key(w.want)
	}
	if w.dir != "" {
		return w.dir
	}
	var b strings.Builder
	for _, f := range w.files {
		from := f.from[0]
		if f.sha256 != "" {
			from = "sha256:" + f.sha256
		}
		fmt.Fprintf(&b, "%s\x00%s\x00", f.name, from)
	}
	return hashed(b.String())
}

func hashed(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// bytes is the declared size of the set. Zero: a file's is unknown.
func (w Set) bytes() int64 {
	var n int64
	for _, f := range w.files {
		if f.bytes == 0 {
			return 0
		}
		n += f.bytes
	}
	return n
}

// shown is the set's source for people.
func (w Set) shown() string {
	if w.source != "" || len(w.files) == 0 {
		return shown(w.source)
	}
	return shown(w.files[0].from[0])
}

// shown is a source without what may be a secret in its query.
func shown(source string) string {
	if strings.HasPrefix(source, mirrorScheme) {
		return clip(source)
	}
	u, err := url.Parse(source)
	if err != nil {
		return ""
	}
	u.RawQuery, u.User = "", nil
	return u.String()
}

// Weights says what a shard needs on disk; one without a source needs nothing.
// Its errors are an *Error whose sentence names the source.
func Weights(d protocol.DesiredShard) (Set, error) {
	w := Set{source: d.Source, want: want{any: d.Engine == catalog.EngineSim, gguf: d.Engine == catalog.EngineLlamaCPP}}
	if len(d.Files) == 0 {
		if d.Source == "" {
			return Set{}, nil
		}
		return w.expand(d.Source)
	}
	for _, f := range d.Files {
		from := f.From
		if len(from) == 0 {
			from = []string{beside(d.Source, f.Path)}
		}
		wf, err := wantFile(f.Path, f.SHA256, f.Bytes, from)
		if err != nil {
			return Set{}, err
		}
		w.files = append(w.files, wf)
	}
	return w, w.oneHub()
}

// oneHub turns files that are all in one repository into that repository with
// files of it: a hub has to be asked for the commit they are of.
func (w *Set) oneHub() error {
	for i, f := range w.files {
		if !strings.HasPrefix(f.from[0], hubScheme) {
			if w.hub != nil {
				return failed(protocol.CauseFile, "some files come from a hub and some from elsewhere; name one source for all of them")
			}
			continue
		}
		r, err := parseRepo(f.from[0])
		if err != nil {
			return err
		}
		switch {
		case i == 0:
			w.hub = r
		case w.hub == nil || w.hub.id != r.id || w.hub.rev != r.rev:
			return failed(protocol.CauseFile, "the files come from several repositories; name one source for all of them")
		}
		w.hub.named = append(w.hub.named, setFile{name: f.name, sha256: f.sha256, bytes: f.bytes, from: []string{r.file}})
	}
	if w.hub != nil {
		w.hub.file, w.files = "", nil
	}
	return nil
}

// pickles are formats that run code when they are loaded.
var pickles = map[string]bool{".bin": true, ".pt": true, ".pth": true, ".ckpt": true, ".pkl": true, ".pickle": true}

// noPickle refuses a file that runs code when it is loaded, unless the
// definition names it among its files: whoever does that has said so.
func noPickle(name string) error {
	if !pickles[strings.ToLower(path.Ext(name))] {
		return nil
	}
	return failed(protocol.CauseModel, fmt.Sprintf("%s is a pickle, which runs code when it is loaded; use safetensors or GGUF, or name it under files in the definition if you trust it", clip(name)))
}
