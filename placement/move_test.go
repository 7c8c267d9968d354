package placement_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement"
)

// resident is a model that prefers one class of devices and can do with another.
func resident(name catalog.Name, count int, classes ...inventory.Class) *catalog.Model {
	m := &catalog.Model{Name: name}
	for _, c := range classes {
		m.Profiles = append(m.Profiles, catalog.Profile{Name: string(c), Engine: catalog.EngineVLLM, GPU: &catalog.GPU{Count: count, Class: c}})
	}
	return m
}

func TestRearrange(t *testing.T) {
	t.Parallel()
	four, stuck := resident("four", 4, "H100-80", "GB200-186"), resident("stuck", 2, "H100-80")
	for _, c := range []struct {
		name  string
		fleet []string
		ask   *catalog.Model
		most  int
		want  string
	}{
		{
			"one goes to its second choice",
			[]string{"a gpu=8xH100-80 alloc=four-1.0:four:0-3", "b gpu=8xH100-80 alloc=stuck-1.0:stuck:0-4", "g gpu=4xGB200-186"},
			onDevices(8, "H100-80"), 4, "m on a; four-1 to GB200-186 on g",
		},
		{
			"the node with the fewest",
			[]string{"a gpu=8xH100-80 alloc=four-1.0:four:0-3 alloc=four-2.0:four:4-7", "b gpu=8xH100-80 alloc=four-3.0:four:4-7", "g gpu=8xGB200-186"},
			onDevices(8, "H100-80"), 4, "m on b; four-3 to GB200-186 on g",
		},
		{
			"a group needs both its nodes",
			[]string{"a gpu=8xH100-80 fabric=ib0 alloc=four-1.0:four:0-3", "b gpu=8xH100-80 fabric=ib0 alloc=four-2.0:four:4-7", "g gpu=8xGB200-186"},
			pair(), 4, "pair on a b; four-1 to GB200-186 on g; four-2 to GB200-186 on g",
		},
		{
			"a group that shares nothing",
			[]string{"a gpu=8xH100-80 alloc=four-1.0:four:0-3", "b gpu=8xH100-80", "c gpu=8xH100-80 alloc=stuck-1.0:stuck:0-6", "g gpu=8xGB200-186"},
			apartPair(), 4, "pair on a b; four-1 to GB200-186 on g",
		},
		{
			"a group goes to another network",
			[]string{
				"a gpu=8xH100-80 fabric=ib0@f0 alloc=pair-1.0:pair:0-7", "b gpu=8xH100-80 fabric=ib0@f0 alloc=pair-1.1:pair:0-7",
				"c gpu=8xH100-80 fabric=ib0@f0", "d gpu=8xH100-80 fabric=ib0@f1", "e gpu=8xH100-80 fabric=ib0@f1",
			},
			three(), 4, "three on a b c; pair-1 to main on d",
		},
		{
			"no more than may",
			[]string{"a gpu=8xH100-80 fabric=ib0 alloc=four-1.0:four:0-3", "b gpu=8xH100-80 fabric=ib0 alloc=four-2.0:four:4-7", "g gpu=8xGB200-186"},
			pair(), 1, "not placed",
		},
		{
			"nowhere to go",
			[]string{"a gpu=8xH100-80 alloc=four-1.0:four:0-3", "g gpu=4xGB200-186 cordoned"},
			onDevices(8, "H100-80"), 4, "not placed",
		},
		{
			"not what others run there",
			[]string{"a gpu=8xH100-80 alloc=four-1.0:four:0-3 alloc=x-1.0:x:4", "g gpu=4xGB200-186"},
			onDevices(8, "H100-80"), 4, "not placed",
		},
	} {
		fleet := parse(t, c.fleet...)
		before := inventorytest.Format(fleet)
		d, moves := placement.Placer{}.Rearrange(fleet, placement.Request{Model: c.ask}, residentsOf(fleet, four, stuck, pair()), c.most)
		if got := rearranged(c.ask, d, moves); got != c.want {
			t.Errorf("%s: want %q, got %q", c.name, c.want, got)
		}
		if after := inventorytest.Format(fleet); after != before {
			t.Errorf("%s: the fleet is another:\n%s", c.name, after)
		}
	}
}

// apartPair is a pair whose shards need share no network.
func apartPair() *catalog.Model {
	m := pair()
	m.Profiles[0].Fabric = ""
	return m
}

func pair() *catalog.Model {
	m := onDevices(8, "H100-80")
	m.Name, m.Profiles[0].Shards, m.Profiles[0].Fabric = "pair", 2, "any"
	return m
}

func three() *catalog.Model {
	m := pair()
	m.Name, m.Profiles[0].Shards = "three", 3
	return m
}

func residentsOf(fleet *inventory.Snapshot, models ...*catalog.Model) []placement.Resident {
	var out []placement.Resident
	for _, n := range fleet.Nodes() {
		for _, a := range n.Allocations {
			for _, m := range models {
				if a.Model == string(m.Name) {
					i := slices.IndexFunc(out, func(r placement.Resident) bool { return r.Replica == a.Replica })
					if i < 0 {
						i = len(out)
						out = append(out, placement.Resident{Replica: a.Replica, Model: m})
					}
					out[i].Nodes = append(out[i].Nodes, n.ID)
				}
			}
		}
	}
	return out
}

func rearranged(m *catalog.Model, d placement.Decision, moves []placement.Move) string {
	if !d.Placed {
		return "not placed"
	}
	out := string(m.Name) + " on"
	for _, s := range d.Candidate.Spots {
		out += " " + string(s.Node)
	}
	for _, mv := range moves {
		out += fmt.Sprintf("; %s to %s on %s", mv.Replica, mv.To.Profile, mv.To.Spots[0].Node)
	}
	return out
}

// TestRearrangeDoubles lets random fleets fill up, and holds every
// rearrangement against what it promises: each step can be done in order, and no
// device is given twice.
func TestRearrangeDoubles(t *testing.T) {
	t.Parallel()
	found := 0
	for seed := range uint64(80) {
		s := newSim(t, seed+1)
		for i := range s.models {
			alt := s.models[i].Profiles[0]
			alt.Name, alt.GPU, alt.Spread = "alt", nil, nil
			s.models[i].Profiles = append(s.models[i].Profiles, alt)
			s.models[i].Profiles[0].Spread = nil
		}
		for range 20 {
			m := &s.models[s.rng.IntN(len(s.models))]
			req := placement.Request{Model: m, Profiles: []string{m.Profiles[0].Name}}
			d, _ := placement.Placer{}.Choose(s.fleet, req, nil)
			if !d.Placed {
				d = s.rearrange(req, &found)
			}
			if d.Placed {
				s.next++
				s.fleet = s.fleet.With(d.Candidate.Allocations(string(m.Name), fmt.Sprintf("%s-%d", m.Name, s.next))...)
			}
			for _, n := range s.fleet.Nodes() {
				checkNode(t, n)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d rearrangements were found", found)
	}
}

func (s *sim) rearrange(req placement.Request, found *int) placement.Decision {
	s.t.Helper()
	var models []*catalog.Model
	for i := range s.models {
		models = append(models, &s.models[i])
	}
	index := placement.NewIndex(placement.Placer{})
	index.Advance(s.fleet)
	before, _ := index.Choose(req)
	d, moves := index.Rearrange(req, residentsOf(s.fleet, models...), 3)
	if after, _ := index.Choose(req); !cmp.Equal(before, after) {
		s.t.Errorf("rearranging left something behind: %s", cmp.Diff(before, after))
	}
	if !d.Placed {
		return d
	}
	*found++
	for i, mv := range moves {
		model := mv.Replica[:len(mv.Replica)-len(mv.Replica[lastDash(mv.Replica):])]
		s.fleet = s.fleet.With(mv.To.Allocations(model, fmt.Sprintf("%s-m%d-%d", model, s.next, i))...)
		for _, n := range s.fleet.Nodes() {
			checkNode(s.t, n)
		}
	}
	for _, mv := range moves {
		s.fleet = s.fleet.Without(mv.Replica)
	}
	if reason, text := (placement.Placer{}).Verify(s.fleet, req, d.Candidate); reason != "" {
		s.t.Errorf("%s: after the moves it does not hold: %s", req.Model.Name, text)
	}
	return d
}

func lastDash(s string) int {
	for i := len(s) - 1; i > 0; i-- {
		if s[i] == '-' {
			return i
		}
	}
	return len(s)
}
