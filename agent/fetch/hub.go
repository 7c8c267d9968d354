package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/durable"
	"llmgw.io/llmgw/internal/safedial"
)

// Hub is where hf:// sources are found: the hub itself, or a mirror that speaks
// its API. The zero value has none.
type Hub struct {
	// Endpoint is its address, "https://huggingface.co". Empty: hf:// sources are
	// refused.
	Endpoint string `json:"endpoint,omitempty"`
	// TokenFile is an absolute path of a file with a secret, which is sent to the
	// endpoint's host alone. It is read whenever it is needed, so it may be replaced.
	// Empty: none.
	TokenFile string `json:"token_file,omitempty"`
}

// repo is a repository of a hub, or some files of it.
type repo struct {
	id, rev string
	// file is the one that is wanted, or a part of what is. Empty: the model.
	file, sum string
	// named are the files that a definition names, with from the paths there.
	named []setFile
}

var (
	repoName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,95}$`)
	revision = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
	commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// parseRepo reads hf://org/name@revision/file, of which the last two may be left
// out.
func parseRepo(source string) (*repo, error) {
	wrong := failed(protocol.CauseFetch, fmt.Sprintf("the source %q is no repository; write hf://org/name@revision, or hf://org/name@revision/file", clip(source)))
	s, fragment, _ := strings.Cut(strings.TrimPrefix(source, hubScheme), "#")
	org, rest, ok := strings.Cut(s, "/")
	name, file, _ := strings.Cut(rest, "/")
	name, rev, pinned := strings.Cut(name, "@")
	if !pinned {
		rev = "main"
	}
	if !ok || !repoName.MatchString(org) || !repoName.MatchString(name) || !revision.MatchString(rev) || file != "" && !validFileName(file) {
		return nil, wrong
	}
	r := &repo{id: org + "/" + name, rev: rev, file: file}
	if fragment != "" {
		sum, ok := strings.CutPrefix(fragment, "sha256=")
		if !ok || !validSum(sum) || file == "" {
			return nil, failed(protocol.CauseHash, "what follows # in the source must be sha256= and 64 hexadecimal digits, of one file")
		}
		r.sum = strings.ToLower(sum)
	}
	return r, nil
}

func (r *repo) key(w want) string {
	var b strings.Builder
	fmt.Fprintf(&b, "hub\x00%s\x00%s\x00%s\x00%s\x00%v\x00%v\x00%v", r.id, r.rev, r.file, r.sum, w.gguf, w.adapter, w.pair)
	for _, f := range r.named {
		fmt.Fprintf(&b, "\x00%s\x00%s", f.from[0], f.sha256)
	}
	return hashed(b.String())
}

// found is what a hub said of a repository, kept so that a node which has the
// files needs no hub to start an engine.
type found struct {
	Commit string      `json:"commit"`
	Files  []foundFile `json:"files"`
}

type foundFile struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256,omitempty"`
	Blob   string `json:"blob,omitempty"`
	Bytes  int64  `json:"bytes"`
}

// resolve asks a hub for the files of a repository; other sets are whole as they
// are. What is pinned to a commit is asked for once.
func (f *Fetcher) resolve(ctx context.Context, w Set, fl *flight) (Set, error) {
	if w.hub == nil {
		return w, nil
	}
	path := filepath.Join(f.cfg.Dir, hubFolder, w.key()+".json")
	var kept found
	have, err := durable.ReadJSON(path, &kept)
	have = have && err == nil && commitID.MatchString(kept.Commit)
	if have && w.hub.rev == kept.Commit {
		return f.settled(w, kept)
	}
	if f.cfg.Hub.Endpoint == "" && !have {
		return Set{}, failed(protocol.CauseFetch, fmt.Sprintf("this agent knows no hub for %s; set hub.endpoint in its configuration, to https://huggingface.co or to a mirror of it", w.shown()))
	}
	now, err := f.askHub(ctx, w, fl)
	var final *Error
	switch {
	case err == nil:
		if err := f.keep(path, now); err != nil {
			return Set{}, diskFailure(err, f.cfg.Dir)
		}
		return f.settled(w, now)
	case have && ctx.Err() == nil && !errors.As(err, &final):
		f.cfg.Logger.Warn("the hub does not answer; what it said before is used", "source", w.shown(), "commit", kept.Commit, "err", err)
		return f.settled(w, kept)
	case errors.As(err, &final), ctx.Err() != nil:
		return Set{}, err
	}
	return Set{}, failed(protocol.CauseFetch, fmt.Sprintf("the hub cannot be asked for %s: %v; check hub.endpoint in the agent's configuration and the network of this node", w.shown(), err))
}

// settled is the set that a hub's word makes.
func (f *Fetcher) settled(w Set, at found) (Set, error) {
	files, err := pickFiles(w.hub, at, w.want)
	if err != nil {
		return Set{}, err
	}
	base := strings.TrimSuffix(f.cfg.Hub.Endpoint, "/")
	for i := range files {
		segments := strings.Split(files[i].from[0], "/")
		for j := range segments {
			segments[j] = url.PathEscape(segments[j])
		}
		files[i].from = []string{base + "/" + w.hub.id + "/resolve/" + at.Commit + "/" + strings.Join(segments, "/")}
	}
	return Set{files: files, dir: hashed("hub\x00" + w.hub.id + "\x00" + at.Commit), source: w.source, want: w.want}, nil
}

// hubTries is how often a hub is asked before what it said before is taken.
const hubTries = 4

// askHub asks which commit a revision is and what is in it.
func (f *Fetcher) askHub(ctx context.Context, w Set, fl *flight) (found, error) {
	wait := f.cfg.Retry
	for try := 1; ; try++ {
		at, err := f.askHubOnce(ctx, w.hub)
		var final *Error
		if err == nil || errors.As(err, &final) || ctx.Err() != nil || try == hubTries || f.cfg.Hub.Endpoint == "" {
			return at, err
		}
		fl.stuck(fmt.Sprintf("the hub is asked again: %v", err))
		select {
		case <-ctx.Done():
			return found{}, ctx.Err()
		case <-time.After(wait):
		}
		wait *= 2
	}
}

// Bounds of a hub's answers.
const (
	maxHubPage  = 8 << 20
	maxHubPages = 40
	maxHubFiles = 20000
)

func (f *Fetcher) askHubOnce(ctx context.Context, r *repo) (found, error) {
	if f.cfg.Hub.Endpoint == "" {
		return found{}, errors.New("this agent knows no hub")
	}
	api := strings.TrimSuffix(f.cfg.Hub.Endpoint, "/") + "/api/models/" + r.id
	var info struct {
		SHA string `json:"sha"`
	}
	if _, err := f.hubJSON(ctx, api+"/revision/"+url.PathEscape(r.rev), r, &info); err != nil {
		return found{}, err
	}
	if !commitID.MatchString(info.SHA) {
		return found{}, failed(protocol.CauseFetch, fmt.Sprintf("the hub does not say which commit %s of %s is; is hub.endpoint a hub?", r.rev, r.id))
	}
	at := found{Commit: info.SHA}
	next := api + "/tree/" + info.SHA + "?recursive=true&expand=false"
	for page := 0; next != ""; page++ {
		if page == maxHubPages || len(at.Files) > maxHubFiles {
			return found{}, failed(protocol.CauseFetch, fmt.Sprintf("%s has more files than are looked at; name the file in the source", r.id))
		}
		var entries []treeEntry
		link, err := f.hubJSON(ctx, next, r, &entries)
		if err != nil {
			return found{}, err
		}
		for _, e := range entries {
			if e.Type == "file" {
				at.Files = append(at.Files, e.file())
			}
		}
		next = link
	}
	return at, nil
}

// treeEntry is one file as a hub lists it.
type treeEntry struct {
	Type string `json:"type"`
	Path string `json:"path"`
	Size int64  `json:"size"`
	OID  string `json:"oid"`
	LFS  *struct {
		OID  string `json:"oid"`
		Size int64  `json:"size"`
	} `json:"lfs"`
}

func (e treeEntry) file() foundFile {
	if e.LFS != nil {
		return foundFile{Path: e.Path, SHA256: strings.ToLower(strings.TrimPrefix(e.LFS.OID, "sha256:")), Bytes: e.LFS.Size}
	}
	f := foundFile{Path: e.Path, Bytes: e.Size}
	if commitID.MatchString(e.OID) {
		f.Blob = e.OID
	}
	return f
}

// hubJSON gets one answer, and the address of the next page of it.
func (f *Fetcher) hubJSON(ctx context.Context, address string, r *repo, out any) (next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.cfg.Stall)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", failed(protocol.CauseFetch, "hub.endpoint in the agent's configuration is no address; write https://host")
	}
	resp, err := f.do(req)
	if err != nil {
		var final *Error
		if errors.As(err, &final) {
			return "", err
		}
		if text, refused := policyRefusal(err); refused {
			return "", failed(protocol.CauseFetch, text)
		}
		return "", safedial.Plain(err)
	}
	defer resp.Body.Close()
	if err := hubStatus(resp, r); err != nil {
		return "", err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxHubPage+1))
	if err != nil {
		return "", safedial.Plain(err)
	}
	if len(body) > maxHubPage || json.Unmarshal(body, out) != nil {
		return "", failed(protocol.CauseFetch, fmt.Sprintf("the hub's answer about %s cannot be read; is hub.endpoint a hub?", r.id))
	}
	link := resp.Header.Get("Link")
	next = nextPage(link, address)
	if next == "" && linkNext.MatchString(link) {
		return "", failed(protocol.CauseFetch, fmt.Sprintf("the hub's list of %s goes on at another server, which is not asked; have the mirror at hub.endpoint write its own address into its links", r.id))
	}
	return next, nil
}

func hubStatus(resp *http.Response, r *repo) error {
	switch s := resp.StatusCode; {
	case s == http.StatusOK:
		return nil
	case s == http.StatusTooManyRequests || s == http.StatusRequestTimeout || s >= 500:
		return &retryAfter{status: s}
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		return failed(protocol.CauseFetch, fmt.Sprintf("the hub answers %d for %s: it wants a token, or a licence that was not accepted; accept it there, and give the agent a token (hub.token_file)", s, r.id))
	case s == http.StatusNotFound && resp.Header.Get("X-Error-Code") == "RevisionNotFound":
		e := failed(protocol.CauseFetch, fmt.Sprintf("%s has no revision %s; check the source in the definition", r.id, r.rev))
		e.gone = true
		return e
	default:
		e := failed(protocol.CauseFetch, fmt.Sprintf("the hub answers %d for %s at %s; check the source in the definition", s, r.id, r.rev))
		e.gone = s == http.StatusNotFound
		return e
	}
}

var linkNext = regexp.MustCompile(`<([^<>]+)>\s*;\s*rel="?next"?`)

// nextPage is the address of the next page, if it is at the same server: a hub
// does not send us elsewhere.
func nextPage(link, from string) string {
	m := linkNext.FindStringSubmatch(link)
	if m == nil {
		return ""
	}
	base, err := url.Parse(from)
	if err != nil {
		return ""
	}
	u, err := base.Parse(m[1])
	if err != nil || u.Host != base.Host || u.Scheme != base.Scheme {
		return ""
	}
	return u.String()
}
