package placement_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement"
)

func parse(tb testing.TB, lines ...string) *inventory.Snapshot {
	tb.Helper()
	fleet, err := inventorytest.Parse(strings.Join(lines, "\n"))
	if err != nil {
		tb.Fatal(err)
	}
	return fleet
}

// repeat makes n nodes of one line.
func repeat(n int, line string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("n%04d %s", i, line)
	}
	return out
}

func onDevices(count int, class inventory.Class) *catalog.Model {
	return &catalog.Model{Name: "m", Profiles: []catalog.Profile{{Name: "main", Engine: catalog.EngineVLLM, GPU: &catalog.GPU{Count: count, Class: class}}}}
}

func TestOrderOfNodesAndMapsIsNoInput(t *testing.T) {
	t.Parallel()
	fleet := parse(t, append(repeat(12, "gpu=8xH100-80 mem=512 rack=r1 label.a=1 label.b=2"), "x0 gpu=2xL4-24",
		"x1 cordoned", "x2 gpu=8xH100-80 pool=p", "x3 label.a=2 gpu=8xH100-80", "x4 gpu=8xH100-80 label.b=1")...)
	m := onDevices(2, "H100-80")
	m.Profiles[0].Labels = map[string]string{"a": "1", "b": "2", "c": ""}
	req := placement.Request{Model: m, Avoid: map[inventory.NodeID]string{"n0001": "a start failed here", "n0002": "another failed"}}
	want, wantTrace := placement.Placer{}.Choose(fleet, req, nil)
	if !want.Placed {
		t.Fatal("want a fleet in which it is placed")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		nodes := append([]*inventory.Node{}, fleet.Nodes()...)
		rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		got, trace := placement.Placer{}.Choose(inventory.NewSnapshot(fleet.Version(), nodes), req, nil)
		if diff := cmp.Diff(want, got) + cmp.Diff(wantTrace, trace); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

// Equal nodes are taken by id, or by chance where a source of it is given; a
// better node is taken always.
func TestTies(t *testing.T) {
	t.Parallel()
	fleet := parse(t, append(repeat(8, "gpu=2xL4-24"), "worse gpu=4xL4-24")...)
	req := placement.Request{Model: onDevices(2, "L4-24")}
	if d, _ := (placement.Placer{}).Choose(fleet, req, nil); d.Candidate.Spots[0].Node != "n0000" {
		t.Errorf("want the lowest id, got %s", d.Candidate.Spots[0].Node)
	}
	seen := map[inventory.NodeID]int{}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 400 {
		d, trace := placement.Placer{}.Choose(fleet, req, rng)
		checkLaw(t, trace)
		seen[d.Candidate.Spots[0].Node]++
		if best := trace.Profiles[0].Best[0].Node; best != d.Candidate.Spots[0].Node {
			t.Fatalf("%s was chosen and %s is told to be the best", d.Candidate.Spots[0].Node, best)
		}
	}
	if len(seen) != 8 || seen["worse"] > 0 {
		t.Errorf("want each of the 8 equals at times and the worse one never, got %v", seen)
	}
}

func TestTraceIsBounded(t *testing.T) {
	t.Parallel()
	fleet := parse(t, append(repeat(placement.MaxLines+30, "gpu=1xL4-24"), "zz gpu=2xL4-24", "zy gpu=2xL4-24", "zx gpu=2xL4-24", "zw gpu=2xL4-24", "zv gpu=2xL4-24", "zu gpu=2xL4-24")...)
	d, trace := placement.Placer{}.Choose(fleet, placement.Request{Model: onDevices(2, "L4-24")}, nil)
	checkLaw(t, trace)
	p := trace.Profiles[0]
	if len(p.Lines) != placement.MaxLines || p.Omitted != 30 || len(p.Best) != placement.MaxBest || p.Counts[placement.NoDevices] != placement.MaxLines+30 {
		t.Errorf("got %d lines, %d omitted, %d best, counts %v", len(p.Lines), p.Omitted, len(p.Best), p.Counts)
	}
	if d.Candidate.Spots[0].Node != "zu" || p.Lines[0].Need != 2 || p.Lines[0].Have != 1 || p.Lines[0].Unit != "devices" {
		t.Errorf("want zu and 2 of 1 devices, got %v and %+v", d.Candidate.Spots[0].Node, p.Lines[0])
	}
	if got, want := p.String(), "looked at 136: chosen 1, no_devices 130, outscored 5"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

// Nodes that are only counted cost nothing: a thousand more refusals allocate
// about what the first lines did. The slack is for the runtime's own.
func TestRefusalsDoNotAllocate(t *testing.T) {
	for _, line := range []string{
		"cordoned", "pool=p", "gpu=1xL4-24", "gpu=4xL4-24 alloc=x.0:x:0-3", "gpu=4xL4-24 mem=4", "gpu=4xL4-24 skew=9m", "engines=none",
		"gpu=4xL4-24 foreign=0-3:20",
	} {
		m := onDevices(4, "L4-24")
		m.Profiles[0].MemoryGB = 8
		few, many := parse(t, repeat(placement.MaxLines+1, line)...), parse(t, repeat(placement.MaxLines+1001, line)...)
		allocs := func(fleet *inventory.Snapshot) float64 {
			return testing.AllocsPerRun(3, func() { placement.Placer{}.Choose(fleet, placement.Request{Model: m}, nil) })
		}
		if a, b := allocs(few), allocs(many); b > a+100 {
			t.Errorf("%s: %v allocations for few nodes, %v for many", line, a, b)
		}
	}
}

func TestReasonsAreClosed(t *testing.T) {
	t.Parallel()
	seen := map[placement.Reason]bool{}
	for _, r := range placement.Reasons() {
		if seen[r] || !r.Valid() || r.Text() == "" || r.Advice() == "" {
			t.Errorf("%s: twice %v, text %q, advice %q", r, seen[r], r.Text(), r.Advice())
		}
		seen[r] = true
	}
	if len(seen) != 27 {
		t.Errorf("want 27 reasons, got %d", len(seen))
	}
	if r := placement.Reason("custom:quiet hours"); !r.Valid() || !strings.Contains(r.Text(), "quiet hours") || r.Advice() == "" {
		t.Errorf("an embedder's reason: %q, %q", r.Text(), r.Advice())
	}
	for _, r := range []placement.Reason{"", "custom:", "weather"} {
		if r.Valid() || r.Text() != "" {
			t.Errorf("%q is no reason", r)
		}
	}
}

func TestEmbeddersFiltersAndScorers(t *testing.T) {
	t.Parallel()
	fleet := parse(t, "a gpu=1xL4-24", "b gpu=1xL4-24", "c gpu=1xL4-24 cordoned", "d gpu=1xL4-24")
	asked := []string{}
	p := placement.Placer{
		Filters: []placement.Filter{{Name: "night", Refuse: func(n *inventory.Node, m *catalog.Model, p *catalog.Profile) string {
			asked = append(asked, string(n.ID))
			if n.ID == "a" && m.Name == "m" && p.Name == "main" {
				return "sleeps now"
			}
			return ""
		}}},
		Scorers: []placement.Scorer{{Name: "cool", Score: func(n *inventory.Node, _ *catalog.Model, _ *catalog.Profile) float64 {
			if n.ID == "d" {
				return 0.5
			}
			return 0
		}}},
	}
	d, trace := p.Choose(fleet, placement.Request{Model: onDevices(1, "L4-24")}, nil)
	checkLaw(t, trace)
	got := trace.Profiles[0]
	if d.Candidate.Spots[0].Node != "d" || got.Counts["custom:night"] != 1 || got.Lines[0].Text != "sleeps now" {
		t.Errorf("want d, and a refused by the filter, got %v and %+v", d, got)
	}
	if got.Best[0].Parts["custom:cool"] != 0.5 || got.Best[0].Total-got.Best[1].Total != 0.5 {
		t.Errorf("want the scorer's part in the score, got %+v", got.Best[0])
	}
	if strings.Join(asked, "") != "abd" {
		t.Errorf("want the filter asked after the built-in ones, got %v", asked)
	}
}

// On a node with more devices than can be compared set by set, neighbours are
// taken.
func TestManyDevicesInOneNode(t *testing.T) {
	t.Parallel()
	fleet := parse(t, "a gpu=64xL4-24 alloc=x.0:x:0-4")
	d, _ := placement.Placer{}.Choose(fleet, placement.Request{Model: onDevices(8, "L4-24")}, nil)
	if got := devicesText(d.Candidate.Spots[0].Devices); got != "[8 9 10 11 12 13 14 15]" {
		t.Errorf("want an aligned run, got %s", got)
	}
}

// A definition that validation would refuse is answered, not punished.
func TestOddProfilesDoNotPanic(t *testing.T) {
	t.Parallel()
	fleet := parse(t, "a gpu=2xL4-24 mem=64 rack=r1", "b")
	for _, p := range []catalog.Profile{
		{},
		{GPU: &catalog.GPU{}},
		{GPU: &catalog.GPU{Count: -3}},
		{GPU: &catalog.GPU{Count: 2, Shared: true}},
		{GPU: &catalog.GPU{Count: 2, Shared: true, MemoryGB: 4}},
		{GPU: &catalog.GPU{Count: 1 << 30}},
		{GPU: &catalog.GPU{Count: 1, ComputeCapability: "new"}},
		{MemoryGB: -1, CPUCores: -1, DiskGB: -1},
		{Spread: &catalog.Spread{Level: "galaxy", MaxPerDomain: 1}},
		{Shards: -1},
	} {
		req := placement.Request{Model: &catalog.Model{Profiles: []catalog.Profile{p}}}
		d, trace := placement.Placer{}.Choose(fleet, req, nil)
		checkLaw(t, trace)
		index := placement.NewIndex(placement.Placer{})
		index.Advance(fleet)
		if got, _ := index.Choose(req); !cmp.Equal(d, got) {
			t.Errorf("%+v: the index decides otherwise: %s", p, cmp.Diff(d, got))
		}
	}
	if d, trace := (placement.Placer{}).Choose(inventory.NewSnapshot(1, nil), placement.Request{Model: onDevices(1, "")}, nil); d.Placed || trace.Profiles[0].Looked != 0 {
		t.Errorf("an empty fleet: got %v, %v", d, trace)
	}
}

// TestAskingTellsKindsApart asks one question of nodes as they might be, of
// which each has devices of another class.
func TestAskingTellsKindsApart(t *testing.T) {
	t.Parallel()
	x := placement.NewIndex(placement.Placer{})
	x.Advance(parse(t, "a gpu=1xA100-80", "b gpu=1xH100-80"))
	m := onDevices(1, "H100-80")
	asking := x.Ask(placement.Request{Model: m}, &m.Profiles[0])
	for id, want := range map[inventory.NodeID]placement.Reason{"a": placement.DeviceClass, "b": ""} {
		if got, _, _ := asking.Node(x.Node(id)); got != want {
			t.Errorf("%s: want %q, got %q", id, want, got)
		}
	}
}

// TestSlowerByPartsEquals takes what is quicker than usual, then what is as usual
// or unknown, then what is slower.
func TestSlowerByPartsEquals(t *testing.T) {
	t.Parallel()
	world := parse(t, "a gpu=2xL4-24", "b gpu=2xL4-24", "c gpu=2xL4-24", "d gpu=4xL4-24")
	m := onDevices(2, "L4-24")
	for _, c := range []struct {
		times map[inventory.NodeID]float64
		want  inventory.NodeID
	}{
		{nil, "a"},
		{map[inventory.NodeID]float64{"a": 0, "b": -1}, "a"},
		{map[inventory.NodeID]float64{"a": 1.25}, "b"},
		{map[inventory.NodeID]float64{"a": 1.25, "b": 1.5, "c": 2}, "a"},
		{map[inventory.NodeID]float64{"c": 0.8, "d": 0.1}, "c"},
	} {
		d, trace := placement.Placer{}.Choose(world, placement.Request{Model: m, Speeds: placement.SlowerBy(c.times)}, nil)
		if got := d.Candidate.Spots[0].Node; got != c.want {
			t.Errorf("%v: want %s, got %s: %v", c.times, c.want, got, trace.Profiles[0].Best)
		}
	}
}

// TestSpeedPartsEquals takes the quickest of nodes that are equally good, also
// before one that was not measured, and lets a worse node be quick.
func TestSpeedPartsEquals(t *testing.T) {
	t.Parallel()
	world := parse(t, "a gpu=2xL4-24", "b gpu=2xL4-24", "c gpu=2xL4-24", "d gpu=4xL4-24")
	m := onDevices(2, "L4-24")
	for _, c := range []struct {
		measured map[inventory.NodeID]float64
		want     inventory.NodeID
	}{
		{nil, "a"},
		{map[inventory.NodeID]float64{"b": 0, "c": -1}, "a"},
		{map[inventory.NodeID]float64{"a": 50, "c": 60}, "c"},
		{map[inventory.NodeID]float64{"a": 50, "b": 40}, "a"},
		{map[inventory.NodeID]float64{"a": 10, "b": 40, "c": 20, "d": 1000}, "b"},
	} {
		req := placement.Request{Model: m, Speeds: placement.NewSpeeds(c.measured)}
		d, trace := placement.Placer{}.Choose(world, req, nil)
		if got := d.Candidate.Spots[0].Node; got != c.want {
			t.Errorf("%v: want %s, got %s: %v", c.measured, c.want, got, trace.Profiles[0].Best)
		}
	}
}
