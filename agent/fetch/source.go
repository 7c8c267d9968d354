package fetch

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"llmgw.io/llmgw/agent/protocol"
)

const (
	mirrorScheme = "mirror:"
	mirrorSource = "mirror://sha256:"
	hubScheme    = "hf://"
)

// splitName is how parts of one model are called.
var splitName = regexp.MustCompile(`^(.*)-(\d{5})-of-(\d{5})\.gguf$`)

// maxParts bounds what a name may make us fetch.
const maxParts = 1024

// expand turns a source of one name into its files: all parts, when the name is
// of one of several.
func (w Set) expand(source string) (Set, error) {
	switch {
	case strings.HasPrefix(source, hubScheme):
		r, err := parseRepo(source)
		if err != nil {
			return Set{}, err
		}
		w.hub = r
		return w, nil
	case strings.HasPrefix(source, mirrorScheme):
		f, err := wantFile("model.gguf", "", 0, []string{source})
		w.files = []setFile{f}
		return w, err
	case w.want.pair:
		return w.pair(source)
	}
	u, sum, err := splitSource(source)
	if err != nil {
		return Set{}, err
	}
	base := path.Base(u.Path)
	if err := noPickle(base); err != nil {
		return Set{}, err
	}
	parts, err := partNames(base)
	if err != nil {
		return Set{}, err
	}
	for _, name := range parts {
		part, hash := *u, ""
		if name == base {
			hash = sum
		} else {
			part.Path, part.RawPath = path.Join(path.Dir(u.Path), name), ""
		}
		f, err := wantFile(name, hash, 0, []string{part.String()})
		if err != nil {
			return Set{}, err
		}
		w.files = append(w.files, f)
	}
	return w, nil
}

// partNames are all parts of the model that a file is one of, or the file.
func partNames(base string) ([]string, error) {
	m := splitName.FindStringSubmatch(base)
	if m == nil {
		return []string{base}, nil
	}
	n, _ := strconv.Atoi(m[3])
	if n < 1 || n > maxParts {
		return nil, failed(protocol.CauseFile, fmt.Sprintf("%s says that it has %d parts, and at most %d are taken; check the source", clip(base), n, maxParts))
	}
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%s-%05d-of-%s.gguf", m[1], i+1, m[3]))
	}
	if !slices.Contains(out, base) {
		return nil, failed(protocol.CauseFile, fmt.Sprintf("%s is none of the %d parts that it names; check the source", clip(base), n))
	}
	return out, nil
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
		return nil, "", failed(protocol.CauseFetch, fmt.Sprintf("this agent cannot fetch from %q; use file:///…, https://…, hf://… or mirror://…", clip(u.Scheme)+"://"))
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
		if err := f.add(s); err != nil {
			return setFile{}, err
		}
	}
	if !strings.HasPrefix(f.from[0], "file:") && !validFileName(name) {
		return setFile{}, failed(protocol.CauseFile, fmt.Sprintf("%q cannot be the name of a file of weights; use letters, digits, '.', '_' and '-'", clip(name)))
	}
	return f, nil
}

// add takes one more source of a file.
func (f *setFile) add(source string) error {
	inner := ""
	switch {
	case strings.HasPrefix(source, hubScheme):
		f.from = append(f.from, source)
		return nil
	case strings.HasPrefix(source, mirrorScheme):
		var ok bool
		if inner, ok = strings.CutPrefix(source, mirrorSource); !ok || !validSum(inner) {
			return failed(protocol.CauseHash, fmt.Sprintf("the source %q names no content; write mirror://sha256: and 64 hexadecimal digits", clip(source)))
		}
		inner = strings.ToLower(inner)
		if f.sha256 == "" {
			f.sha256 = inner
		}
		// A model of several files has one source, and each file its own hash.
		f.from = append(f.from, mirrorSource+f.sha256)
		return nil
	}
	u, inner, err := splitSource(source)
	if err != nil {
		return err
	}
	if f.sha256 == "" {
		f.sha256 = inner
	}
	f.from = append(f.from, u.String())
	return nil
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

// beside is the URL of a file that stands beside a source, or is it. A source
// that is a folder has its files within.
func beside(source, name string) string {
	if strings.HasPrefix(source, mirrorScheme) {
		return source
	}
	u, err := url.Parse(source)
	if err != nil || path.Base(u.Path) == path.Base(name) {
		return source
	}
	dir := u.Path
	if isFile(dir) {
		dir = path.Dir(dir)
	}
	u.Path, u.RawPath, u.Fragment = path.Join(dir, name), "", ""
	return u.String()
}

// isFile reports whether a path ends like a file of weights, and not like a
// folder.
func isFile(p string) bool {
	ext := strings.ToLower(path.Ext(p))
	return ext == ".gguf" || ext == ".safetensors" || ext == ".json" || pickles[ext]
}

// clip keeps what others wrote short in our sentences.
func clip(s string) string {
	const limit = 200
	if len(s) > limit {
		return s[:limit] + "…"
	}
	return s
}
