package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/gguf"
	"llmgw.io/llmgw/internal/safetensors"
)

// Looker looks into weights where they lie and fetches none: into their headers,
// by ranges. What it finds wrong a node would find wrong after hours. It keeps
// nothing, and may be used at once.
type Looker struct{ f *Fetcher }

// NewLooker checks the configuration, of which it wants no folder.
func NewLooker(cfg Config) (*Looker, error) {
	cfg.Dir = "/" // nothing is written
	f, err := New(cfg)
	if err != nil {
		return nil, err
	}
	return &Looker{f}, nil
}

// Seen is what a look at a set found.
type Seen struct {
	// Blind says that nothing was looked at, and rightly: the files are on nodes, or
	// where this machine was not told to look.
	Blind bool
	// Architecture, Context and Layers are of the header of a GGUF file. Empty and
	// zero: there is none, or it does not say.
	Architecture    string
	Context, Layers int
	// Bytes is what all files have together. Zero: one does not say.
	Bytes int64
	// Wrong is what no node can do anything about.
	Wrong []Fault
	// Unsure is what could not be looked at, and why, as sentences. Nodes may see
	// more.
	Unsure []string
}

// Fault is one thing that is wrong with weights.
type Fault struct {
	// File is the file's name in the set. Empty: it is about all of them.
	File string
	// Text is a sentence with the next step.
	Text string
}

// lookAtOnce is how many files of a set are looked at at a time.
const lookAtOnce = 4

// Look looks at a set, for as long as ctx lets it.
func (l *Looker) Look(ctx context.Context, w Set) Seen {
	var s Seen
	if w.empty() || w.local() || w.want.any || w.hub != nil && l.f.cfg.Hub.Endpoint == "" {
		return Seen{Blind: true}
	}
	w, err := l.settle(ctx, w)
	if err != nil {
		s.take("", err)
		return s
	}
	found := make([]glance, len(w.files))
	var all sync.WaitGroup
	slots := make(chan struct{}, lookAtOnce)
	for i := range w.files {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			found[i] = l.file(ctx, w, i)
		})
	}
	all.Wait()
	s.gather(w, found)
	return s
}

// settle asks a hub for a repository's files.
func (l *Looker) settle(ctx context.Context, w Set) (Set, error) {
	if w.hub == nil {
		return w, nil
	}
	at, err := l.f.askHubOnce(ctx, w.hub)
	if err != nil {
		return Set{}, err
	}
	return l.f.settled(w, at)
}

// glance is what was seen of one file.
type glance struct {
	// size is -1 where nobody says.
	size int64
	// head is of a GGUF file. Nil: it is none, or could not be read.
	head *gguf.Header
	err  error
}

// file looks at one file, at the first of its places that has it.
func (l *Looker) file(ctx context.Context, w Set, i int) glance {
	file := w.files[i]
	if w.dir != "" && !w.readsGGUF(i) {
		return glance{size: file.bytes} // a hub has said that it is there, and what it is
	}
	places, err := l.f.places(file)
	if err != nil {
		return glance{size: -1, err: errNoPlace}
	}
	g, gone := glance{size: -1}, 0
	for _, place := range places {
		g = l.at(ctx, w, i, place)
		var e *Error
		switch {
		case g.err == nil:
			return g
		case errors.As(g.err, &e) && e.gone:
			gone++
		case errors.As(g.err, &e):
			return g // what is wrong there is wrong
		}
	}
	if gone > 0 && gone < len(places) {
		g.err = errors.New("one of its sources does not have it, and another cannot be asked")
	}
	return g
}

// readsGGUF reports whether an engine will read a file as GGUF.
func (w Set) readsGGUF(i int) bool {
	return strings.HasSuffix(strings.ToLower(w.files[i].name), ".gguf") || i == 0 && w.want.gguf
}

// errNoPlace means that this machine was not told where to look for a file.
var errNoPlace = errors.New("fetch: there is no place to look at")

func (l *Looker) at(ctx context.Context, w Set, i int, place string) glance {
	file := w.files[i]
	r := &ranged{f: l.f, ctx: ctx, url: place, size: -1}
	defer r.close()
	if err := r.open(path.Base(file.name)); err != nil {
		return glance{size: -1, err: err}
	}
	g := glance{size: r.size}
	if file.bytes > 0 && r.size >= 0 && r.size != file.bytes {
		g.err = failed(protocol.CauseHash, fmt.Sprintf("%s has %d bytes at its source and should have %d; correct the definition or the source", file.name, r.size, file.bytes))
		return g
	}
	var err error
	switch name := strings.ToLower(file.name); {
	case strings.HasSuffix(name, ".safetensors"):
		if r.size >= 0 { // else nobody can say where it ends
			_, err = safetensors.Read(r, r.size)
		}
	case w.readsGGUF(i):
		var h gguf.Header
		if h, err = gguf.Read(r, r.size); err == nil {
			g.head = &h
			g.err = kindOf(file.name, h, w.want)
		}
	}
	if err != nil {
		g.err = said(err, file.name)
	}
	return g
}

// said is an error of a header, or of reading it: the second is no fault of the
// file.
func said(err error, name string) error {
	for _, kind := range []error{gguf.ErrFormat, gguf.ErrShort, gguf.ErrBroken, safetensors.ErrFormat, safetensors.ErrShort} {
		if errors.Is(err, kind) {
			return content(name, err)
		}
	}
	return err
}

// gather puts together what was seen of the files.
func (s *Seen) gather(w Set, found []glance) {
	heads, known := map[string]gguf.Header{}, true
	for i, g := range found {
		name := w.files[i].name
		known = known && g.size >= 0
		s.Bytes += max(0, g.size)
		if g.head != nil {
			heads[name] = *g.head
			s.Architecture = cmp.Or(s.Architecture, g.head.Architecture)
			s.Context, s.Layers = max(s.Context, g.head.Context), max(s.Layers, g.head.Layers)
		}
		if g.err != nil {
			s.take(name, g.err)
		}
	}
	if !known {
		s.Bytes = 0
	}
	if len(s.Wrong)+len(s.Unsure) == 0 {
		if err := lookParts(heads); err != nil {
			s.take(slices.Sorted(maps.Keys(heads))[0], err)
		}
	}
}

// take sorts an error: the file's, or that of who looks.
func (s *Seen) take(file string, err error) {
	var e *Error
	switch {
	case errors.Is(err, errNoPlace):
		s.Blind = true
	case errors.As(err, &e) && (e.gone || e.Cause == protocol.CauseFile || e.Cause == protocol.CauseModel || e.Cause == protocol.CauseHash):
		s.Wrong = append(s.Wrong, Fault{File: file, Text: e.Text})
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		s.unsure("the source did not answer in time")
	default:
		text := err.Error()
		if file != "" {
			text = file + ": " + text
		}
		s.unsure(text)
	}
}

func (s *Seen) unsure(text string) {
	if !slices.Contains(s.Unsure, text) {
		s.Unsure = append(s.Unsure, text)
	}
}

// statusOf is what an answer that is no file says of it.
func statusOf(status int, base string) error {
	switch status {
	case http.StatusNotFound, http.StatusGone:
		e := failed(protocol.CauseFile, fmt.Sprintf("%s is missing at its source, which answers %d; put it there, or correct the source", base, status))
		e.gone = true
		return e
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("the source answers %d: it wants a token, or lets other machines in", status)
	}
	return fmt.Errorf("the source answers %d", status)
}
