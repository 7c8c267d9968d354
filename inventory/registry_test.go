package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
)

var ops = inventory.Author{Principal: "token:ops"}

// start is a fixed moment for tests that need no running clock.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, store *inventorytest.Store, now time.Time) *inventory.Registry {
	t.Helper()
	r, err := inventory.NewRegistry(t.Context(), inventory.RegistryConfig{Store: store, Holds: store}, now)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestClassAliases shows that what a node reports by an alias is known by its
// class, that the same report again is no news, and that the report is not changed.
func TestClassAliases(t *testing.T) {
	t.Parallel()
	r, err := inventory.NewRegistry(t.Context(), inventory.RegistryConfig{
		Store: &inventorytest.Store{}, ClassAliases: inventory.ClassAliases{"H100-94": "H100-80", "H100-80x": "L4-24"},
	}, start)
	if err != nil {
		t.Fatal(err)
	}
	facts := eightCards()
	facts.Devices[3].Class = "H100-94"
	r.Apply("a1", inventory.Report{Facts: facts}, start)
	n := r.Snapshot().Node("a1")
	if counts := n.ClassCounts(); len(counts) != 1 || counts[0].Class != "H100-80" || counts[0].Total != 8 {
		t.Errorf("want eight of H100-80, got %+v", counts)
	}
	if facts.Devices[3].Class != "H100-94" {
		t.Errorf("the report was changed: %v", facts.Devices[3].Class)
	}
	told := r.Changed()
	r.Apply("a1", inventory.Report{Facts: facts}, start.Add(time.Second))
	select {
	case <-told:
		t.Error("the same report again is taken for news")
	default:
	}
}

func eightCards() *inventory.Facts {
	f := &inventory.Facts{MemoryMB: 1 << 20, CPUs: 96}
	for i := range 8 {
		f.Devices = append(f.Devices, inventory.Device{Index: i, Label: fmt.Sprint(i), Class: "H100-80", MemoryMB: 80 << 10, NUMA: -1})
	}
	return f
}

// told reports whether a channel from Changed was closed.
func told(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func hearing(t *testing.T, r *inventory.Registry, id inventory.NodeID) inventory.Hearing {
	t.Helper()
	n := r.Snapshot().Node(id)
	if n == nil {
		t.Fatalf("node %s is not known", id)
	}
	return n.Hearing
}

// TestLostNodeHasToSayAnew: what a node said before it was lost is not what it
// runs when it is back. One that was only unreachable is believed as before.
func TestLostNodeHasToSayAnew(t *testing.T) {
	t.Parallel()
	r := open(t, &inventorytest.Store{}, start)
	runs := func(id string) inventory.ShardStatus {
		return inventory.ShardStatus{ID: id, State: inventory.ShardReady, Since: start}
	}
	r.Apply("n1", inventory.Report{Whole: true, Shards: []inventory.ShardStatus{runs("a")}}, start)
	silent := func(from, until time.Duration) {
		for at := from; at <= until; at += time.Second {
			r.Tick(start.Add(at))
		}
	}
	check := func(at time.Duration, rep inventory.Report, known bool, shards ...string) {
		t.Helper()
		r.Apply("n1", rep, start.Add(at))
		n := r.Snapshot().Node("n1")
		var has []string
		for _, s := range n.Shards {
			has = append(has, s.ID)
		}
		if diff := cmp.Diff(shards, has); diff != "" || n.ShardsKnown != known || n.Hearing != inventory.Heard {
			t.Errorf("after %s: known %t, want %t; shards (- want, + got):\n%s", at, n.ShardsKnown, known, diff)
		}
	}
	silent(time.Second, 30*time.Second)
	check(30*time.Second, inventory.Report{}, true, "a")
	silent(31*time.Second, 100*time.Second)
	if h := hearing(t, r, "n1"); h != inventory.Lost {
		t.Fatalf("the node is %s", h)
	}
	check(100*time.Second, inventory.Report{Shards: []inventory.ShardStatus{runs("b")}}, false, "b")
	check(101*time.Second, inventory.Report{Whole: true, Shards: []inventory.ShardStatus{runs("a")}}, true, "a")
}

func TestSilenceGrowsInTwoSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := open(t, &inventorytest.Store{}, time.Now())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		r.Apply("a", inventory.Report{Facts: eightCards()}, time.Now())
		for _, step := range []struct {
			wait time.Duration
			want inventory.Hearing
		}{
			{14 * time.Second, inventory.Heard},
			{2 * time.Second, inventory.Unreachable},
			{43 * time.Second, inventory.Unreachable},
			{2 * time.Second, inventory.Lost},
			{time.Hour, inventory.Lost},
		} {
			time.Sleep(step.wait)
			synctest.Wait()
			if got := hearing(t, r, "a"); got != step.want {
				t.Errorf("after %s more: want %s, got %s", step.wait, step.want, got)
			}
		}
		r.Apply("a", inventory.Report{}, time.Now())
		if got := hearing(t, r, "a"); got != inventory.Heard {
			t.Errorf("after a beat: want heard, got %s", got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("want nil from Run when its context ends, got %v", err)
		}
	})
}

func TestBeatsKeepANodeHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := open(t, &inventorytest.Store{}, time.Now())
		go r.Run(ctx)
		for range 100 {
			r.Apply("a", inventory.Report{At: time.Now()}, time.Now())
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if got := hearing(t, r, "a"); got != inventory.Heard {
				t.Fatalf("want heard, got %s", got)
			}
		}
		if age := time.Since(r.Snapshot().Node("a").LastSeen); age > 6*time.Second {
			t.Errorf("quiet beats do not reach LastSeen: it is %s old", age)
		}
	})
}

// A control plane that was stopped for 25 seconds, or for a night, could hear
// nobody; that says nothing about the nodes.
func TestStallOfThisProcessLosesNoNode(t *testing.T) {
	t.Parallel()
	for _, stall := range []time.Duration{6 * time.Second, 25 * time.Second, 12 * time.Hour} {
		r := open(t, &inventorytest.Store{}, start)
		now := start
		r.Apply("a", inventory.Report{Facts: eightCards()}, now)
		for range 10 {
			now = now.Add(time.Second)
			r.Tick(now)
		}
		now = now.Add(stall)
		r.Tick(now)
		if got := hearing(t, r, "a"); got != inventory.Heard {
			t.Errorf("after a stall of %s: want heard, got %s", stall, got)
		}
		for range 4 {
			now = now.Add(time.Second)
			r.Tick(now)
		}
		if got := hearing(t, r, "a"); got != inventory.Unreachable {
			t.Errorf("silent for 15 s beside a stall of %s: want unreachable, got %s", stall, got)
		}
	}
}

func TestTimeThatRunsBackwards(t *testing.T) {
	t.Parallel()
	r := open(t, &inventorytest.Store{}, start)
	r.Apply("a", inventory.Report{}, start)
	r.Tick(start.Add(-time.Hour))
	r.Tick(start.Add(-time.Hour + time.Second))
	if got := hearing(t, r, "a"); got != inventory.Heard {
		t.Errorf("want heard, got %s", got)
	}
}

// What is known from before counts as unreachable at once and is lost only a
// minute after the start, so that a restart of the control plane moves nothing.
func TestRestartDoublesNothing(t *testing.T) {
	t.Parallel()
	store := &inventorytest.Store{}
	if _, err := store.PutNodeSettings(t.Context(), inventory.NodeSettings{Node: "a", Wish: inventory.WishCordoned}, 0, ops); err != nil {
		t.Fatal(err)
	}
	r := open(t, store, start)
	kept := []inventory.Allocation{{Shard: "m-1.0", Replica: "m-1", Model: "m", Node: "b", Devices: []inventory.DeviceShare{{Index: 3}}}}
	r.Restore(kept)
	before := r.Snapshot()
	if r.Restore(kept); r.Snapshot() != before {
		t.Error("a repeated Restore changed something")
	}
	for _, id := range []inventory.NodeID{"a", "b"} {
		if got := hearing(t, r, id); got != inventory.Unreachable {
			t.Errorf("%s at the start: want unreachable, got %s", id, got)
		}
		if n := r.Snapshot().Node(id); n.ShardsKnown || !n.LastSeen.IsZero() {
			t.Errorf("%s: nothing was heard, yet ShardsKnown is %v and LastSeen %s", id, n.ShardsKnown, n.LastSeen)
		}
	}
	now := start
	for range 59 {
		now = now.Add(time.Second)
		r.Tick(now)
	}
	r.Apply("b", inventory.Report{Facts: eightCards()}, now)
	r.Tick(now.Add(2 * time.Second))
	if got := hearing(t, r, "a"); got != inventory.Lost {
		t.Errorf("a was silent for a minute: want lost, got %s", got)
	}
	b := r.Snapshot().Node("b")
	if b.State() != inventory.StateReady || len(b.Allocations) != 1 {
		t.Errorf("b came back: want it ready with its allocation, got %s with %v", b.State(), b.Allocations)
	}
	r.Apply("a", inventory.Report{}, now)
	if got := r.Snapshot().Node("a").State(); got != inventory.StateCordoned {
		t.Errorf("a cordoned node that returns: want cordoned, got %s", got)
	}
}

func TestWhatMakesANewVersion(t *testing.T) {
	t.Parallel()
	temperature := 60.0
	cases := []struct {
		name            string
		report          inventory.Report
		version, signal bool
	}{
		{name: "nothing new", report: inventory.Report{}},
		{name: "the same facts", report: inventory.Report{Facts: eightCards()}},
		{name: "a clock a little off", report: inventory.Report{At: start.Add(10 * time.Second)}},
		{name: "other facts", report: inventory.Report{Facts: &inventory.Facts{MemoryMB: 5}}, version: true, signal: true},
		{name: "a sample", report: inventory.Report{Sample: &inventory.Sample{CPUTempC: &temperature}}}, // until the next Tick
		{name: "a shard", report: inventory.Report{Shards: []inventory.ShardStatus{{ID: "m-1.0", State: inventory.ShardReady}}}, signal: true},
		{name: "a clock to warn of", report: inventory.Report{At: start.Add(time.Minute)}, signal: true},
		{name: "a clock that refuses", report: inventory.Report{At: start.Add(-6 * time.Minute)}, version: true, signal: true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := open(t, &inventorytest.Store{}, start)
			r.Apply("a", inventory.Report{Facts: eightCards(), Whole: true}, start)
			changed, before := r.Changed(), r.Snapshot().Node("a").Version
			r.Apply("a", c.report, start)
			if got := r.Snapshot().Node("a").Version > before; got != c.version {
				t.Errorf("a new version: want %v, got %v", c.version, got)
			}
			if got := told(changed); got != c.signal {
				t.Errorf("a signal: want %v, got %v", c.signal, got)
			}
		})
	}
}

// Measurements are published together, and none is lost on the way.
func TestMeasurementsComeWithTheTick(t *testing.T) {
	t.Parallel()
	sample := func(c float64) *inventory.Sample { return &inventory.Sample{CPUTempC: &c} }
	r := open(t, &inventorytest.Store{}, start)
	r.Apply("a", inventory.Report{Facts: eightCards(), Whole: true}, start)
	seen := func(when string, want float64, at time.Duration) {
		t.Helper()
		n := r.Snapshot().Node("a")
		switch {
		case want == 0 && n.Sample != nil:
			t.Errorf("%s: want no measurement yet, got %v", when, *n.Sample.CPUTempC)
		case want != 0 && (n.Sample == nil || *n.Sample.CPUTempC != want || !n.SampleAt.Equal(start.Add(at))):
			t.Errorf("%s: want %v of %s, got %+v of %s", when, want, at, n.Sample, n.SampleAt)
		}
	}
	changed := r.Changed()
	r.Apply("a", inventory.Report{Sample: sample(60)}, start)
	r.Apply("a", inventory.Report{}, start.Add(100*time.Millisecond))
	if seen("before the tick", 0, 0); told(changed) {
		t.Error("a measurement woke somebody before the tick")
	}
	r.Tick(start.Add(time.Second))
	if seen("with the tick", 60, 0); !told(changed) {
		t.Error("the tick told nobody of a measurement")
	}
	if n := r.Snapshot().Node("a"); !n.LastSeen.Equal(start.Add(100 * time.Millisecond)) {
		t.Errorf("last seen at %s", n.LastSeen)
	}
	changed = r.Changed()
	if r.Tick(start.Add(2 * time.Second)); told(changed) {
		t.Error("a tick without news woke somebody")
	}
	r.Apply("a", inventory.Report{Sample: sample(70)}, start.Add(2*time.Second))
	r.Apply("a", inventory.Report{Facts: &inventory.Facts{MemoryMB: 5}}, start.Add(3*time.Second))
	seen("with other news", 70, 2*time.Second)
	r.Apply("a", inventory.Report{Facts: eightCards(), Sample: sample(80)}, start.Add(4*time.Second))
	seen("in one report", 80, 4*time.Second)
	r.Tick(start.Add(5 * time.Second))
	seen("after a tick", 80, 4*time.Second)
}

func TestShardsAreMergedUntilTheListIsWhole(t *testing.T) {
	t.Parallel()
	r := open(t, &inventorytest.Store{}, start)
	at := func(id string, s inventory.ShardState) inventory.ShardStatus {
		return inventory.ShardStatus{ID: id, State: s}
	}
	steps := []struct {
		report inventory.Report
		want   []inventory.ShardStatus
		known  bool
	}{
		{inventory.Report{Shards: []inventory.ShardStatus{at("b.0", "ready")}}, []inventory.ShardStatus{at("b.0", "ready")}, false},
		{inventory.Report{Whole: true, Shards: []inventory.ShardStatus{at("b.0", "ready"), at("a.0", "starting")}}, []inventory.ShardStatus{at("a.0", "starting"), at("b.0", "ready")}, true},
		{inventory.Report{Shards: []inventory.ShardStatus{at("a.0", "ready")}}, []inventory.ShardStatus{at("a.0", "ready"), at("b.0", "ready")}, true},
		{inventory.Report{}, []inventory.ShardStatus{at("a.0", "ready"), at("b.0", "ready")}, true},
		{inventory.Report{Whole: true}, nil, true},
	}
	for i, s := range steps {
		r.Apply("n", s.report, start)
		n := r.Snapshot().Node("n")
		if diff := cmp.Diff(s.want, n.Shards); diff != "" || n.ShardsKnown != s.known {
			t.Errorf("step %d: known %v, want %v; shards (-want +got):\n%s", i, n.ShardsKnown, s.known, diff)
		}
	}
}

// Whoever holds a snapshot sees the world as it was.
func TestSnapshotsDoNotChange(t *testing.T) {
	t.Parallel()
	r := open(t, &inventorytest.Store{}, start)
	r.Apply("a", inventory.Report{Facts: eightCards(), Whole: true, Shards: []inventory.ShardStatus{{ID: "m.0", State: "starting"}}}, start)
	old := r.Snapshot()
	text := inventorytest.Format(old)
	r.Apply("a", inventory.Report{Shards: []inventory.ShardStatus{{ID: "m.0", State: "ready"}}}, start)
	r.Apply("b", inventory.Report{}, start)
	if err := r.Reserve(map[inventory.NodeID]uint64{"a": old.Node("a").Version}, []inventory.Allocation{{Shard: "x.0", Replica: "x", Node: "a", Devices: []inventory.DeviceShare{{Index: 0}}}}); err != nil {
		t.Fatal(err)
	}
	if got := inventorytest.Format(old); got != text || old.Node("a").Shards[0].State != "starting" || old.Node("b") != nil {
		t.Errorf("a snapshot changed under its reader: %s", got)
	}
	if now := r.Snapshot(); now.Version() <= old.Version() || len(now.Nodes()) != 2 {
		t.Errorf("want a newer snapshot with 2 nodes, got version %d with %d", now.Version(), len(now.Nodes()))
	}
}

func TestConfigSaysAllThatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := inventory.NewRegistry(t.Context(), inventory.RegistryConfig{UnreachableAfter: time.Minute, LostAfter: time.Second}, start)
	if err == nil || !strings.Contains(err.Error(), "Store is missing") || !strings.Contains(err.Error(), "LostAfter") {
		t.Errorf("want complaints about Store and LostAfter, got %v", err)
	}
	store := &inventorytest.Store{Fail: func(string) error { return errors.New("disk on fire") }}
	if _, err := inventory.NewRegistry(t.Context(), inventory.RegistryConfig{Store: store}, start); err == nil {
		t.Error("want the store's error, got none")
	}
}
