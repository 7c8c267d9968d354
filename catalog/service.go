package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"llmgw.io/llmgw/inventory"
)

// ServiceConfig is what a Service needs.
type ServiceConfig struct {
	// Store keeps models added over the API. Nil: nothing can be added, and
	// Add, Change and Remove answer ErrNoStore.
	Store Store
	// Declared models come from the configuration file and are read-only.
	Declared []Model
	// ClassAliases are other names for classes of devices. A definition that asks
	// for one by an alias is kept, and answered, with the class. Not changed after
	// NewService.
	ClassAliases inventory.ClassAliases
	// Inspector looks at what definitions name before Add and Change keep them. Nil:
	// they are taken unseen. Declared models never wait for it.
	Inspector Inspector
	// Logger nil is silent.
	Logger *slog.Logger
}

// Service is the one that changes the catalog: it validates, writes to the
// store and publishes a new index. It may be used by any number of goroutines
// at once; changes are made one after the other.
type Service struct {
	store   Store
	aliases inventory.ClassAliases
	inspect Inspector // nil: nothing is looked at
	logger  *slog.Logger
	index   atomic.Pointer[Index]

	changing sync.Mutex // held through a change, store and all
	// doubt says that a write failed, so that kept may not be what the store has.
	// It is guarded by changing.
	doubt bool

	mu       sync.Mutex // guards what is below
	declared []Entry
	kept     []Entry
	changed  chan struct{}
}

// NewService loads the store and validates everything whole. A kept model whose
// name the configuration now declares is hidden by it, and a kept one that no
// longer fits is kept and logged, so that a start never fails on old rows; wrong
// declared models fail it.
func NewService(ctx context.Context, cfg ServiceConfig) (*Service, error) {
	if err := CheckClassAliases(cfg.ClassAliases); err != nil {
		return nil, err
	}
	s := &Service{store: cfg.Store, aliases: cfg.ClassAliases, inspect: cfg.Inspector, logger: cfg.Logger, changed: make(chan struct{})}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if s.store != nil {
		kept, err := s.load(ctx)
		if err != nil {
			return nil, err
		}
		s.kept = kept
	}
	declared, err := s.checkDeclared(cfg.Declared)
	if err != nil {
		return nil, err
	}
	s.declared = declared
	s.publish()
	s.sayUnfit()
	return s, nil
}

// sayUnfit logs kept models that are not what people would think: those that the
// configuration hides, and those that the rules of this version would refuse.
func (s *Service) sayUnfit() {
	s.mu.Lock()
	kept := s.kept
	s.mu.Unlock()
	x := s.Index()
	owners := nameOwners(x)
	for i := range kept {
		m := &kept[i].Model
		if e, ok := x.Get(m.Name); ok && e.Declared {
			s.logger.Warn("the configuration declares a model that was added before; the declared one is in force", "model", m.Name)
			continue
		}
		if err := errors.Join(append([]error{Validate(m)}, againstOthers(x, owners, m)...)...); err != nil {
			s.logger.Warn("a model that was added before would be refused now; it stays in force, change it", "model", m.Name, "err", err)
		}
	}
}

// Index is the newest index. It never blocks.
func (s *Service) Index() *Index { return s.index.Load() }

// Changed returns a channel that is closed at the next change. Take it before
// the index.
func (s *Service) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Add validates and keeps a new definition. Errors are joined InvalidErrors,
// match ErrExists or ErrNoStore, or are the store's.
func (s *Service) Add(ctx context.Context, m Model, by Author) (Entry, error) {
	if _, taken := s.Index().Get(m.Name); !taken {
		if err := s.lookAt(ctx, &m, nil); err != nil {
			return Entry{}, err
		}
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	if err := s.settle(ctx); err != nil {
		return Entry{}, err
	}
	if old, ok := s.Index().Get(m.Name); ok {
		return Entry{}, fmt.Errorf("%w: model %q is there already; change it, or remove it first", ErrExists, old.Model.Name)
	}
	return s.put(ctx, m, 0, by)
}

// Change edits a definition. expected nil takes whatever revision it has; else
// another revision answers ErrStale. Write-only keys that the new definition
// leaves out are kept.
func (s *Service) Change(ctx context.Context, name Name, c Change, expected *int64, by Author) (Entry, error) {
	if old, ok := s.Index().Get(name); ok && c.Replace != nil && c.Replace.Name == name {
		if err := s.lookAt(ctx, c.Replace, &old.Model); err != nil {
			return Entry{}, err
		}
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	for try := 1; ; try++ {
		old, err := s.writable(ctx, name, expected)
		if err != nil {
			return Entry{}, err
		}
		m, err := c.apply(old.Model)
		if err != nil {
			return Entry{}, err
		}
		e, err := s.put(ctx, m, old.Revision, by)
		if !overtaken(err, expected, try) {
			return e, err
		}
	}
}

// Remove drops a definition that no other one names; else the error matches
// ErrInUse and lists who does.
func (s *Service) Remove(ctx context.Context, name Name, expected *int64, by Author) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	for try := 1; ; try++ {
		old, err := s.writable(ctx, name, expected)
		if err != nil {
			return err
		}
		if users := s.Index().UsedBy(name); len(users) > 0 {
			return fmt.Errorf("%w: %s name model %q as a fallback or a candidate; change them first", ErrInUse, listNames(users), name)
		}
		if err = s.drop(ctx, name, old.Revision, by); !overtaken(err, expected, try) {
			return err
		}
	}
}

// changeTries is how often a change that takes any revision is made on a newer
// one. Only another process can make a newer one meanwhile, so a few are plenty.
const changeTries = 3

// overtaken reports whether a change is to be made again, on what somebody else
// has made of the definition meanwhile.
func overtaken(err error, expected *int64, try int) bool {
	return expected == nil && try < changeTries && errors.Is(err, ErrStale)
}

// Reload replaces the declared models, whole or not at all, and says what
// changed, one line each.
func (s *Service) Reload(declared []Model) (changes []string, err error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	entries, err := s.checkDeclared(declared)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	changes = difference(s.declared, entries)
	s.declared = entries
	s.mu.Unlock()
	if len(changes) > 0 {
		s.publish()
		s.sayUnfit()
	}
	return changes, nil
}

// writable finds a kept definition at the expected revision.
func (s *Service) writable(ctx context.Context, name Name, expected *int64) (*Entry, error) {
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	old, ok := s.Index().Get(name)
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: %q; list the models to see their names", ErrNotFound, name)
	case old.Declared:
		return nil, fmt.Errorf("%w: change %q there and reload", ErrReadOnly, name)
	case expected != nil && *expected != old.Revision:
		return nil, fmt.Errorf("%w: model %q is at revision %d; read it again", ErrStale, name, old.Revision)
	}
	return old, nil
}

// put validates against everything else, keeps and publishes.
func (s *Service) put(ctx context.Context, m Model, expected int64, by Author) (Entry, error) {
	m = called(m, s.aliases)
	next := s.keptWithout(m.Name)
	s.mu.Lock()
	declared := s.declared
	s.mu.Unlock()
	trial := NewIndex(0, append(slices.Clone(declared), append(slices.Clone(next), Entry{Model: m})...))
	if err := ValidateIn(trial, &m); err != nil {
		return Entry{}, err
	}
	kept, err := s.store.PutModel(ctx, m, expected, by)
	if err != nil {
		s.failed(ctx)
		return Entry{}, fmt.Errorf("keep model %q: %w", m.Name, err)
	}
	s.keep(append(next, kept))
	return kept, nil
}

// drop removes a definition from the store and publishes.
func (s *Service) drop(ctx context.Context, name Name, revision int64, by Author) error {
	if err := s.store.DeleteModel(ctx, name, revision, by); err != nil {
		s.failed(ctx)
		return fmt.Errorf("remove model %q: %w", name, err)
	}
	s.keep(s.keptWithout(name))
	return nil
}

func (s *Service) keptWithout(name Name) []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.kept), func(e Entry) bool { return e.Model.Name == name })
}

// keep makes these the kept definitions.
func (s *Service) keep(kept []Entry) {
	s.mu.Lock()
	s.kept = kept
	s.mu.Unlock()
	s.publish()
}

// rereadLimit bounds reading the store again after a failed write.
const rereadLimit = 2 * time.Second

// failed is called after a write that failed. It may have been made all the
// same, or be refused because somebody else made another, so what the store has
// is read again: at once, or else before the next change.
func (s *Service) failed(ctx context.Context) {
	s.doubt = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rereadLimit)
	defer cancel()
	if err := s.settle(ctx); err != nil {
		s.logger.Warn("definitions could not be read again after a failed write; trying before the next change", "err", err)
	}
}

// settle reads the store again when it is in doubt what it has.
func (s *Service) settle(ctx context.Context) error {
	if s.store == nil {
		return ErrNoStore
	}
	if err := ctx.Err(); err != nil || !s.doubt {
		return err // whoever waited for its turn too long has gone
	}
	kept, err := s.load(ctx)
	if err != nil {
		return err
	}
	s.doubt = false
	s.keep(kept)
	return nil
}

// load reads the kept definitions, with classes for their aliases: those of rows
// that are older than an alias, too.
func (s *Service) load(ctx context.Context) ([]Entry, error) {
	kept, err := s.store.ListModels(ctx)
	if err != nil {
		return nil, fmt.Errorf("load models: %w", err)
	}
	kept = slices.Clone(kept)
	for i := range kept {
		kept[i].Model = called(kept[i].Model, s.aliases)
	}
	return kept, nil
}

// checkDeclared validates the configuration's models, each and together with
// the kept ones that they do not hide.
func (s *Service) checkDeclared(models []Model) ([]Entry, error) {
	entries := make([]Entry, len(models))
	var all []error
	for i, m := range models {
		m = called(m, s.aliases)
		all = append(all, Validate(&m))
		entries[i] = Entry{Model: m, Declared: true, Revision: revisionOf(&m), UpdatedBy: "config"}
		if slices.ContainsFunc(models[:i], func(o Model) bool { return o.Name == m.Name }) {
			all = append(all, &InvalidError{Model: m.Name, Field: "name", Problem: "it is declared twice", Conflict: true})
		}
	}
	s.mu.Lock()
	x := NewIndex(0, append(slices.Clone(entries), s.kept...))
	s.mu.Unlock()
	owners := nameOwners(x)
	for i := range entries {
		all = append(all, againstOthers(x, owners, &entries[i].Model)...)
	}
	return entries, errors.Join(all...)
}

// publish makes the newest index visible and wakes those who wait for it.
func (s *Service) publish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := uint64(1)
	if old := s.index.Load(); old != nil {
		version = old.Version() + 1
	}
	x := NewIndex(version, append(slices.Clone(s.declared), s.kept...))
	x.classes = s.aliases
	s.index.Store(x)
	close(s.changed)
	s.changed = make(chan struct{})
}

// revisionOf is a declared model's revision: the first 63 bits of a hash.
func revisionOf(m *Model) int64 {
	b, err := json.Marshal(m)
	if err != nil {
		panic("catalog: a definition does not encode: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 1)
}

// difference says what changed between two lists of declared models.
func difference(before, after []Entry) []string {
	find := func(list []Entry, n Name) *Entry {
		i := slices.IndexFunc(list, func(e Entry) bool { return e.Model.Name == n })
		if i < 0 {
			return nil
		}
		return &list[i]
	}
	var out []string
	for _, e := range after {
		if old := find(before, e.Model.Name); old == nil {
			out = append(out, fmt.Sprintf("model %q added", e.Model.Name))
		} else if old.Revision != e.Revision {
			out = append(out, fmt.Sprintf("model %q changed", e.Model.Name))
		}
	}
	for _, e := range before {
		if find(after, e.Model.Name) == nil {
			out = append(out, fmt.Sprintf("model %q removed", e.Model.Name))
		}
	}
	slices.Sort(out)
	return out
}
