package placement_test

import (
	"flag"
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

var simSeed = flag.Uint64("sim-seed", 0, "run only this seed of the simulation")

const simSeeds = 120

// TestLawsInSimulation lets random fleets live for a while and holds every
// decision against the laws. A failure prints the seed and the fleet as text.
func TestLawsInSimulation(t *testing.T) {
	t.Parallel()
	seeds := make([]uint64, 0, simSeeds)
	for seed := range uint64(simSeeds) {
		seeds = append(seeds, seed+1)
	}
	if *simSeed != 0 {
		seeds = []uint64{*simSeed}
	}
	placed, refused := 0, 0
	for _, seed := range seeds {
		s := newSim(t, seed)
		for range 25 {
			s.step()
		}
		if t.Failed() {
			t.Fatalf("the fleet of seed %d (-sim-seed=%d) at the end:\n%s", seed, seed, inventorytest.Format(s.fleet))
		}
		placed, refused = placed+s.placed, refused+s.refused
	}
	if *simSeed == 0 && (placed < 200 || refused < 50) {
		t.Errorf("the simulation shows little: %d placed, %d refused", placed, refused)
	}
}

type sim struct {
	t               *testing.T
	rng             *rand.Rand
	fleet           *inventory.Snapshot
	models          []catalog.Model
	replicas        []string
	next            int
	placed, refused int
}

func newSim(t *testing.T, seed uint64) *sim {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	var lines []string
	for i := range 3 + rng.IntN(9) {
		lines = append(lines, randomNode(rng, fmt.Sprintf("n%02d", i)))
	}
	fleet, err := inventorytest.Parse(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	s := &sim{t: t, rng: rng, fleet: fleet}
	for i := range 5 {
		s.models = append(s.models, randomModel(rng, fmt.Sprintf("m%d", i)))
	}
	return s
}

func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

func randomNode(rng *rand.Rand, id string) string {
	words := []string{
		id,
		pick(rng, "", "mem=64", "mem=512", "mem=2048"), pick(rng, "", "cpu=16", "cpu=96"),
		pick(rng, "", "rack=r1", "rack=r2"), pick(rng, "", "", "", "pool=p"),
		pick(rng, "", "engines=vllm:a", "engines=vllm:b+llamacpp", "engines=none"),
		pick(rng, "", "", "", "", "cordoned", "unreachable", "skew=7m"),
		pick(rng, "", "disk=40/100", "disk=900/1000"),
	}
	gpus := pick(rng, "", "gpu=8xH100-80", "gpu=4xL40S-48", "gpu=2xH100-80+2xL40S-48", "gpu=1xodd", "mig=0:2x3g.40gb+1:1x7g.80gb")
	words = append(words, gpus)
	switch {
	case strings.HasPrefix(gpus, "gpu=8"):
		words = append(words, pick(rng, "", "nvlink=0-7", "nvlink=0-1|2-3|4-5|6-7"), pick(rng, "", "numa=0-3|4-7"), pick(rng, "", "unhealthy=3", "foreign=2:70"))
	case strings.HasPrefix(gpus, "gpu=4"):
		words = append(words, pick(rng, "", "foreign=0-1:20", "unhealthy=0,2"), pick(rng, "", "cc=8.9"))
	}
	return strings.Join(words, " ")
}

func randomModel(rng *rand.Rand, name string) catalog.Model {
	m := catalog.Model{Name: catalog.Name(name)}
	p := catalog.Profile{
		Name: "main", Engine: pick(rng, catalog.EngineVLLM, catalog.EngineLlamaCPP), Build: pick(rng, "", "", "a"),
		MemoryGB: pick(rng, 0, 8, 100), CPUCores: pick(rng, 0, 4), DiskGB: pick(rng, 0, 0, 30), Pool: pick(rng, "", "", "", "p"),
	}
	if rng.IntN(4) > 0 {
		p.GPU = &catalog.GPU{
			Class: pick[inventory.Class](rng, "", "H100-80", "H100-80", "L40S-48", "3g.40gb"), Count: pick(rng, 1, 1, 2, 4, 8),
			MemoryGB: pick(rng, 0, 20, 60), ComputeCapability: pick(rng, "", "9.0"),
		}
		if p.GPU.Count == 1 && rng.IntN(2) == 0 {
			p.GPU.Shared, p.GPU.MemoryGB = true, pick(rng, 7, 20)
		}
	}
	if rng.IntN(3) == 0 {
		p.Spread = &catalog.Spread{Level: pick(rng, inventory.LevelNode, inventory.LevelRack), MaxPerDomain: rng.IntN(3)}
	}
	m.Profiles = []catalog.Profile{p}
	return m
}

func (s *sim) step() {
	switch s.rng.IntN(6) {
	case 0:
		if len(s.replicas) > 0 {
			i := s.rng.IntN(len(s.replicas))
			s.fleet = s.fleet.Without(s.replicas[i])
			s.replicas = append(s.replicas[:i:i], s.replicas[i+1:]...)
		}
	case 1:
		s.fleet = cordon(s.fleet, pick(s.rng, s.fleet.Nodes()...).ID)
	default:
		s.place(&s.models[s.rng.IntN(len(s.models))])
	}
	for _, n := range s.fleet.Nodes() {
		checkNode(s.t, n)
	}
}

func (s *sim) place(m *catalog.Model) {
	req := placement.Request{Model: m}
	d, trace := placement.Placer{}.Choose(s.fleet, req, nil)
	checkLaw(s.t, trace)
	s.checkSame(req, d, trace)
	if !d.Placed {
		s.refused++
		for _, n := range s.fleet.Nodes() {
			if s.wouldFit(n, m) {
				s.t.Errorf("%s is not placed, though %s has room: %s", m.Name, n.ID, traceText(s.t, trace))
			}
		}
		return
	}
	s.placed++
	spot := d.Candidate.Spots[0]
	if n := s.fleet.Node(spot.Node); n.State() != inventory.StateReady || !s.wouldFit(n, m) {
		s.t.Errorf("%s is placed on %s, which has no room or takes nothing", m.Name, spot.Node)
	}
	if reason, text := (placement.Placer{}).Verify(s.fleet, req, d.Candidate); reason != "" {
		s.t.Errorf("%s: what was just chosen does not hold: %s", m.Name, text)
	}
	s.next++
	replica := fmt.Sprintf("%s-%d", m.Name, s.next)
	s.replicas = append(s.replicas, replica)
	s.fleet = s.fleet.With(d.Candidate.Allocations(string(m.Name), replica)...)
}

// checkSame holds a decision against the same question about the same world in
// another form.
func (s *sim) checkSame(req placement.Request, d placement.Decision, trace placement.Trace) {
	nodes := append([]*inventory.Node{}, s.fleet.Nodes()...)
	s.rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	again, traceAgain := placement.Placer{}.Choose(inventory.NewSnapshot(s.fleet.Version(), nodes), req, nil)
	if diff := cmp.Diff(d, again) + cmp.Diff(trace, traceAgain); diff != "" {
		s.t.Errorf("the order of nodes changes the answer: %s", diff)
	}
	for _, n := range nodes {
		if d.Placed && n.ID != d.Candidate.Spots[0].Node && len(n.Allocations) == 0 && n.Settings.Wish == inventory.WishReady {
			if without, _ := (placement.Placer{}).Choose(cordon(s.fleet, n.ID), req, nil); !cmp.Equal(d, without) {
				s.t.Errorf("cordoning %s, which is not used, moves the choice: %s", n.ID, cmp.Diff(d, without))
			}
		}
	}
	extra, err := inventorytest.Parse("zz gpu=8xH100-80 rack=r9 mem=512")
	if err != nil {
		s.t.Fatal(err)
	}
	before := placement.Placer{}.Headroom(s.fleet, req, 40)
	after := placement.Placer{}.Headroom(inventory.NewSnapshot(1, append(nodes, extra.Nodes()...)), req, 40)
	if len(after.Spots) < len(before.Spots) {
		s.t.Errorf("with one more node %d replicas fit, without it %d", len(after.Spots), len(before.Spots))
	}
}

// wouldFit asks in the plainest way whether a node can take one more.
func (s *sim) wouldFit(n *inventory.Node, m *catalog.Model) bool {
	p := &m.Profiles[0]
	skew := n.ClockSkew.Minutes()
	if n.State() != inventory.StateReady || skew > 5 || skew < -5 || n.Pool() != p.Pool {
		return false
	}
	if has, said := n.Facts.HasEngine(string(p.Engine), p.Build); said && !has {
		return false
	}
	if free, known := n.FreeMemoryMB(); known && p.MemoryGB > 0 && free < int64(p.MemoryGB)<<10 {
		return false
	}
	if free, known := n.FreeCores(); known && p.CPUCores > 0 && free < p.CPUCores {
		return false
	}
	if free, known := n.FreeDiskMB(); known && p.DiskGB > 0 && free < int64(p.DiskGB)<<10 {
		return false
	}
	if sp := p.Spread; sp != nil && sp.MaxPerDomain > 0 && (n.Domain(sp.Level) == "" || s.standing(m, sp.Level, n.Domain(sp.Level)) >= sp.MaxPerDomain) {
		return false
	}
	open := 0
	for _, d := range n.Facts.Devices {
		if p.GPU != nil && deviceFits(n, d, p.GPU) {
			open++
		}
	}
	return p.GPU == nil || open >= p.GPU.Count
}

func deviceFits(n *inventory.Node, d inventory.Device, g *catalog.GPU) bool {
	use := n.DeviceUse(d.Index)
	if g.Class != "" && g.Class != d.Class || !d.Healthy() || use.Whole > 0 || g.ComputeCapability == "9.0" && d.ComputeCapability == "8.9" {
		return false
	}
	if g.Shared {
		return !d.MIG() && (d.MemoryMB == 0 || d.MemoryMB-d.ForeignMB-use.SharedMB >= int64(g.MemoryGB)<<10)
	}
	want := int64(g.MemoryGB) << 10
	if want == 0 {
		want = d.MemoryMB / 10 * 9
	}
	return use.Shares == 0 && (g.Count == 1 || !d.MIG()) && (d.MemoryMB == 0 || d.MemoryMB-d.ForeignMB >= want)
}

func (s *sim) standing(m *catalog.Model, level inventory.Level, domain string) int {
	count := 0
	for _, n := range s.fleet.Nodes() {
		for _, a := range n.Allocations {
			if n.Domain(level) == domain && a.Model == string(m.Name) {
				count++
			}
		}
	}
	return count
}

// checkNode holds what a node has given out against what there is.
func checkNode(t *testing.T, n *inventory.Node) {
	t.Helper()
	for _, d := range n.Facts.Devices {
		use := n.DeviceUse(d.Index)
		if use.Whole > 1 || use.Whole == 1 && use.Shares > 0 {
			t.Errorf("%s: device %s is given twice", n.ID, d.Label)
		}
		if d.MemoryMB > 0 && use.SharedMB > d.MemoryMB-d.ForeignMB {
			t.Errorf("%s: %d MiB are reserved of device %s, which has %d beside %d of others", n.ID, use.SharedMB, d.Label, d.MemoryMB, d.ForeignMB)
		}
	}
	memory, known := n.FreeMemoryMB()
	if known && memory < 0 {
		t.Errorf("%s: %d MiB more are reserved than there are", n.ID, -memory)
	}
	if cores, known := n.FreeCores(); known && cores < 0 {
		t.Errorf("%s: %d cores more are reserved than there are", n.ID, -cores)
	}
}

// cordon returns the fleet with one node cordoned, or ready again.
func cordon(fleet *inventory.Snapshot, id inventory.NodeID) *inventory.Snapshot {
	nodes := append([]*inventory.Node{}, fleet.Nodes()...)
	for i, n := range nodes {
		if n.ID != id {
			continue
		}
		c := *n
		c.Settings.Wish = inventory.WishCordoned
		if n.Settings.Wish == inventory.WishCordoned {
			c.Settings.Wish = inventory.WishReady
		}
		nodes[i] = &c
	}
	return inventory.NewSnapshot(fleet.Version(), nodes)
}
