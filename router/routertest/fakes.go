package routertest

import (
	"context"
	"slices"
	"sync"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/storage"
)

// Catalog is a fake of router.Models. The zero value has no model.
type Catalog struct {
	mu      sync.Mutex
	version uint64
	index   *catalog.Index
}

// NewCatalog makes one of definitions.
func NewCatalog(models ...catalog.Model) *Catalog {
	c := &Catalog{}
	c.Set(models...)
	return c
}

// Set replaces every definition.
func (c *Catalog) Set(models ...catalog.Model) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entries := make([]catalog.Entry, len(models))
	for i := range models {
		entries[i] = catalog.Entry{Model: models[i], Revision: 1}
	}
	c.version++
	c.index = catalog.NewIndex(c.version, entries)
}

// Index returns the definitions.
func (c *Catalog) Index() *catalog.Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.index == nil {
		c.index = catalog.NewIndex(0, nil)
	}
	return c.index
}

// Fleet is a fake of router.Backends, router.Demand and router.Prospects. The
// zero value has no replica.
type Fleet struct {
	// OnAsked is told of demand. Nil: nobody is.
	OnAsked func(model catalog.Name)
	// Prospect answers Status. Nil: there is always hope.
	Prospect func(model catalog.Name) (reason string, hopeless bool)

	mu      sync.Mutex
	byModel map[catalog.Name][]router.Backend
	change  chan struct{}
}

// Set replaces the replicas of a model.
func (f *Fleet) Set(model catalog.Name, backends ...router.Backend) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byModel == nil {
		f.byModel = map[catalog.Name][]router.Backend{}
	}
	f.byModel[model] = slices.Clone(backends)
	if f.change != nil {
		close(f.change)
		f.change = nil
	}
}

// Backends returns the replicas of a model.
func (f *Fleet) Backends(model catalog.Name) []router.Backend {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byModel[model]
}

// Changed is closed by the next Set.
func (f *Fleet) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.change == nil {
		f.change = make(chan struct{})
	}
	return f.change
}

// Asked is told of demand.
func (f *Fleet) Asked(model catalog.Name) {
	if f.OnAsked != nil {
		f.OnAsked(model)
	}
}

// Status tells whether there is hope.
func (f *Fleet) Status(model catalog.Name) (reason string, hopeless bool) {
	if f.Prospect == nil {
		return "", false
	}
	return f.Prospect(model)
}

// Books is a fake of router.Usage. The zero value has no row.
type Books struct {
	// Fail is asked before rows are kept. Nil: all is well.
	Fail func() error

	mu   sync.Mutex
	rows []storage.Request
	have map[string]bool
}

// AppendUsage keeps rows; those that are there already stay as they are.
func (b *Books) AppendUsage(_ context.Context, rows []storage.Request) error {
	if b.Fail != nil {
		if err := b.Fail(); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.have == nil {
		b.have = map[string]bool{}
	}
	for i := range rows {
		if !b.have[rows[i].ID] {
			b.have[rows[i].ID] = true
			b.rows = append(b.rows, rows[i])
		}
	}
	return nil
}

// Rows returns what is kept, in the order in which it came.
func (b *Books) Rows() []storage.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.rows)
}

// Keys is a fake of router.Keys: keys by id.
type Keys struct {
	// Fail answers every question. Nil: all is well.
	Fail func() error

	mu    sync.Mutex
	byID  map[string]storage.Key
	asked int
}

// Put adds or replaces a key.
func (k *Keys) Put(key storage.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byID == nil {
		k.byID = map[string]storage.Key{}
	}
	k.byID[key.ID] = key
}

// Key finds one by id.
func (k *Keys) Key(_ context.Context, id string) (storage.Key, error) {
	if k.Fail != nil {
		if err := k.Fail(); err != nil {
			return storage.Key{}, err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked++
	key, ok := k.byID[id]
	if !ok {
		return storage.Key{}, storage.ErrNotFound
	}
	return key, nil
}

// Asked counts the questions.
func (k *Keys) Asked() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.asked
}
