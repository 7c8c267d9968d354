package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"llmgw.io/llmgw/agent/protocol"
)

// Set is files that belong together, in one folder on disk: an engine finds the
// parts of a model beside its first. The zero Set has none. It never changes.
type Set struct {
	files []setFile
}

// file is one file to have.
type setFile struct {
	// name is relative to the set's folder, with slashes.
	name   string
	sha256 string
	bytes  int64
	// from are https or http URLs in order, or one file URL.
	from []string
}

// local reports whether the files are used where they are.
func (w Set) local() bool {
	return len(w.files) > 0 && strings.HasPrefix(w.files[0].from[0], "file:")
}

// key names the set by all that decides its content.
func (w Set) key() string {
	var b strings.Builder
	for _, f := range w.files {
		from := f.from[0]
		if f.sha256 != "" {
			from = "sha256:" + f.sha256
		}
		fmt.Fprintf(&b, "%s\x00%s\x00", f.name, from)
	}
	sum := sha256.Sum256([]byte(b.String()))
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

// shown is a source without what may be a secret in its query.
func shown(source string) string {
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
	if len(d.Files) == 0 {
		if d.Source == "" {
			return Set{}, nil
		}
		return expand(d.Source)
	}
	var w Set
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
	return w, nil
}

// Adapter says what one adapter needs on disk. Its errors are an *Error.
func Adapter(f protocol.DesiredFile) (Set, error) {
	if len(f.From) == 0 {
		return Set{}, failed(protocol.CauseFile, fmt.Sprintf("adapter %s has no source; name one in its definition", clip(f.Name)))
	}
	w, err := expand(f.From[0])
	if err != nil {
		return Set{}, err
	}
	if f.SHA256 != "" {
		w.files[0].sha256 = f.SHA256
	}
	w.files[0].bytes = f.Bytes
	return w, nil
}

// splitName is how parts of one model are called.
var splitName = regexp.MustCompile(`^(.*)-(\d{5})-of-(\d{5})\.gguf$`)

// maxParts bounds what a name may make us fetch.
const maxParts = 1024

// expand turns a source of one name into its files: all parts, when the name is
// of one of several.
func expand(source string) (Set, error) {
	u, sum, err := splitSource(source)
	if err != nil {
		return Set{}, err
	}
	base := path.Base(u.Path)
	m := splitName.FindStringSubmatch(base)
	if m == nil {
		f, err := wantFile(base, sum, 0, []string{u.String()})
		return Set{files: []setFile{f}}, err
	}
	n, _ := strconv.Atoi(m[3])
	if n < 1 || n > maxParts {
		return Set{}, failed(protocol.CauseFile, fmt.Sprintf("%s says that it has %d parts, and at most %d are taken; check the source", clip(base), n, maxParts))
	}
	var w Set
	for i := 1; i <= n; i++ {
		name := fmt.Sprintf("%s-%05d-of-%s.gguf", m[1], i, m[3])
		part := *u
		part.Path, part.RawPath = path.Join(path.Dir(u.Path), name), ""
		hash := ""
		if name == base {
			hash = sum
		}
		f, err := wantFile(name, hash, 0, []string{part.String()})
		if err != nil {
			return Set{}, err
		}
		w.files = append(w.files, f)
	}
	return w, nil
}

// splitSource reads a source and the hash in its fragment
// ("https://…#sha256=…").
func splitSource(source string) (*url.URL, string, error) {
	u, err := url.Parse(source)
	if err != nil || u.Path == "" {
		return nil, "", failed(protocol.CauseFetch, fmt.Sprintf("the source %q is no URL; write file:///… or https://…", clip(source)))
	}
	switch u.Scheme {
	case "file", "https", "http":
	default:
		return nil, "", failed(protocol.CauseFetch, fmt.Sprintf("this agent cannot fetch from %q; use file:///… or https://…", clip(u.Scheme)+"://"))
	}
	if u.User != nil {
		return nil, "", failed(protocol.CauseFetch, "the source holds a name or a password; sources are shown to everybody, so put the file where none is needed")
	}
	sum := ""
	if u.Fragment != "" {
		var ok bool
		if sum, ok = strings.CutPrefix(u.Fragment, "sha256="); !ok || !validSum(sum) {
			return nil, "", failed(protocol.CauseHash, "what follows # in the source must be sha256= and 64 hexadecimal digits")
		}
	}
	u.Fragment, u.RawFragment = "", ""
	return u, strings.ToLower(sum), nil
}

// wantFile checks one file of a set.
func wantFile(name, sum string, bytes int64, from []string) (setFile, error) {
	if sum != "" && !validSum(sum) {
		return setFile{}, failed(protocol.CauseHash, fmt.Sprintf("the hash of %s must be 64 hexadecimal digits", clip(name)))
	}
	f := setFile{name: name, sha256: strings.ToLower(sum), bytes: bytes}
	for _, s := range from {
		u, inner, err := splitSource(s)
		if err != nil {
			return setFile{}, err
		}
		if f.sha256 == "" {
			f.sha256 = inner
		}
		f.from = append(f.from, u.String())
	}
	if !strings.HasPrefix(f.from[0], "file:") && !validFileName(name) {
		return setFile{}, failed(protocol.CauseFile, fmt.Sprintf("%q cannot be the name of a file of weights; use letters, digits, '.', '_' and '-'", clip(name)))
	}
	return f, nil
}

var fileNamePart = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]{0,199}$`)

// validFileName lets in names that mean the same on every file system and lead
// nowhere else.
func validFileName(name string) bool {
	if len(name) > 500 || !filepath.IsLocal(filepath.FromSlash(name)) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if !fileNamePart.MatchString(part) || strings.HasSuffix(part, partSuffix) || strings.HasSuffix(part, noteSuffix) {
			return false
		}
	}
	return true
}

func validSum(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32
}

// beside is the URL of a file that stands beside a source, or is it.
func beside(source, name string) string {
	u, err := url.Parse(source)
	if err != nil || path.Base(u.Path) == path.Base(name) {
		return source
	}
	u.Path, u.RawPath, u.Fragment = path.Join(path.Dir(u.Path), name), "", ""
	return u.String()
}

// clip keeps what others wrote short in our sentences.
func clip(s string) string {
	const limit = 200
	if len(s) > limit {
		return s[:limit] + "…"
	}
	return s
}
