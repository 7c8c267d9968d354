package inspect

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"llmgw.io/llmgw/agent/fetch"
	"llmgw.io/llmgw/catalog"
)

// Models is what is in force. Neither method blocks.
type Models interface {
	Index() *catalog.Index
	// Changed is closed at the next change.
	Changed() <-chan struct{}
}

// Looker looks at a set of weights for as long as ctx lets it, and may be called
// at once. *fetch.Looker is one.
type Looker interface {
	Look(ctx context.Context, w fetch.Set) fetch.Seen
}

// Config is what an Inspector needs.
type Config struct {
	// Looker is required.
	Looker Looker
	// Wait is how long a definition that is to be taken waits for the look. Default
	// 5 s.
	Wait time.Duration
	// Limit is how long a look may take that nobody waits for. Default 1 min.
	Limit time.Duration
	// Again is when what could not be looked at is tried again. Default 15 min.
	Again time.Duration
	// Logger nil is silent.
	Logger *slog.Logger
}

// Inspector looks into weights and remembers what it saw.
type Inspector struct {
	cfg Config

	mu   sync.Mutex
	seen map[catalog.Name]Report
}

// New checks the configuration. It starts nothing.
func New(cfg Config) (*Inspector, error) {
	if cfg.Looker == nil {
		return nil, errors.New("inspect: Config.Looker is missing; use fetch.NewLooker")
	}
	for _, d := range []struct {
		at  *time.Duration
		def time.Duration
	}{{&cfg.Wait, 5 * time.Second}, {&cfg.Limit, time.Minute}, {&cfg.Again, 15 * time.Minute}} {
		if *d.at == 0 {
			*d.at = d.def
		}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Inspector{cfg: cfg, seen: map[catalog.Name]Report{}}, nil
}

// Inspect looks at what a definition names, for a few seconds at most. The error is
// joined InvalidErrors about what is wrong; what could not be seen is none.
func (i *Inspector) Inspect(ctx context.Context, m *catalog.Model) error {
	r := i.look(ctx, m, i.cfg.Wait)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.err(m.Name); err != nil {
		return err
	}
	i.keep(m.Name, r)
	return nil
}

// Report is what was last seen of a model's weights. ok is false where nothing
// was: not yet, or they lie where nobody here can look.
func (i *Inspector) Report(m *catalog.Model) (r Report, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	r, ok = i.seen[m.Name]
	return r, ok && r.of == printOf(m) && !r.blind
}

func (i *Inspector) keep(name catalog.Name, r Report) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.seen[name] = r
}

// Run looks at all that is in force, one model after the other, until ctx ends.
func (i *Inspector) Run(ctx context.Context, models Models) error {
	for ctx.Err() == nil {
		changed := models.Changed()
		wake := time.NewTimer(i.round(ctx, models.Index()))
		select {
		case <-ctx.Done():
		case <-changed:
		case <-wake.C:
		}
		wake.Stop()
	}
	return nil
}

// round looks at what is due, and says when the next is.
func (i *Inspector) round(ctx context.Context, x *catalog.Index) (next time.Duration) {
	next = i.cfg.Again
	i.forget(x)
	entries := x.Entries()
	for k := range entries {
		m := &entries[k].Model
		if wait := i.due(m, time.Now()); wait > 0 {
			next = min(next, wait)
			continue
		}
		if ctx.Err() != nil {
			return next
		}
		r := i.look(ctx, m, i.cfg.Limit)
		if ctx.Err() != nil {
			return next
		}
		i.tell(m, r)
		i.keep(m.Name, r)
	}
	return next
}

// due is how long until a model is looked at again. Zero: now.
func (i *Inspector) due(m *catalog.Model, now time.Time) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	r, ok := i.seen[m.Name]
	switch {
	case !ok || r.of != printOf(m) || r.hasty:
		return 0
	case len(r.Unsure) == 0:
		return i.cfg.Again
	}
	return max(0, i.cfg.Again-now.Sub(r.At))
}

// forget drops what is of no model any more.
func (i *Inspector) forget(x *catalog.Index) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for name := range i.seen {
		if _, ok := x.Get(name); !ok {
			delete(i.seen, name)
		}
	}
}

// tell logs what is wrong with a model that is in force, once.
func (i *Inspector) tell(m *catalog.Model, r Report) {
	i.mu.Lock()
	was, ok := i.seen[m.Name]
	i.mu.Unlock()
	err := r.err(m.Name)
	if err == nil || ok && was.of == r.of && len(was.Wrong) > 0 {
		return
	}
	i.cfg.Logger.Warn("the weights of a model cannot be used as they are at their source", "model", m.Name, "err", err)
}
