package fix_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/fix"
)

// TestFixScript runs the scripts under testdata. Their commands:
//
//	fleet     the input is a fleet as inventorytest reads it
//	model     the input is a definition as JSON
//	find [profiles=(a,b)] [avoid=(node,…)] [apart=(model,…)] [unneeded=(node:GiB,…)] [class=(model:class,…)]
//
// Every replica of the fleet is one that people could stop, loaded in ten
// seconds. Whatever is found is applied to the fleet, and has to place.
func TestFixScript(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var fleet *inventory.Snapshot
		var model catalog.Model
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "fleet":
				var err error
				if fleet, err = inventorytest.Parse(d.Input); err != nil {
					return err.Error() + "\n"
				}
				return fmt.Sprintf("%d nodes\n", len(fleet.Nodes()))
			case "model":
				model = catalog.Model{}
				if err := json.Unmarshal([]byte(d.Input), &model); err != nil {
					d.Fatalf(t, "the definition: %v", err)
				}
				return ""
			case "find":
				return find(t, d, fleet, &model)
			}
			d.Fatalf(t, "no such command: %s", d.Cmd)
			return ""
		})
	})
}

func find(t *testing.T, d *datadriven.TestData, fleet *inventory.Snapshot, m *catalog.Model) string {
	c := caseOf(fleet, m)
	c.classes = map[catalog.Name]catalog.Class{}
	for _, a := range d.CmdArgs {
		for _, v := range a.Vals {
			key, value, _ := strings.Cut(v, ":")
			switch a.Key {
			case "profiles":
				c.req.Profiles = append(c.req.Profiles, v)
			case "apart":
				c.req.Apart = append(c.req.Apart, catalog.Name(v))
			case "avoid":
				if c.req.Avoid == nil {
					c.req.Avoid = map[inventory.NodeID]string{}
				}
				c.req.Avoid[inventory.NodeID(v)] = "a start failed here"
			case "unneeded":
				gb := 0
				if _, err := fmt.Sscan(value, &gb); err != nil {
					d.Fatalf(t, "unneeded: %v", err)
				}
				c.unneeded[inventory.NodeID(key)] = int64(gb) << 10
			case "class":
				c.classes[catalog.Name(key)] = catalog.Class(value)
			default:
				d.Fatalf(t, "find has no %s", a.Key)
			}
		}
	}
	before := inventorytest.Format(fleet)
	f, why, ok := c.find()
	if after := inventorytest.Format(fleet); after != before {
		t.Errorf("finding a fix changed the fleet to\n%s", after)
	}
	if !ok {
		return "none: " + why + "\n"
	}
	c.check(t, f)
	var b strings.Builder
	fmt.Fprintln(&b, f.Text)
	for _, s := range f.Steps {
		fmt.Fprintf(&b, "  %s %s: %s (%s)\n", s.Do, s.Object, s.Text, s.Detail)
	}
	if len(f.Stops) > 0 {
		fmt.Fprintf(&b, "  stops %s\n", strings.Join(f.Stops, ", "))
	}
	return b.String()
}

// trial is a question about a fleet.
type trial struct {
	fleet    *inventory.Snapshot
	req      placement.Request
	classes  map[catalog.Name]catalog.Class
	unneeded map[inventory.NodeID]int64
}

func caseOf(fleet *inventory.Snapshot, m *catalog.Model) *trial {
	return &trial{fleet: fleet, req: placement.Request{Model: m}, unneeded: map[inventory.NodeID]int64{}}
}

// standing are all replicas of the fleet.
func (c *trial) standing() []placement.Occupant {
	var out []placement.Occupant
	seen := map[string]bool{}
	for _, n := range c.fleet.Nodes() {
		for _, a := range n.Allocations {
			if !seen[a.Replica] {
				seen[a.Replica] = true
				out = append(out, placement.Occupant{
					Replica: a.Replica, Model: catalog.Name(a.Model), Class: c.classes[catalog.Name(a.Model)], Seconds: 10,
				})
			}
		}
	}
	return out
}

func (c *trial) find() (fix.Fix, string, bool) {
	x := placement.NewIndex(placement.Placer{})
	x.Advance(c.fleet)
	return fix.Find(x, c.question())
}

func (c *trial) question() fix.Question {
	return fix.Question{
		Request: c.req, Standing: c.standing(), Holds: c.fleet.Holds(),
		Unneeded: func(n *inventory.Node) int64 { return c.unneeded[n.ID] },
	}
}

// check applies a fix step by step to the fleet and asks the placer, and holds
// the steps against the rules.
func (c *trial) check(t *testing.T, f fix.Fix) {
	t.Helper()
	after := *c
	for _, s := range f.Steps {
		after.do(t, s)
	}
	d, trace := placement.Placer{}.Choose(after.fleet, after.req, nil)
	if !d.Placed {
		t.Errorf("%s\nBut then it is not placed: %v", f.Text, trace.Profiles)
		return
	}
	if len(d.Candidate.Spots) != len(f.Places) {
		t.Fatalf("%d places are named, and it takes %d", len(f.Places), len(d.Candidate.Spots))
	}
	for i, s := range d.Candidate.Spots {
		if f.Places[i] != s.Node {
			t.Errorf("place %d is named as %s, and it is %s", i, f.Places[i], s.Node)
		}
	}
	for _, o := range c.standing() {
		for _, r := range f.Stops {
			if r == o.Replica && (o.Class.Rank() > c.req.Model.Class.Rank() || o.Model == c.req.Model.Name) {
				t.Errorf("%s would be stopped, which is of model %s and %s", r, o.Model, o.Class)
			}
		}
	}
}

// do carries a step out in the plainest way.
func (c *trial) do(t *testing.T, s fix.Step) {
	t.Helper()
	node := func(edit func(n *inventory.Node)) { c.fleet = edited(c.fleet, inventory.NodeID(s.Object), edit) }
	profile := func(edit func(p *catalog.Profile)) {
		m := *c.req.Model
		m.Profiles = append([]catalog.Profile{}, m.Profiles...)
		for i := range m.Profiles {
			if m.Profiles[i].Name == s.Object {
				edit(&m.Profiles[i])
			}
		}
		c.req.Model = &m
	}
	switch s.Do {
	case fix.Uncordon:
		node(func(n *inventory.Node) { n.Settings.Wish = inventory.WishReady })
	case fix.Release:
		c.fleet = released(t, c.fleet, s.Object)
	case fix.Allow:
		c.req.Profiles = nil
	case fix.Retry:
		c.req.Avoid = nil
	case fix.Install:
		node(func(n *inventory.Node) { install(n, c.req.Model) })
	case fix.Collect:
		mb := c.unneeded[inventory.NodeID(s.Object)]
		node(func(n *inventory.Node) { collect(n, mb) })
	case fix.Label:
		_, words, _ := strings.Cut(s.Text, "label node "+s.Object+" ")
		node(func(n *inventory.Node) {
			for _, w := range strings.Fields(words) {
				key, value, _ := strings.Cut(w, "=")
				label(n, key, value)
			}
		})
	case fix.Spread, fix.Reserve:
		key, to := wordAfter(s.Text, s.Text[:strings.IndexByte(s.Text, ' ')+1]), number(t, wordAfter(s.Text, " to "))
		profile(func(p *catalog.Profile) { tune(p, key, to) })
	case fix.Stop:
		c.fleet = c.fleet.Without(s.Object)
	case fix.Reach:
		node(func(n *inventory.Node) { n.Hearing = inventory.Heard })
	case fix.Clock:
		node(func(n *inventory.Node) { n.ClockSkew = 0 })
	case fix.IMEX:
		node(func(n *inventory.Node) { n.Facts.IMEX, n.Facts.IMEXChannels = inventory.IMEXReady, nil })
	case fix.Clear:
		node(func(n *inventory.Node) {
			devices(n, func(d *inventory.Device) { d.ForeignMB = 0 })
		})
	case fix.Repair:
		node(func(n *inventory.Node) {
			devices(n, func(d *inventory.Device) { d.Problem = "" })
		})
	default:
		t.Fatalf("no such step: %s", s.Do)
	}
}

func wordAfter(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	word, _, _ := strings.Cut(rest, " ")
	return word
}

func number(t *testing.T, v string) int {
	t.Helper()
	n := 0
	if _, err := fmt.Sscan(v, &n); err != nil {
		t.Fatalf("%q is no number", v)
	}
	return n
}

// edited is the fleet with a copy of one node changed.
func edited(fleet *inventory.Snapshot, id inventory.NodeID, edit func(n *inventory.Node)) *inventory.Snapshot {
	nodes := append([]*inventory.Node{}, fleet.Nodes()...)
	for i, n := range nodes {
		if n.ID == id {
			c := *n
			edit(&c)
			nodes[i] = &c
		}
	}
	return inventory.NewSnapshot(fleet.Version(), nodes).WithHolds(fleet.Holds(), time.Unix(1, 0))
}

func released(t *testing.T, fleet *inventory.Snapshot, domain string) *inventory.Snapshot {
	t.Helper()
	var rest []inventory.Hold
	for _, h := range fleet.Holds() {
		if h.Domain.String() != domain {
			rest = append(rest, h)
		}
	}
	if len(rest) == len(fleet.Holds()) {
		t.Fatalf("%s is not held", domain)
	}
	return fleet.WithHolds(rest, time.Unix(1, 0))
}

func install(n *inventory.Node, m *catalog.Model) {
	for i := range m.Profiles {
		n.Facts.Engines = append(n.Facts.Engines[:len(n.Facts.Engines):len(n.Facts.Engines)],
			inventory.Engine{Name: string(m.Profiles[i].Engine), Build: m.Profiles[i].Build})
	}
}

func collect(n *inventory.Node, mb int64) {
	n.Facts.DiskFreeMB += mb
	n.Facts.DiskTotalMB = max(n.Facts.DiskTotalMB, n.Facts.DiskFreeMB)
}

func label(n *inventory.Node, key, value string) {
	labels := map[string]string{}
	for k, v := range n.Settings.Labels {
		labels[k] = v
	}
	labels[key] = value
	n.Settings.Labels = labels
}

func devices(n *inventory.Node, edit func(d *inventory.Device)) {
	n.Facts.Devices = append([]inventory.Device{}, n.Facts.Devices...)
	for i := range n.Facts.Devices {
		edit(&n.Facts.Devices[i])
	}
}

func tune(p *catalog.Profile, key string, to int) {
	switch key {
	case "min_memory_gb":
		p.MemoryGB = to
	case "cpu_cores":
		p.CPUCores = to
	case "disk_gb":
		p.DiskGB = to
	case "gpu.memory_gb":
		gpu := *p.GPU
		gpu.MemoryGB = to
		p.GPU = &gpu
	case "spread.max_per_domain":
		s := *p.Spread
		s.MaxPerDomain = to
		p.Spread = &s
	}
}
