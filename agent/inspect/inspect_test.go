package inspect

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/agent/fetch"
	"llmgw.io/llmgw/catalog"
)

// eye is a Looker that sees what it is told, after a time.
type eye struct {
	mu    sync.Mutex
	seen  fetch.Seen
	takes time.Duration
	looks atomic.Int64
}

func (e *eye) Look(ctx context.Context, _ fetch.Set) fetch.Seen {
	e.looks.Add(1)
	e.mu.Lock()
	seen, takes := e.seen, e.takes
	e.mu.Unlock()
	select {
	case <-time.After(takes):
		return seen
	case <-ctx.Done():
		return fetch.Seen{Unsure: []string{"the source did not answer in time"}}
	}
}

func (e *eye) set(s fetch.Seen, takes time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen, e.takes = s, takes
}

// models is a catalog that changes.
type models struct {
	mu      sync.Mutex
	index   *catalog.Index
	changed chan struct{}
}

func (m *models) Index() *catalog.Index {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.index
}

func (m *models) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

func (m *models) set(list ...catalog.Model) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var entries []catalog.Entry
	for _, one := range list {
		entries = append(entries, catalog.Entry{Model: one})
	}
	m.index = catalog.NewIndex(1, entries)
	if m.changed != nil {
		close(m.changed)
	}
	m.changed = make(chan struct{})
}

func model(source string) catalog.Model {
	return catalog.Model{Name: "m", Source: source, Profiles: []catalog.Profile{{Name: "p", Engine: catalog.EngineLlamaCPP}}}
}

func inspector(t *testing.T, e *eye) *Inspector {
	t.Helper()
	i, err := New(Config{Looker: e})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestInspectNamesTheField(t *testing.T) {
	t.Parallel()
	m := model("https://h/m.safetensors")
	m.Files = []catalog.File{{Path: "a.json"}, {Path: "m.safetensors"}}
	m.Adapters = []catalog.Adapter{{Name: "a", Source: "https://h/a.gguf"}}
	e := &eye{seen: fetch.Seen{Wrong: []fetch.Fault{{File: "m.safetensors", Text: "is cut"}}, Unsure: []string{"away"}}}
	err := inspector(t, e).Inspect(t.Context(), &m)
	var said []string
	for _, c := range catalog.Complaints(err) {
		said = append(said, c.Field+": "+c.Problem)
	}
	if got := strings.Join(said, "; "); got != "files[1]: is cut; adapters[0].source: is cut" {
		t.Errorf("got %s", got)
	}
	pickle := model("https://h/pytorch_model.bin")
	if err := inspector(t, &eye{}).Inspect(t.Context(), &pickle); err == nil || !strings.Contains(err.Error(), "source: pytorch_model.bin is a pickle") {
		t.Errorf("got %v", err)
	}
	e.set(fetch.Seen{Architecture: "llama", Bytes: 5}, 0)
	if err := inspector(t, e).Inspect(t.Context(), &m); err != nil {
		t.Errorf("got %v", err)
	}
}

// A source that is slow keeps nobody for long, and is looked at when nobody waits.
func TestASlowSourceIsLookedAtLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &eye{}
		e.set(fetch.Seen{Wrong: []fetch.Fault{{Text: "is cut"}}}, 20*time.Second)
		i, m, all := inspector(t, e), model("https://h/m.gguf"), &models{}
		began := time.Now()
		if err := i.Inspect(t.Context(), &m); err != nil || time.Since(began) != 5*time.Second {
			t.Errorf("it took %v: %v", time.Since(began), err)
		}
		if r, ok := i.Report(&m); !ok || len(r.Unsure) != 1 || len(r.Wrong) != 0 {
			t.Errorf("got %+v, %v", r, ok)
		}
		all.set(m)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = i.Run(ctx, all) }()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if r, _ := i.Report(&m); len(r.Wrong) != 1 || len(r.Unsure) != 0 {
			t.Errorf("got %+v", r)
		}
		looks := e.looks.Load()
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := e.looks.Load(); n != looks {
			t.Errorf("what is known was looked at %d times more", n-looks)
		}
		other := model("https://h/other.gguf")
		if _, ok := i.Report(&other); ok {
			t.Error("what was seen of one definition is shown for another")
		}
		e.set(fetch.Seen{Unsure: []string{"away"}}, 0)
		all.set(other)
		time.Sleep(time.Minute)
		synctest.Wait()
		e.set(fetch.Seen{Architecture: "llama", Context: 512}, 0)
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		if r, ok := i.Report(&other); !ok || r.Context != 512 || len(r.Unsure) != 0 {
			t.Errorf("what was away is not looked at again: %+v", r)
		}
		all.set()
		time.Sleep(time.Second)
		synctest.Wait()
		if _, ok := i.Report(&other); ok {
			t.Error("a model that is gone is remembered")
		}
	})
}

func TestWhoLeavesIsNotAnswered(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := model("https://h/m.gguf")
	if err := inspector(t, &eye{takes: time.Hour}).Inspect(ctx, &m); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestNothingToLookAtIsNotShown(t *testing.T) {
	t.Parallel()
	i := inspector(t, &eye{seen: fetch.Seen{Blind: true}})
	m := model("file:///srv/m.gguf")
	if err := i.Inspect(t.Context(), &m); err != nil {
		t.Fatal(err)
	}
	if r, ok := i.Report(&m); ok {
		t.Errorf("got %+v", r)
	}
}
