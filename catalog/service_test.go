package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/inventory"
)

// fakeStore keeps definitions in memory; fail, when set, refuses every write, lost
// makes it and says that it failed, and away refuses every reading.
type fakeStore struct {
	mu               sync.Mutex
	rows             map[Name]Entry
	fail, lost, away error
}

func (f *fakeStore) ListModels(context.Context) ([]Entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away != nil {
		return nil, f.away
	}
	var out []Entry
	for _, e := range f.rows {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(string(a.Model.Name), string(b.Model.Name)) })
	return out, nil
}

func (f *fakeStore) PutModel(_ context.Context, m Model, expected int64, by inventory.Author) (Entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return Entry{}, f.fail
	}
	if f.rows[m.Name].Revision != expected {
		return Entry{}, ErrStale
	}
	e := Entry{Model: m, Revision: expected + 1, UpdatedBy: by.Principal}
	f.rows[m.Name] = e
	return e, f.lost
}

func (f *fakeStore) DeleteModel(_ context.Context, n Name, expected int64, _ inventory.Author) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return f.fail
	}
	if f.rows[n].Revision != expected {
		return ErrStale
	}
	delete(f.rows, n)
	return f.lost
}

var ops = inventory.Author{Principal: "token:ops"}

func newService(t *testing.T, declared ...Model) (*Service, *fakeStore) {
	t.Helper()
	store := &fakeStore{rows: map[Name]Entry{}}
	s, err := NewService(t.Context(), ServiceConfig{Store: store, Declared: declared})
	if err != nil {
		t.Fatal(err)
	}
	return s, store
}

func tiny(name Name) Model {
	return Model{Name: name, Source: "file:///srv/m.gguf", Profiles: []Profile{{Name: "cpu", Engine: EngineLlamaCPP}}}
}

func TestServiceAddChangeRemove(t *testing.T) {
	t.Parallel()
	s, store := newService(t)
	changed := s.Changed()
	e, err := s.Add(t.Context(), tiny("a"), ops)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	default:
		t.Error("nobody was told of the new model")
	}
	if _, err := s.Add(t.Context(), tiny("a"), ops); !errors.Is(err, ErrExists) {
		t.Errorf("adding it again: %v", err)
	}
	two := 2
	if _, err := s.Change(t.Context(), "a", Change{Scaling: &Scaling{Min: 1, Max: &two}}, new(e.Revision+5), ops); !errors.Is(err, ErrStale) {
		t.Errorf("a stale change: %v", err)
	}
	e, err = s.Change(t.Context(), "a", Change{Scaling: &Scaling{Min: 1, Max: &two}}, &e.Revision, ops)
	if err != nil || e.Revision != 2 {
		t.Fatalf("change: revision %d, %v", e.Revision, err)
	}
	if got, _ := s.Index().Get("a"); got.Model.Scaling == nil || *got.Model.Scaling.Max != 2 {
		t.Errorf("the index has %+v", got.Model.Scaling)
	}
	store.fail = errors.New("disk gone")
	if err := s.Remove(t.Context(), "a", nil, ops); err == nil {
		t.Error("a store that refuses must refuse the change")
	}
	if _, ok := s.Index().Get("a"); !ok {
		t.Error("a refused removal removed it from the index")
	}
	store.fail = nil
	if err := s.Remove(t.Context(), "a", nil, ops); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context(), "a", nil, ops); !errors.Is(err, ErrNotFound) {
		t.Errorf("removing it again: %v", err)
	}
}

func TestServiceRefusals(t *testing.T) {
	t.Parallel()
	s, _ := newService(t, tiny("declared"))
	if _, err := s.Change(t.Context(), "declared", Change{Owner: new("x")}, nil, ops); !errors.Is(err, ErrReadOnly) {
		t.Errorf("changing a declared model: %v", err)
	}
	b := tiny("b")
	if _, err := s.Add(t.Context(), b, ops); err != nil {
		t.Fatal(err)
	}
	c := tiny("c")
	c.Fallbacks = []Name{"b"}
	if _, err := s.Add(t.Context(), c, ops); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context(), "b", nil, ops); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "c") {
		t.Errorf("removing what another model names: %v", err)
	}
	_, err := s.Add(t.Context(), tiny("DECLARED"), ops)
	if cs := Complaints(err); len(cs) != 1 || !cs[0].Conflict {
		t.Errorf("a name that differs in case: %v", err)
	}
	bad := tiny("d")
	bad.Profiles[0].Args = []string{"--port", "1"}
	if _, err := s.Add(t.Context(), bad, ops); len(Complaints(err)) != 1 {
		t.Errorf("a reserved flag: %v", err)
	}
	none, err := NewService(t.Context(), ServiceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Add(t.Context(), tiny("x"), ops); !errors.Is(err, ErrNoStore) {
		t.Errorf("without a store: %v", err)
	}
}

func TestServiceReload(t *testing.T) {
	t.Parallel()
	s, _ := newService(t, tiny("a"), tiny("b"))
	edited := tiny("b")
	edited.Owner = "search"
	changes, err := s.Reload([]Model{edited, tiny("c")})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`model "a" removed`, `model "b" changed`, `model "c" added`}
	if d := cmp.Diff(want, changes); d != "" {
		t.Error(d)
	}
	version := s.Index().Version()
	if _, err := s.Reload([]Model{{Name: "broken"}}); err == nil {
		t.Error("a wrong file must be refused whole")
	}
	if s.Index().Version() != version {
		t.Error("a refused file changed the catalog")
	}
	if _, err := s.Reload([]Model{tiny("x"), tiny("x")}); err == nil {
		t.Error("a model declared twice must be refused")
	}
}

func TestServiceKeepsWriteOnlyKeys(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	m := Model{Name: "st", Profiles: []Profile{{
		Name: "p", Engine: EngineStatic,
		Endpoints: []Endpoint{{URL: "http://h1", Key: new("k1")}, {URL: "http://h2", Key: new("k2")}},
	}}}
	if _, err := s.Add(t.Context(), m, ops); err != nil {
		t.Fatal(err)
	}
	next := m.Redacted()
	next.Profiles[0].Endpoints[1].Key = new("")
	next.Profiles[0].Endpoints = append(next.Profiles[0].Endpoints, Endpoint{URL: "http://h3"})
	e, err := s.Change(t.Context(), "st", Change{Replace: &next}, nil, ops)
	if err != nil {
		t.Fatal(err)
	}
	want := []Endpoint{{URL: "http://h1", Key: new("k1")}, {URL: "http://h2"}, {URL: "http://h3"}}
	if d := cmp.Diff(want, e.Model.Profiles[0].Endpoints); d != "" {
		t.Error(d)
	}
	other := tiny("other")
	if _, err := s.Change(t.Context(), "st", Change{Replace: &other}, nil, ops); err == nil {
		t.Error("a replacement must not rename")
	}
}

func TestChangeResources(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	if _, err := s.Add(t.Context(), tiny("a"), ops); err != nil {
		t.Fatal(err)
	}
	e, err := s.Change(t.Context(), "a", Change{Resources: &Resources{MemoryGB: 4, CPUCores: 2}}, nil, ops)
	if err != nil || e.Model.Profiles[0].MemoryGB != 4 || e.Model.Profiles[0].CPUCores != 2 {
		t.Errorf("resources: %+v, %v", e.Model.Profiles, err)
	}
	_, err = s.Change(t.Context(), "a", Change{Resources: &Resources{Profile: "gpu", MemoryGB: 4}}, nil, ops)
	if len(Complaints(err)) != 1 {
		t.Errorf("a profile that is not there: %v", err)
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	var s Scaling
	if err := json.Unmarshal([]byte(`{"min":0,"idle_timeout":"10m"}`), &s); err != nil || time.Duration(s.IdleTimeout) != 10*time.Minute {
		t.Errorf("a string: %v, %v", s.IdleTimeout, err)
	}
	if err := json.Unmarshal([]byte(`{"min":0,"idle_timeout":600000000000}`), &s); err != nil || time.Duration(s.IdleTimeout) != 10*time.Minute {
		t.Errorf("a number: %v, %v", s.IdleTimeout, err)
	}
	if err := json.Unmarshal([]byte(`{"idle_timeout":"soon"}`), &s); err == nil || !strings.Contains(err.Error(), `"10m"`) {
		t.Errorf("a wrong one must say how to write it: %v", err)
	}
	b, err := json.Marshal(Scaling{Max: new(1), IdleTimeout: Duration(time.Second)})
	if err != nil || string(b) != `{"min":0,"max":1,"idle_timeout":1000000000}` {
		t.Errorf("written as %s, %v", b, err)
	}
}

func TestDefaultsAreFilledInOnACopy(t *testing.T) {
	t.Parallel()
	m := Model{Name: "m", Profiles: []Profile{{Name: "p", Engine: EngineVLLM, GPU: &GPU{Count: 4}}}}
	d := m.WithDefaults()
	p := d.Profiles[0]
	if d.Class != ClassStandard || d.Scaling.Min != 1 || *d.Scaling.Max != 1 || p.TensorParallel != 4 || p.Shards != 1 {
		t.Errorf("defaults: %+v %+v", d, p)
	}
	if m.Scaling != nil || m.Profiles[0].TensorParallel != 0 {
		t.Error("the definition itself was changed")
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	m := tiny("a")
	one := Fingerprint(&m, &m.Profiles[0])
	if one != Fingerprint(&m, &m.Profiles[0]) {
		t.Error("it is not stable")
	}
	m.Profiles[0].MemoryGB = 1
	if one == Fingerprint(&m, &m.Profiles[0]) {
		t.Error("it does not cover reservations")
	}
}

func TestIndexResolve(t *testing.T) {
	t.Parallel()
	a := tiny("a")
	a.Aliases = []Name{"alias"}
	a.Adapters = []Adapter{{Name: "lora", Source: "file:///l.gguf"}}
	x := NewIndex(1, []Entry{{Model: a}})
	for _, n := range []Name{"a", "alias", "lora"} {
		if e, ok := x.Resolve(n); !ok || e.Model.Name != "a" {
			t.Errorf("%s resolves to %v", n, e)
		}
	}
	if _, ok := x.Get("alias"); ok {
		t.Error("an alias is not a model's own name")
	}
	if d := cmp.Diff([]Name{"a", "alias", "lora"}, x.Names()); d != "" {
		t.Error(d)
	}
	if _, ok := new(Index).Resolve("a"); ok {
		t.Error("the zero index is empty")
	}
}

// TestServiceLostAnswer shows that a write which was made though its answer was
// lost is in force, and spoils no later change.
func TestServiceLostAnswer(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, store := newService(t)
	store.lost = errors.New("the connection broke off")
	if _, err := s.Add(ctx, tiny("a"), ops); !errors.Is(err, store.lost) {
		t.Fatalf("want the store's error, got %v", err)
	}
	if _, ok := s.Index().Get("a"); !ok {
		t.Error("the definition is kept and not in force")
	}
	if _, err := s.Change(ctx, "a", Change{Owner: new("ann")}, nil, ops); !errors.Is(err, store.lost) {
		t.Fatalf("want the store's error, got %v", err)
	}
	store.lost = nil
	e, err := s.Change(ctx, "a", Change{Class: new(ClassBatch)}, nil, ops)
	if err != nil || e.Model.Owner != "ann" || e.Model.Class != ClassBatch {
		t.Errorf("want both changes, got %+v, %v", e, err)
	}
	store.lost = errors.New("the connection broke off")
	if err := s.Remove(ctx, "a", nil, ops); !errors.Is(err, store.lost) {
		t.Fatalf("want the store's error, got %v", err)
	}
	if _, ok := s.Index().Get("a"); ok {
		t.Error("the definition is gone and still in force")
	}
}

// TestServiceDoubt shows that nothing is changed before it is known again what
// the store has.
func TestServiceDoubt(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, store := newService(t)
	store.lost, store.away = errors.New("the connection broke off"), errors.New("the store is away")
	if _, err := s.Add(ctx, tiny("a"), ops); !errors.Is(err, store.lost) {
		t.Fatalf("want the store's error, got %v", err)
	}
	if _, err := s.Add(ctx, tiny("a"), ops); !errors.Is(err, store.away) {
		t.Errorf("want no change in doubt, got %v", err)
	}
	late, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Add(late, tiny("b"), ops); !errors.Is(err, context.Canceled) {
		t.Errorf("want nothing asked for one who has gone, got %v", err)
	}
	store.lost, store.away = nil, nil
	if _, err := s.Add(ctx, tiny("a"), ops); !errors.Is(err, ErrExists) {
		t.Errorf("want what was kept to be known, got %v", err)
	}
}

// TestServiceOvertaken shows that a change which takes any revision is made on
// what another process has written, and a guarded one is not.
func TestServiceOvertaken(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, store := newService(t)
	first, err := s.Add(ctx, tiny("a"), ops)
	if err != nil {
		t.Fatal(err)
	}
	other := tiny("a")
	other.Owner = "another process"
	if _, err := store.PutModel(ctx, other, first.Revision, ops); err != nil {
		t.Fatal(err)
	}
	e, err := s.Change(ctx, "a", Change{Class: new(ClassBatch)}, nil, ops)
	if err != nil || e.Model.Owner != "another process" || e.Model.Class != ClassBatch {
		t.Errorf("want both changes, got %+v, %v", e, err)
	}
	if _, err := store.PutModel(ctx, other, e.Revision, ops); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Change(ctx, "a", Change{Class: new(ClassBatch)}, &e.Revision, ops); !errors.Is(err, ErrStale) {
		t.Errorf("want ErrStale for a guarded change, got %v", err)
	}
	if err := s.Remove(ctx, "a", nil, ops); err != nil {
		t.Errorf("want it removed whatever its revision: %v", err)
	}
}

// TestServiceSaysWhatDoesNotFit shows that a start never fails on old rows, and
// that they are told of once and not with every change.
func TestServiceSaysWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	old := tiny("old")
	old.Profiles[0].Engine = "gone"
	store := &fakeStore{rows: map[Name]Entry{"old": {Model: old, Revision: 1}, "both": {Model: tiny("both"), Revision: 2}}}
	var log bytes.Buffer
	s, err := NewService(ctx, ServiceConfig{Store: store, Declared: []Model{tiny("both")}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Index().Get("old"); !ok {
		t.Error("a row that no longer fits must stay in force")
	}
	if _, err := s.Add(ctx, tiny("new"), ops); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"would be refused now", "the declared one is in force"} {
		if n := strings.Count(log.String(), want); n != 1 {
			t.Errorf("want %q said once, got %d times:\n%s", want, n, log.String())
		}
	}
}
