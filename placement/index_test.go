package placement_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement"
)

// TestIndexDifferential lets random fleets live, and asks the index and the
// plain scan the same questions: decisions and counts are equal, always.
func TestIndexDifferential(t *testing.T) {
	t.Parallel()
	asked, groups := 0, 0
	for seed := range uint64(differentialSeeds) {
		d := newDuel(t, seed+1)
		for range 60 {
			d.step()
		}
		if t.Failed() {
			t.Fatalf("the fleet of seed %d at the end:\n%s", seed+1, inventorytest.Format(d.world))
		}
		asked, groups = asked+d.placed, groups+d.groups
	}
	if asked < 500 || groups < 50 {
		t.Errorf("the fleets show little: %d placed, %d of them groups", asked, groups)
	}
}

// duel is a world with an index that is brought up to it.
type duel struct {
	t              *testing.T
	rng            *rand.Rand
	placer         placement.Placer
	index          *placement.Index
	world          *inventory.Snapshot
	models         []catalog.Model
	replicas       map[string][]inventory.NodeID
	speeds         *placement.Speeds
	next           int
	placed, groups int
}

func newDuel(t *testing.T, seed uint64) *duel {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 11))
	d := &duel{t: t, rng: rng, replicas: map[string][]inventory.NodeID{}}
	lines := mixedFleet(rng)
	d.models = mixedModels(rng)
	if seed%2 == 0 {
		// Nodes that are alike part only by what a placement spoils elsewhere.
		lines, d.models = alikeFleet(rng), alikeModels()
	}
	world, err := inventorytest.Parse(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	d.world = world
	if seed%2 == 0 || rng.IntN(2) == 0 {
		for i := range d.models {
			d.placer.Mix.Parts = append(d.placer.Mix.Parts, placement.MixPart{Model: &d.models[i], Weight: float64(1 + rng.IntN(5))})
		}
	}
	if rng.IntN(3) == 0 {
		d.placer.Filters = []placement.Filter{{Name: "few", Refuse: func(n *inventory.Node, _ *catalog.Model, _ *catalog.Profile) string {
			if len(n.Allocations) > 2 {
				return "has enough"
			}
			return ""
		}}}
	}
	d.index = placement.NewIndex(d.placer)
	d.index.Advance(world)
	measured := map[inventory.NodeID]float64{}
	for _, n := range world.Nodes() {
		measured[n.ID] = float64(rng.IntN(4))
	}
	d.speeds = placement.NewSpeeds(measured)
	return d
}

func mixedFleet(rng *rand.Rand) []string {
	var lines []string
	for i := range 6 + rng.IntN(20) {
		line := randomNode(rng, fmt.Sprintf("n%02d", i)) + pick(rng, "", " pdu=p1", " pdu=p2") +
			pick(rng, "", " fabric=ib0@f0", " fabric=ib1@f1", " fabric=ib0@f1+ib2") + pick(rng, "", " imex=READY", " imex=DOWN")
		if strings.Contains(line, "gpu=") && rng.IntN(2) == 0 {
			line += pick(rng, " nvl=r1/1", " nvl=r2/1")
		}
		lines = append(lines, line)
	}
	return lines
}

func mixedModels(rng *rand.Rand) []catalog.Model {
	var out []catalog.Model
	for i := range 6 {
		m := randomModel(rng, fmt.Sprintf("m%d", i))
		if p := &m.Profiles[0]; i%2 == 0 {
			p.Shards, p.Pool, p.Build = 2+rng.IntN(2), "", ""
			p.Fabric, p.NVLinkDomain = pick(rng, "", "any", "ib0"), rng.IntN(4) == 0
			second := *p
			second.Name, second.Shards, second.GPU = "second", 1, nil
			m.Profiles = append(m.Profiles, second)
		}
		if rng.IntN(3) == 0 {
			m.Files = []catalog.File{{Path: "w.gguf", Bytes: 20 << 30}}
		}
		out = append(out, m)
	}
	return out
}

func alikeFleet(rng *rand.Rand) []string {
	var lines []string
	for i := range 10 + rng.IntN(10) {
		lines = append(lines, fmt.Sprintf("n%02d gpu=8xH100-80 rack=r%d fabric=ib@f%d", i, rng.IntN(6), rng.IntN(4)))
	}
	return lines
}

func alikeModels() []catalog.Model {
	var out []catalog.Model
	for i, shape := range [][2]int{{1, 1}, {2, 1}, {4, 1}, {8, 1}, {8, 2}, {8, 3}} {
		m := onDevices(shape[0], "H100-80")
		m.Name = catalog.Name(fmt.Sprintf("m%d", i))
		if m.Profiles[0].Shards = shape[1]; shape[1] > 1 {
			m.Profiles[0].Fabric = "any"
		}
		out = append(out, *m)
	}
	return out
}

func (d *duel) step() {
	switch d.rng.IntN(8) {
	case 0:
		for replica, nodes := range d.replicas {
			d.world = d.world.Without(replica)
			d.index.Without(replica, nodes...)
			delete(d.replicas, replica)
			break
		}
	case 1:
		d.world = cordon(d.world, pick(d.rng, d.world.Nodes()...).ID)
		d.index.Advance(d.world)
	case 2:
		d.change()
	default:
		d.ask(&d.models[d.rng.IntN(len(d.models))])
	}
	if d.rng.IntN(6) == 0 {
		d.index.Advance(d.world)
	}
}

// change makes a node another: its facts, its place, or gone.
func (d *duel) change() {
	nodes := append([]*inventory.Node{}, d.world.Nodes()...)
	i := d.rng.IntN(len(nodes))
	n := *nodes[i]
	n.Version++
	switch d.rng.IntN(4) {
	case 0:
		n.Facts.Labels = map[string]string{inventory.LabelPrefix + "rack": pick(d.rng, "r1", "r2", "r3")}
	case 1:
		n.Facts.Weights = []inventory.Weight{{Path: "w.gguf", Bytes: 20 << 30}}
	case 2:
		n.Facts.Engines = nil
	case 3:
		n.Facts.MemoryMB += 1024
	}
	nodes[i] = &n
	d.world = inventory.NewSnapshot(d.world.Version()+1, nodes)
	if d.rng.IntN(2) == 0 && d.index.Update(&n) {
		return
	}
	d.index.Advance(d.world)
}

func (d *duel) ask(m *catalog.Model) {
	req := placement.Request{Model: m}
	if d.rng.IntN(3) == 0 {
		req.Avoid = map[inventory.NodeID]string{pick(d.rng, d.world.Nodes()...).ID: "it failed", "nowhere": "is not there"}
	}
	if d.rng.IntN(6) == 0 {
		req.Apart = []catalog.Name{d.models[0].Name}
	}
	req.Speeds = pick(d.rng, nil, d.speeds)
	want, wantTrace := d.placer.Choose(d.world, req, nil)
	got, trace := d.index.Choose(req)
	d.same(m, want, got)
	d.sameCounts(m, wantTrace, trace)
	explained, told := d.index.Explain(req)
	told.Version = wantTrace.Version
	if diff := cmp.Diff(want, explained) + cmp.Diff(wantTrace, told); diff != "" {
		d.t.Errorf("%s: the index tells otherwise than the scan (-scan +index):\n%s", m.Name, diff)
	}
	if d.rng.IntN(5) == 0 {
		d.sameHeadroom(req)
	}
	if !want.Placed {
		return
	}
	d.placed++
	if len(want.Candidate.Spots) > 1 {
		d.groups++
	}
	if reason, text := d.placer.Verify(d.world, req, want.Candidate); reason != "" {
		d.t.Errorf("%s: what was just chosen does not hold: %s", m.Name, text)
	}
	d.next++
	replica := fmt.Sprintf("%s-%d", m.Name, d.next)
	as := want.Candidate.Allocations(string(m.Name), replica)
	for _, a := range as {
		d.replicas[replica] = append(d.replicas[replica], a.Node)
	}
	d.world = d.world.With(as...)
	d.index.With(as...)
}

func (d *duel) same(m *catalog.Model, want, got placement.Decision) {
	d.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Errorf("%s: the index decides otherwise than the scan (-scan +index):\n%s", m.Name, diff)
	}
}

func (d *duel) sameCounts(m *catalog.Model, want, got placement.Trace) {
	d.t.Helper()
	want.Profiles = slices.Clone(want.Profiles)
	for i := range want.Profiles {
		p := &want.Profiles[i]
		p.Lines, p.Omitted, p.Best = nil, 0, nil
	}
	got.Version = want.Version
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Errorf("%s: the index counts otherwise than the scan (-scan +index):\n%s", m.Name, diff)
	}
}

// sameHeadroom compares headroom with choosing on copies one after the other, and
// holds it to leaving nothing behind.
func (d *duel) sameHeadroom(req placement.Request) {
	d.t.Helper()
	before, _ := d.index.Choose(req)
	was := d.nodes()
	var want []placement.Candidate
	var blocked placement.Trace
	for world := d.world; len(want) < 5; {
		next, trace := d.placer.Choose(world, req, nil)
		if !next.Placed {
			blocked = trace
			break
		}
		world = world.With(next.Candidate.Allocations(string(req.Model.Name), fmt.Sprintf("headroom/%d", len(want)))...)
		want = append(want, next.Candidate)
	}
	got, whole := d.index.Headroom(req, 5), d.placer.Headroom(d.world, req, 5)
	if diff := cmp.Diff(want, got.Spots) + cmp.Diff(want, whole.Spots) + cmp.Diff(blocked, whole.Blocked); diff != "" {
		d.t.Errorf("%s: the index finds other headroom (-scan +index):\n%s", req.Model.Name, diff)
	}
	after, _ := d.index.Choose(req)
	if diff := cmp.Diff(before, after); diff != "" || !slices.Equal(was, d.nodes()) {
		d.t.Errorf("%s: headroom left something behind: %s", req.Model.Name, diff)
	}
}

// nodes are the very nodes that the index knows.
func (d *duel) nodes() []*inventory.Node {
	var out []*inventory.Node
	for _, n := range d.world.Nodes() {
		out = append(out, d.index.Node(n.ID))
	}
	return out
}

// A question that is refused costs no memory.
func TestIndexRefusalsDoNotAllocate(t *testing.T) {
	fleet := parse(t, append(repeat(300, "gpu=8xH100-80 mem=512 rack=r1 fabric=ib0"), repeat2(50, "gpu=4xL4-24 cordoned")...)...)
	index := placement.NewIndex(placement.Placer{})
	index.Advance(fleet)
	group := onDevices(9, "H100-80")
	group.Name, group.Profiles[0].Shards, group.Profiles[0].Fabric = "group", 2, "any"
	for _, m := range []*catalog.Model{onDevices(9, "H100-80"), group} {
		req := placement.Request{Model: m}
		index.Choose(req)
		if n := testing.AllocsPerRun(100, func() { index.Choose(req) }); n > 0 {
			t.Errorf("%s: %v allocations", m.Name, n)
		}
	}
}

// repeat2 makes n more nodes of another line.
func repeat2(n int, line string) []string {
	out := repeat(n, line)
	for i := range out {
		out[i] = "z" + out[i]
	}
	return out
}
