package placement_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement"
)

// preempt asks who would make room for the model as one of a class:
//
//	preempt for=class [classes=(model:class,…)] [seconds=(replica:n,…)] [floor=(model:n,…)]
//
// Whatever stands in the fleet is of class batch unless it is said otherwise.
func (s *script) preempt(t *testing.T, d *datadriven.TestData) string {
	m := s.model
	d.ScanArgs(t, "for", (*string)(&m.Class))
	classes, seconds, floors := pairs(d, "classes"), pairs(d, "seconds"), map[catalog.Name]int{}
	for model, n := range pairs(d, "floor") {
		floors[catalog.Name(model)] = atoi(t, n)
	}
	standing := occupants(s.fleet)
	for i := range standing {
		o := &standing[i]
		if c := classes[string(o.Model)]; c != "" {
			o.Class = catalog.Class(c)
		}
		if n := seconds[o.Replica]; n != "" {
			o.Seconds = float64(atoi(t, n))
		}
	}
	before := inventorytest.Format(s.fleet)
	p := placement.Placer{}.Preempt(s.fleet, placement.Request{Model: &m}, standing, floors)
	if after := inventorytest.Format(s.fleet); after != before {
		t.Errorf("it changed the fleet to\n%s", after)
	}
	if err := preemptionLaws(s.fleet, &m, standing, floors, p); err != nil {
		t.Error(err)
	}
	var b strings.Builder
	for _, v := range p.Victims {
		fmt.Fprintf(&b, "%s gives way\n", v.Replica)
	}
	if p.Decision.Placed {
		fmt.Fprintf(&b, "%s, for %.1f device-seconds\n", candidateText(p.Decision.Candidate), p.Harm)
	}
	fmt.Fprintln(&b, p)
	return b.String()
}

func pairs(d *datadriven.TestData, key string) map[string]string {
	out := map[string]string{}
	for _, v := range values(d, key) {
		k, val, _ := strings.Cut(v, ":")
		out[k] = val
	}
	return out
}

// occupants are all replicas of a fleet, as batch.
func occupants(fleet *inventory.Snapshot) []placement.Occupant {
	var out []placement.Occupant
	for _, n := range fleet.Nodes() {
		for _, a := range n.Allocations {
			if !slices.ContainsFunc(out, func(o placement.Occupant) bool { return o.Replica == a.Replica }) {
				out = append(out, placement.Occupant{Replica: a.Replica, Model: catalog.Name(a.Model), Class: catalog.ClassBatch})
			}
		}
	}
	return out
}

// preemptionLaws are what holds of every preemption: it takes strictly lower
// classes only, leaves the floors, takes nobody in vain, and makes room.
func preemptionLaws(fleet *inventory.Snapshot, m *catalog.Model, standing []placement.Occupant, floors map[catalog.Name]int, p placement.Preemption) error {
	sum := len(p.Victims)
	for _, n := range p.Counts {
		sum += n
	}
	if sum != p.Looked || p.Looked != len(standing) {
		return fmt.Errorf("looked at %d of %d, but victims and reasons sum to %d", p.Looked, len(standing), sum)
	}
	if !p.Decision.Placed && len(p.Victims) > 0 {
		return fmt.Errorf("%d give way for nothing", len(p.Victims))
	}
	left := map[catalog.Name]int{}
	for _, o := range standing {
		left[o.Model]++
	}
	without := fleet
	for _, v := range p.Victims {
		left[v.Model]--
		without = without.Without(v.Replica)
		if v.Class.Rank() >= m.Class.Rank() {
			return fmt.Errorf("%s is %s and gives way to a model that is %s", v.Replica, v.Class, m.Class)
		}
		if left[v.Model] < floors[v.Model] {
			return fmt.Errorf("%s leaves %d of %s, below the floor of %d", v.Replica, left[v.Model], v.Model, floors[v.Model])
		}
	}
	req := placement.Request{Model: m}
	if p.Decision.Placed {
		if why, text := (placement.Placer{}).Verify(without, req, p.Decision.Candidate); why != "" {
			return fmt.Errorf("without the victims it does not fit: %s: %s", why, text)
		}
	}
	for i := range p.Victims {
		rest := fleet
		for k, v := range p.Victims {
			if k != i {
				rest = rest.Without(v.Replica)
			}
		}
		if d, _ := (placement.Placer{}).Choose(rest, req, nil); d.Placed && len(m.Profiles) == 1 && m.Profiles[0].ShardCount() == 1 {
			return fmt.Errorf("%s gives way in vain", p.Victims[i].Replica)
		}
	}
	return nil
}

// TestPreemptLaw packs random small fleets with replicas of random classes and
// holds what Preempt answers against the laws and against brute force: where any
// allowed set makes room it finds one, of as low classes and with as little harm.
func TestPreemptLaw(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var text strings.Builder
		for i := range 1 + rng.IntN(3) {
			devices := 1 + rng.IntN(4)
			fmt.Fprintf(&text, "n%d gpu=%dxL4-24 mem=64", i, devices)
			var as []string
			for d := 0; d < devices; {
				size := min(1+rng.IntN(2), devices-d)
				if rng.IntN(6) > 0 {
					model := string(rune('a' + rng.IntN(4)))
					as = append(as, fmt.Sprintf("%s-%d%d.0:%s:%d-%d:mem=%d", model, i, d, model, d, d+size-1, 1+rng.IntN(20)))
				}
				d += size
			}
			for _, a := range as {
				fmt.Fprintf(&text, " alloc=%s", a)
			}
			text.WriteByte('\n')
		}
		fleet, err := inventorytest.Parse(text.String())
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text.String())
		}
		standing, floors := occupants(fleet), map[catalog.Name]int{"a": rng.IntN(2), "b": rng.IntN(3)}
		for i := range standing {
			o := &standing[i]
			o.Class, o.Seconds = catalog.Classes[int(o.Model[0]-'a')%3], float64(1+rng.IntN(9))*pick(rng, 1.0, 100)
		}
		m := &catalog.Model{Name: "new", Class: catalog.Classes[rng.IntN(3)], Profiles: []catalog.Profile{
			{Name: "p", Engine: catalog.EngineSim, GPU: &catalog.GPU{Count: 1 + rng.IntN(4)}, MemoryGB: rng.IntN(50)},
		}}
		if d, _ := (placement.Placer{}).Choose(fleet, placement.Request{Model: m}, nil); d.Placed {
			continue
		}
		p := placement.Placer{}.Preempt(fleet, placement.Request{Model: m}, standing, floors)
		if err := preemptionLaws(fleet, m, standing, floors, p); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, text.String())
		}
		rank, harm := leastPreemption(fleet, m, standing, floors)
		got := -1
		for _, v := range p.Victims {
			got = max(got, v.Class.Rank())
		}
		if got != rank || math.Abs(p.Harm-harm) > 1e-6 {
			t.Errorf("seed %d: harm %.1f up to rank %d, brute force has %.1f up to rank %d\n%s%s", seed, p.Harm, got, harm, rank, text.String(), p)
		}
	}
}

// TestPreempterLaw lets room be made again and again, until none can be: what all
// answers together take leaves the floors, and each holds on what the ones before
// have left.
func TestPreempterLaw(t *testing.T) {
	t.Parallel()
	fleet, err := inventorytest.Parse(`
		n1 gpu=4xL4-24 alloc=a-1.0:a:0 alloc=a-2.0:a:1 alloc=b-1.0:b:2-3
		n2 gpu=4xL4-24 alloc=a-3.0:a:0 alloc=a-4.0:a:1 alloc=b-2.0:b:2 alloc=c-1.0:c:3`)
	if err != nil {
		t.Fatal(err)
	}
	standing, floors := occupants(fleet), map[catalog.Name]int{"a": 2, "b": 1}
	for i := range standing {
		if standing[i].Model == "c" {
			standing[i].Class = catalog.ClassCritical
		}
	}
	m := &catalog.Model{Name: "new", Class: catalog.ClassStandard, Profiles: []catalog.Profile{
		{Name: "p", Engine: catalog.EngineSim, GPU: &catalog.GPU{Count: 1}},
	}}
	x := placement.NewIndex(placement.Placer{})
	x.Advance(fleet)
	ask := x.Preempter(placement.Request{Model: m}, standing, floors)
	left := map[catalog.Name]int{"a": 4, "b": 2, "c": 1}
	placed := 0
	for {
		p := ask.Next()
		if !p.Decision.Placed {
			break
		}
		if placed++; placed > len(standing) {
			t.Fatal("there is no end to it")
		}
		for _, v := range p.Victims {
			left[v.Model]--
		}
		x.With(p.Decision.Candidate.Allocations("new", fmt.Sprintf("new-%d", placed))...)
		// What is left over of a larger replica is room without any preemption.
		for d, _ := x.Choose(placement.Request{Model: m}); d.Placed; d, _ = x.Choose(placement.Request{Model: m}) {
			placed++
			x.With(d.Candidate.Allocations("new", fmt.Sprintf("new-%d", placed))...)
		}
	}
	if left["a"] != 2 || left["b"] != 1 || left["c"] != 1 {
		t.Errorf("want the floors and the higher class left, got %v", left)
	}
	if placed < 3 {
		t.Errorf("want 3 placed at least, got %d", placed)
	}
}

// leastPreemption is the lowest highest rank, and then the least harm, of all sets
// that make room; -1 and 0 where none does.
func leastPreemption(fleet *inventory.Snapshot, m *catalog.Model, standing []placement.Occupant, floors map[catalog.Name]int) (rank int, harm float64) {
	rank = -1
	for mask := 1; mask < 1<<len(standing); mask++ {
		left, without, most, sum, allowed := map[catalog.Name]int{}, fleet, -1, 0.0, true
		for _, o := range standing {
			left[o.Model]++
		}
		for i, o := range standing {
			if mask>>i&1 == 0 {
				continue
			}
			left[o.Model]--
			sum += harmOf(fleet, o)
			most = max(most, o.Class.Rank())
			allowed = allowed && o.Class.Rank() < m.Class.Rank() && left[o.Model] >= floors[o.Model]
			without = without.Without(o.Replica)
		}
		if !allowed || rank >= 0 && (most > rank || most == rank && sum >= harm) {
			continue
		}
		if d, _ := (placement.Placer{}).Choose(without, placement.Request{Model: m}, nil); d.Placed {
			rank, harm = most, sum
		}
	}
	return rank, harm
}

// harmOf is what stopping a replica of whole devices costs: the more of its devices
// and its share of the memory in devices, for as long as it takes to have it back.
func harmOf(fleet *inventory.Snapshot, o placement.Occupant) float64 {
	sum := 0.0
	for _, n := range fleet.Nodes() {
		kept, _ := n.SystemReserve()
		for i := range n.Allocations {
			if a := &n.Allocations[i]; a.Replica == o.Replica {
				memory := float64(len(n.Facts.Devices)) * float64(a.MemoryMB) / float64(n.Facts.MemoryMB-kept)
				sum += max(float64(len(a.Devices)), memory) * max(1, o.Seconds)
			}
		}
	}
	return sum
}
