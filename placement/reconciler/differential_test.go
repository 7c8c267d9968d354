package reconciler_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"llmgw.io/llmgw/placement/reconciler"
)

// TestDifferential: on random fleets with groups, parts of devices, racks and
// networks, a step says what it says with nothing known from before, and what it
// says when it looks at every node for every question. Whether all this was
// really asked for is counted.
func TestDifferential(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	for seed := range uint64(40) {
		d := differential{rng: rand.New(rand.NewPCG(seed, 11)), counts: counts}
		if err := d.run(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	for _, what := range []string{"placed", "groups", "refused", "coming", "preempted", "lost", "moved", "paced"} {
		if counts[what] < 10 {
			t.Errorf("%d %s in all, so this shows little", counts[what], what)
		}
	}
	t.Log(counts)
}

type differential struct {
	*sandbox
	rng    *rand.Rand
	counts map[string]int
	moves  movesLaw
}

func (d *differential) run() (err error) {
	var fleet strings.Builder
	for i := range 4 + d.rng.IntN(12) {
		fmt.Fprintf(&fleet, "n%02d gpu=%dx%s rack=r%d fabric=ib%d\n", i, 2+d.rng.IntN(3), []string{"L4-24", "H100-80"}[d.rng.IntN(2)], i/3, i/5)
	}
	if d.sandbox, err = newSandbox(fleet.String()); err != nil {
		return err
	}
	if d.rng.IntN(2) == 0 {
		if err := d.scatter(); err != nil {
			return err
		}
	}
	d.by.Moves = float64(d.rng.IntN(2) * 100)
	for range 20 {
		if err := d.turn(); err != nil {
			return err
		}
	}
	return nil
}

// scatter puts a small replica on each node, as good packing never would.
func (d *differential) scatter() error {
	lines := []string{fmt.Sprintf("model m0 min=%d gpu=1", len(d.nodes))}
	for i, id := range slices.Sorted(maps.Keys(d.nodes)) {
		lines = append(lines, fmt.Sprintf("have m0 %s 0", id), fmt.Sprintf("shard m0-%d.0 ready", i+1))
	}
	lines = append(lines, "model m5 min=3 gpu=4", "model m4 min=2 gpu=3 shards=2")
	for _, line := range lines {
		if _, err := d.do(line); err != nil {
			return err
		}
	}
	return nil
}

// turn lets a few things happen and steps.
func (d *differential) turn() error {
	for range 1 + d.rng.IntN(3) {
		if _, err := d.do(d.line()); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(d.replicas)) {
		for _, sh := range d.replicas[id].Shards {
			if d.nodes[sh.Spot.Node] == nil || d.rng.IntN(4) == 0 {
				continue
			}
			state := map[reconciler.Phase]string{reconciler.Run: "ready", reconciler.Stop: "stopped"}[d.replicas[id].Phase]
			if state == "" {
				continue
			}
			if _, err := d.do(fmt.Sprintf("shard %s %s", sh.ID, state)); err != nil {
				return err
			}
		}
	}
	for range 2 {
		before := d.world()
		plan, err := d.step()
		if err == nil {
			err = d.moves.check(d.sandbox, before, plan)
		}
		if err != nil {
			return err
		}
		d.count(plan)
	}
	_, err := d.do(fmt.Sprintf("advance %ds", d.rng.IntN(40)))
	return err
}

func (d *differential) line() string {
	nodes := slices.Sorted(maps.Keys(d.nodes))
	ids := slices.Sorted(maps.Keys(d.replicas))
	switch d.rng.IntN(7) {
	case 5, 6:
		if len(ids) > 0 {
			return fmt.Sprintf("use %s slowness=%.2f", ids[d.rng.IntN(len(ids))], 0.5+2*d.rng.Float64())
		}
		fallthrough
	case 0:
		return fmt.Sprintf("node %s %s", nodes[d.rng.IntN(len(nodes))], []string{"heard", "lost", "lost", "ready", "cordoned", "draining"}[d.rng.IntN(6)])
	default:
		class := []string{"critical", "standard", "batch"}[d.rng.IntN(3)]
		shards := []int{0, 0, 2, 3}[d.rng.IntN(4)]
		return fmt.Sprintf("model m%d min=%d gpu=%d shards=%d class=%s", d.rng.IntN(6), d.rng.IntN(5), []int{0, 1, 1, 2, 4}[d.rng.IntN(5)], shards, class)
	}
}

func (d *differential) count(plan reconciler.Plan) {
	for _, a := range plan.Actions {
		if a.Kind == reconciler.Place {
			d.counts["placed"]++
			if len(a.Replica.Shards) > 1 {
				d.counts["groups"]++
			}
		}
	}
	for _, m := range d.memory.Models {
		if len(m.Pace) > 0 {
			d.counts["paced"]++
		}
	}
	for _, h := range plan.Health {
		d.counts["coming"] += h.Coming
		if h.Unplaceable {
			d.counts["refused"]++
		}
	}
	for _, e := range plan.Events {
		d.counts[string(e.Kind)]++
	}
}
