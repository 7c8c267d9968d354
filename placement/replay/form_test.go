package replay

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/reconciler"
)

// fill gives every field of a value something of its own, to a depth.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 5, 8, 0, *n, 0, time.UTC)))
		return
	case inventory.Domain:
		v.Set(reflect.ValueOf(inventory.Domain{Level: inventory.LevelRack, Name: "r1"}))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("s" + string(rune('a'+*n%26)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) / 2)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n)
		fill(value, n)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	default:
		panic("a value of kind " + v.Kind().String() + " is not known here")
	}
}

func filled[T any](t *testing.T) (v T) {
	t.Helper()
	n := 0
	fill(reflect.ValueOf(&v).Elem(), &n)
	return v
}

func through[T any](t *testing.T, v T) (out T) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestNodeIsWholeInItsForm writes a node of which every field is set and reads it
// back: a field that is new is either there, or here with the reason why not.
func TestNodeIsWholeInItsForm(t *testing.T) {
	t.Parallel()
	n := filled[inventory.Node](t)
	f := through(t, nodeBetween(nil, &n))
	want := n
	// Measurements.
	want.LastSeen, want.Sample, want.SampleAt = time.Time{}, nil, time.Time{}
	want.ClockSkew = 0
	want.Shards = slices.Clone(n.Shards)
	for i := range want.Shards {
		want.Shards[i].Use, want.Shards[i].Fetch = nil, nil
	}
	if diff := cmp.Diff(&want, f.onto(nil)); diff != "" {
		t.Errorf("a node is lost in part (- want, + got):\n%s", diff)
	}
	n.ClockSkew = 6 * time.Minute
	if f := through(t, nodeBetween(nil, &n)); f.onto(nil).ClockSkew != n.ClockSkew {
		t.Error("a clock that is far off is lost")
	}
}

// TestNothingIsNotSilence keeps what an agent did not say apart from what it said
// it has none of.
func TestNothingIsNotSilence(t *testing.T) {
	t.Parallel()
	silent, none := inventory.Facts{}, inventory.Facts{
		Features: []string{}, Labels: map[string]string{}, Devices: []inventory.Device{}, Ports: []inventory.Port{},
		Engines: []inventory.Engine{}, Weights: []inventory.Weight{}, Warnings: []string{},
	}
	for _, facts := range []inventory.Facts{silent, none} {
		n := inventory.Node{ID: "a", Facts: facts}
		f := through(t, nodeBetween(nil, &n))
		if diff := cmp.Diff(facts, f.onto(nil).Facts); diff != "" {
			t.Errorf("facts are lost (- want, + got):\n%s", diff)
		}
	}
}

// TestNodeBecomesNothing takes each list of a node away.
func TestNodeBecomesNothing(t *testing.T) {
	t.Parallel()
	was := filled[inventory.Node](t)
	is := inventory.Node{ID: was.ID, Version: was.Version + 1}
	f := through(t, nodeBetween(&was, &is))
	got := f.onto(&was)
	if len(got.Allocations)+len(got.Shards)+len(got.Facts.Devices)+len(got.Settings.Labels) > 0 || got.Held.Yes() || got.ShardsKnown || got.Hearing != "" {
		t.Errorf("something of a node stayed: %+v", got)
	}
}

// TestNodesThatDiffer changes what the version does not stand for.
func TestNodesThatDiffer(t *testing.T) {
	t.Parallel()
	n := filled[inventory.Node](t)
	for what, c := range map[string]struct {
		change func(*inventory.Node)
		seen   bool
	}{
		"last seen":     {func(n *inventory.Node) { n.LastSeen = time.Now() }, false},
		"sample":        {func(n *inventory.Node) { n.Sample, n.SampleAt = nil, time.Now() }, false},
		"clock":         {func(n *inventory.Node) { n.ClockSkew = time.Second }, false},
		"clock far off": {func(n *inventory.Node) { n.ClockSkew = time.Hour }, true},
		"use":           {func(n *inventory.Node) { n.Shards[0].Use = nil }, false},
		"fetch":         {func(n *inventory.Node) { n.Shards[0].Fetch = nil }, false},
		"shard's state": {func(n *inventory.Node) { n.Shards[0].State = inventory.ShardFailed }, true},
		"shard's error": {func(n *inventory.Node) { n.Shards[1].Error = "other" }, true},
		"shard's lines": {func(n *inventory.Node) { n.Shards[1].LastLines = nil }, true},
		"fewer shards":  {func(n *inventory.Node) { n.Shards = n.Shards[:1] }, true},
		"shards known":  {func(n *inventory.Node) { n.ShardsKnown = false }, true},
		"version":       {func(n *inventory.Node) { n.Version++ }, true},
		"hearing":       {func(n *inventory.Node) { n.Hearing = inventory.Lost }, true},
		"held":          {func(n *inventory.Node) { n.Held = inventory.Held{} }, true},
	} {
		is := n
		is.Shards = slices.Clone(n.Shards)
		c.change(&is)
		if sameNode(&n, &is) == c.seen {
			t.Errorf("%s: want a difference seen: %t", what, c.seen)
		}
	}
}

// TestPartsAreWhole writes values of which every field is set and reads them back.
func TestPartsAreWhole(t *testing.T) {
	t.Parallel()
	same(t, filled[reconciler.Replica](t), func(r reconciler.Replica) reconciler.Replica { return reconciler.Replica(through(t, replicaForm(r))) })
	same(t, filled[catalog.Entry](t), func(e catalog.Entry) catalog.Entry { return through(t, e) })
	same(t, filled[reconciler.ModelMemory](t), func(m reconciler.ModelMemory) reconciler.ModelMemory { return through(t, m) })
	same(t, filled[reconciler.Order](t), func(o reconciler.Order) reconciler.Order { return through(t, o) })
	same(t, filled[reconciler.Event](t), func(e reconciler.Event) reconciler.Event { return through(t, e) })
	same(t, filled[reconciler.BrakeMemory](t), func(m reconciler.BrakeMemory) reconciler.BrakeMemory { return through(t, m) })
	same(t, filled[reconciler.ModelTraffic](t), func(m reconciler.ModelTraffic) reconciler.ModelTraffic { return through(t, m) })
	same(t, filled[reconciler.ReplicaTraffic](t), func(m reconciler.ReplicaTraffic) reconciler.ReplicaTraffic { return through(t, m) })
	same(t, filled[inventory.Hold](t), func(h inventory.Hold) inventory.Hold { return through(t, h) })
}

func same[T any](t *testing.T, want T, back func(T) T) {
	t.Helper()
	if diff := cmp.Diff(want, back(want)); diff != "" {
		t.Errorf("%T is lost in part (- want, + got):\n%s", want, diff)
	}
}

// TestEveryFieldIsThoughtOf holds the fields that are written one by one against
// what the types have. One that is new fails here: write it down, then add it.
func TestEveryFieldIsThoughtOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   reflect.Type
		know []string
	}{
		{reflect.TypeFor[reconciler.World](), []string{"Now", "Catalog", "Fleet", "Replicas", "Traffic", "Orders"}},
		{reflect.TypeFor[reconciler.Traffic](), []string{"Since", "Models", "Replicas"}},
		{reflect.TypeFor[reconciler.Memory](), []string{"Next", "Models", "Orphans", "Brake", "Mix", "Sought", "Cache"}},
		{reflect.TypeFor[reconciler.Reconciler](), []string{"Placer", "Floor", "Moves", "ground"}},
		{reflect.TypeFor[placement.Placer](), []string{"Mix", "Filters", "Scorers"}},
		{reflect.TypeFor[placement.Mix](), []string{"Version", "Parts"}},
		{reflect.TypeFor[placement.MixPart](), []string{"Model", "Weight"}},
		{reflect.TypeFor[reconciler.Plan](), []string{"Actions", "Events", "Health", "Traces", "Brake", "OrdersDone", "WakeAt"}},
		{reflect.TypeFor[reconciler.Action](), []string{"Kind", "Replica", "Why", "Versions"}},
		{reflect.TypeFor[placement.ProfileTrace](), []string{"Profile", "Looked", "Chosen", "Counts", "Lines", "Omitted", "Best"}},
		{reflect.TypeFor[inventory.SnapshotState](), []string{"Version", "Nodes", "Holds", "InForce"}},
		{reflect.TypeFor[inventory.ShardStatus](), []string{
			"ID", "Model", "Profile", "State", "Error", "Cause", "LastLines", "Address", "Gate", "Fetch", "Since", "Starts", "Adopted", "Adapters", "Use",
		}},
	} {
		var has []string
		for i := range c.of.NumField() {
			has = append(has, c.of.Field(i).Name)
		}
		if diff := cmp.Diff(c.know, has); diff != "" {
			t.Errorf("%s has other fields than are written down (- known, + there):\n%s", c.of, diff)
		}
	}
}
