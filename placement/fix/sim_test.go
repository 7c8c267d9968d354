package fix_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/fix"
)

var seed = flag.Uint64("fix-seed", 0, "run only this seed of the random fleets")

// lanes is how many parts of the seeds run at once.
const lanes = 8

// TestFixSim holds what is found on random small fleets against trying every
// single change: where one of them places the request, a fix of one step is
// found; and whatever is found places it.
func TestFixSim(t *testing.T) {
	t.Parallel()
	if *seed != 0 {
		trySeed(t, *seed)
		return
	}
	var needed, mended, whole atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d fleets without room: one change makes room in %d, several in %d", needed.Load(), mended.Load(), whole.Load())
		if needed.Load() < seeds/2 || mended.Load() < seeds/8 || whole.Load() < seeds/50 {
			t.Errorf("the fleets show little: %d without room, one step in %d, several in %d", needed.Load(), mended.Load(), whole.Load())
		}
	})
	for lane := range uint64(lanes) {
		t.Run(fmt.Sprint(lane), func(t *testing.T) {
			t.Parallel()
			for s := lane + 1; s <= seeds && !t.Failed(); s += lanes {
				steps := trySeed(t, s)
				if steps != 0 {
					needed.Add(1)
				}
				switch {
				case steps == 1:
					mended.Add(1)
				case steps > 1:
					whole.Add(1)
				}
			}
		})
	}
}

// trySeed answers how many steps the fix has: 0 for room as things are, -1 for
// none.
func trySeed(t *testing.T, seed uint64) int {
	rng := rand.New(rand.NewPCG(seed, 11))
	c := randomTrial(t, rng)
	if c.after() {
		return 0
	}
	f, why, ok := c.find()
	if ok {
		c.check(t, f)
	}
	c.checkIndex(t, f)
	single := c.single(t)
	if single != "" && (!ok || len(f.Steps) != 1) {
		t.Errorf("one step does, %s; but what is found is %q %q", single, f.Text, why)
	}
	if t.Failed() {
		p := c.req.Model.Profiles[0]
		t.Fatalf("seed %d (-fix-seed=%d): profile %+v gpu %+v spread %+v classes %v unneeded %v on\n%s",
			seed, seed, p, p.GPU, p.Spread, c.classes, c.unneeded, inventorytest.Format(c.fleet))
	}
	if !ok {
		if why == "" {
			t.Errorf("seed %d: there is no fix, and nobody says why", seed)
		}
		return -1
	}
	return len(f.Steps)
}

// checkIndex asks an index about a fix twice, and holds what it says of the
// request itself against what it said before.
func (c *trial) checkIndex(t *testing.T, want fix.Fix) {
	t.Helper()
	x := placement.NewIndex(placement.Placer{})
	x.Advance(c.fleet)
	_, before := x.Explain(c.req)
	for range 2 {
		if f, _, _ := fix.Find(x, c.question()); !reflect.DeepEqual(f, want) {
			t.Errorf("asked again it says %q, and %q before", f.Text, want.Text)
		}
	}
	if _, after := x.Explain(c.req); !reflect.DeepEqual(before, after) {
		t.Errorf("the index says something else afterwards:\n%+v\n%+v", before, after)
	}
	for _, n := range c.fleet.Nodes() {
		if x.Node(n.ID) != n {
			t.Errorf("node %s is another afterwards", n.ID)
		}
	}
}

// named is one change of the closed list.
type named struct {
	name string
	make func(c *trial)
}

// changes are all single changes there are, of numbers as far as they may go.
func (c *trial) changes(t *testing.T) []named {
	var out []named
	add := func(name string, change func(c *trial)) { out = append(out, named{name, change}) }
	for _, n := range c.fleet.Nodes() {
		for name, edit := range c.nodeChanges(n) {
			add(name+" "+string(n.ID), func(c *trial) { c.fleet = edited(c.fleet, n.ID, edit) })
		}
	}
	for _, h := range c.fleet.Holds() {
		add("release "+h.Domain.String(), func(c *trial) { c.fleet = released(t, c.fleet, h.Domain.String()) })
	}
	for _, o := range c.standing() {
		if o.Class.Rank() <= c.req.Model.Class.Rank() && o.Model != c.req.Model.Name {
			add("stop "+o.Replica, func(c *trial) { c.fleet = c.fleet.Without(o.Replica) })
		}
	}
	add("allow", func(c *trial) { c.req.Profiles = nil })
	add("retry", func(c *trial) { c.req.Avoid = nil })
	for i := range c.req.Model.Profiles {
		p := &c.req.Model.Profiles[i]
		for key, to := range farthest(p) {
			add(fmt.Sprintf("%s %s %d", p.Name, key, to), func(c *trial) {
				m := *c.req.Model
				m.Profiles = append([]catalog.Profile{}, m.Profiles...)
				tune(&m.Profiles[i], key, to)
				c.req.Model = &m
			})
		}
	}
	return out
}

// after reports whether the request finds room when these changes are made.
func (c *trial) after(changes ...named) (placed bool) {
	after := *c
	for _, change := range changes {
		change.make(&after)
	}
	d, _ := placement.Placer{}.Choose(after.fleet, after.req, nil)
	return d.Placed
}

// single names a single change that makes room; empty: none does.
func (c *trial) single(t *testing.T) string {
	for _, change := range c.changes(t) {
		if c.after(change) {
			return change.name
		}
	}
	return ""
}

// TestFixSimOfTwoSteps does the same with every two changes, where one does not
// do: then a fix is found, and for a single shard one of two steps.
func TestFixSimOfTwoSteps(t *testing.T) {
	t.Parallel()
	found := 0
	for s := range uint64(pairSeeds) {
		c := randomTrial(t, rand.New(rand.NewPCG(s, 13)))
		if c.after() || c.single(t) != "" {
			continue
		}
		f, why, ok := c.find()
		if ok && len(f.Steps) == 2 {
			found++
			continue
		}
		all := c.changes(t)
		for i := range all {
			for k := range all[:i] {
				if c.after(all[i], all[k]) && (!ok || c.req.Model.Profiles[0].Shards == 1) {
					t.Fatalf("seed %d: %s and %s do; but what is found is %q %q on\n%s", s, all[i].name, all[k].name, f.Text, why, inventorytest.Format(c.fleet))
				}
			}
		}
	}
	if found < pairSeeds/20 {
		t.Errorf("the fleets show little: %d need two steps", found)
	}
}

// farthest are the numbers of a profile as far as they may be changed: what a
// number between does, that one does too.
func farthest(p *catalog.Profile) map[string]int {
	half := func(v int) int { return (v + 1) / 2 }
	out := map[string]int{"min_memory_gb": half(p.MemoryGB), "cpu_cores": half(p.CPUCores), "disk_gb": half(p.DiskGB)}
	if p.GPU != nil && p.GPU.MemoryGB > 0 {
		out["gpu.memory_gb"] = half(p.GPU.MemoryGB)
	}
	if p.Spread != nil && p.Spread.MaxPerDomain > 0 {
		out["spread.max_per_domain"] = p.Spread.MaxPerDomain + 16
	}
	return out
}

func (c *trial) nodeChanges(n *inventory.Node) map[string]func(n *inventory.Node) {
	out := map[string]func(n *inventory.Node){
		"uncordon": func(n *inventory.Node) { n.Settings.Wish = inventory.WishReady },
		"reach":    func(n *inventory.Node) { n.Hearing = inventory.Heard },
		"clock":    func(n *inventory.Node) { n.ClockSkew = 0 },
		"imex":     func(n *inventory.Node) { n.Facts.IMEX, n.Facts.IMEXChannels = inventory.IMEXReady, nil },
		"clear":    func(n *inventory.Node) { devices(n, func(d *inventory.Device) { d.ForeignMB = 0 }) },
		"repair":   func(n *inventory.Node) { devices(n, func(d *inventory.Device) { d.Problem = "" }) },
		"collect":  func(n *inventory.Node) { collect(n, c.unneeded[n.ID]) },
	}
	if n.Facts.Engines != nil {
		for i := range c.req.Model.Profiles {
			m := *c.req.Model
			m.Profiles = m.Profiles[i : i+1]
			out[fmt.Sprint("install ", i)] = func(n *inventory.Node) { install(n, &m) }
		}
	}
	for i := range c.req.Model.Profiles {
		out[fmt.Sprint("label ", i)] = func(n *inventory.Node) {
			p := &c.req.Model.Profiles[i]
			label(n, inventory.LabelPrefix+"pool", p.Pool)
			for k, v := range p.Labels {
				label(n, k, v)
			}
		}
	}
	return out
}

func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

// randomTrial is a small fleet in which a request may find no room, mostly by
// little.
func randomTrial(t *testing.T, rng *rand.Rand) *trial {
	t.Helper()
	shards := pick(rng, 1, 1, 1, 2, 3)
	m := &catalog.Model{Name: "m", Class: pick(rng, catalog.ClassBatch, catalog.ClassStandard, catalog.ClassStandard, catalog.ClassCritical)}
	for i := range 1 + rng.IntN(4)/3 {
		m.Profiles = append(m.Profiles, randomProfile(rng, fmt.Sprint("p", i), shards))
	}
	var lines []string
	for i := range 2 + rng.IntN(5) + shards {
		lines = append(lines, randomNode(rng, i, &m.Profiles[0]))
	}
	for _, h := range []string{"rack:r1", "rack:r2", "room:a"} {
		if rng.IntN(6) == 0 {
			lines = append(lines, "hold "+h+` "work"`)
		}
	}
	fleet, err := inventorytest.Parse(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	c := caseOf(fleet, m)
	c.classes = map[catalog.Name]catalog.Class{
		"x": catalog.ClassBatch, "y": catalog.ClassStandard, "z": catalog.ClassCritical, "m": m.Class,
	}
	for _, n := range fleet.Nodes() {
		if rng.IntN(4) == 0 {
			c.unneeded[n.ID] = int64(pick(rng, 10, 50)) << 10
		}
		if rng.IntN(30) == 0 {
			c.req.Avoid = map[inventory.NodeID]string{n.ID: ""}
		}
	}
	if len(m.Profiles) > 1 && rng.IntN(2) == 0 {
		c.req.Profiles = []string{"p0"}
	}
	if rng.IntN(5) == 0 {
		c.req.Apart = []catalog.Name{pick(rng, catalog.Name("x"), "y")}
	}
	return c
}

func randomProfile(rng *rand.Rand, name string, shards int) catalog.Profile {
	p := catalog.Profile{
		Name: name, Engine: catalog.EngineVLLM, Build: pick(rng, "", "", "a"), Shards: shards,
		MemoryGB: pick(rng, 0, 16, 100), CPUCores: pick(rng, 0, 0, 8), DiskGB: pick(rng, 0, 0, 60), Pool: pick(rng, "", "", "", "p"),
	}
	if rng.IntN(5) > 0 {
		p.GPU = &catalog.GPU{Class: pick[inventory.Class](rng, "", "H100-80", "H100-80", "L40S-48"), Count: pick(rng, 1, 2, 4), MemoryGB: pick(rng, 0, 0, 40, 60)}
		if p.GPU.Count == 1 && rng.IntN(2) == 0 {
			p.GPU.Shared, p.GPU.MemoryGB = true, pick(rng, 20, 50)
		}
	}
	if rng.IntN(4) == 0 {
		p.Spread = &catalog.Spread{Level: pick(rng, inventory.LevelNode, inventory.LevelRack), MaxPerDomain: 1 + rng.IntN(2)}
	}
	if rng.IntN(8) == 0 {
		p.Labels = map[string]string{"tier": "gold"}
	}
	if shards > 1 {
		p.Fabric = pick(rng, "", "any", "ib0")
		p.NVLinkDomain = p.GPU != nil && rng.IntN(4) == 0
	}
	return p
}

// randomNode is one that the profile could run on, but for a flaw or two.
func randomNode(rng *rand.Rand, i int, p *catalog.Profile) string {
	words := []string{
		fmt.Sprintf("n%d", i), "rack=" + pick(rng, "r1", "r2", "r3"), "room=" + pick(rng, "a", "b"), "fabric=" + pick(rng, "ib0", "ib0", "ib1"),
		"imex=" + pick(rng, "READY", "READY", "READY", "DOWN"),
	}
	gpus := pick(rng, 4, 4, 8)
	flaw := map[int]bool{rng.IntN(12): true}
	if rng.IntN(3) == 0 {
		flaw[rng.IntN(12)] = true
	}
	say := func(is bool, word string) {
		if is {
			words = append(words, word)
		}
	}
	class := "H100-80"
	if flaw[0] || p.GPU != nil && p.GPU.Class == "L40S-48" && rng.IntN(3) > 0 {
		class = "L40S-48"
	}
	words = append(words, fmt.Sprintf("gpu=%dx%s", gpus, class), "nvl="+pick(rng, "d1", "d2"))
	say(flaw[1], pick(rng, "cordoned", "draining"))
	say(flaw[2], pick(rng, "unreachable", "lost", "skew=8m"))
	say(flaw[3] != (p.Pool != "" && rng.IntN(4) > 0), "pool=p")
	say(flaw[4], "engines="+pick(rng, "none", "vllm:b", "llamacpp"))
	say(!flaw[4] && rng.IntN(2) == 0, "engines=vllm:a")
	say(flaw[5], fmt.Sprintf("mem=%d", pick(rng, 40, 60, 90)))
	say(!flaw[5] && rng.IntN(2) == 0, "mem=512")
	say(flaw[6], fmt.Sprintf("cpu=%d", pick(rng, 4, 8)))
	say(flaw[7], fmt.Sprintf("disk=%d/900", pick(rng, 10, 40)))
	say(flaw[8], pick(rng, "unhealthy=0", "unhealthy=0-3"))
	say(flaw[9], pick(rng, "foreign=0-3:30", "foreign=0:60"))
	say(p.Labels != nil && rng.IntN(2) == 0, "label.tier="+pick(rng, "gold", "tin"))
	if rng.IntN(3) > 0 {
		words = append(words, randomAllocations(rng, i, gpus)...)
	}
	return strings.Join(words, " ")
}

// randomAllocations fill a node from its first device on. Replicas of a group
// have one name on all nodes.
func randomAllocations(rng *rand.Rand, i, gpus int) []string {
	var out []string
	for at := 0; at < gpus; {
		size := pick(rng, 1, 2, 4)
		size = min(size, gpus-at)
		model := pick(rng, "x", "y", "y", "z", "m", "")
		replica := fmt.Sprintf("%s-%d%d.0", model, i, at)
		if model == "y" && rng.IntN(2) == 0 {
			replica = fmt.Sprintf("y-g%d.%d", rng.IntN(2), i*10+at)
		}
		if model != "" {
			out = append(out, fmt.Sprintf("alloc=%s:%s:%d-%d:mem=%d:cpu=1", replica, model, at, at+size-1, pick(rng, 0, 8, 200)))
		}
		at += size
	}
	return out
}
