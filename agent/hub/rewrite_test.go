package hub_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/agent/hub"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// A long history of orders tells each node the same as a hub that has only the
// last of them, and its version moves when and only when that does.
func TestOrdersHaveNoHistory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			history(t, rand.New(rand.NewPCG(seed, 1)))
		})
	}
}

func history(t *testing.T, r *rand.Rand) {
	h, reg := inMemory(t, hub.Config{})
	reg.nodes = map[inventory.NodeID]*inventory.Node{}
	node := func() inventory.NodeID { return inventory.NodeID(fmt.Sprintf("n%d", r.IntN(4))) }
	desired := func(h *hub.Hub, n inventory.NodeID) protocol.Desired {
		d, err := h.Sync(t.Context(), n, protocol.Sync{Node: string(n)})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	all := map[string]reconciler.Replica{}
	last := map[inventory.NodeID]protocol.Desired{}
	epoch := int64(1)
	for step := range 60 {
		id := fmt.Sprintf("m-%d", r.IntN(6))
		switch r.IntN(8) {
		case 0, 1:
			all[id] = replica(id, reconciler.Run, node())
		case 2:
			all[id] = replica(id, reconciler.Run, "n0", "n1")
		case 3, 4:
			delete(all, id)
		case 5:
			if x, ok := all[id]; ok {
				x.Profile.Args = []string{fmt.Sprint(r.IntN(3))}
				all[id] = x
			}
		case 6:
			n := node()
			reg.nodes[n] = &inventory.Node{ID: n, Settings: inventory.NodeSettings{EngineBuilds: map[string]string{"sim": fmt.Sprint(r.IntN(3))}}}
			if r.IntN(3) == 0 {
				delete(reg.nodes, n)
			}
		case 7:
			epoch += int64(r.IntN(2))
		}
		var list []reconciler.Replica
		for _, x := range all {
			list = append(list, x)
		}
		alone, other := inMemory(t, hub.Config{})
		other.nodes = reg.nodes
		for _, h := range []*hub.Hub{h, alone} {
			if err := h.Dispatch(t.Context(), epoch, list); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 4 {
			n := inventory.NodeID(fmt.Sprintf("n%d", i))
			is, want, was := desired(h, n), desired(alone, n), last[n]
			last[n] = is
			version := is.Version
			is.Version, want.Version = 0, 0
			if d := cmp.Diff(want, is); d != "" {
				t.Fatalf("step %d: %s (-want +got):\n%s", step, n, d)
			}
			if was.Epoch != epoch {
				if version != 1 {
					t.Fatalf("step %d: %s begins epoch %d with version %d", step, n, epoch, version)
				}
				continue
			}
			before := was.Version
			was.Version = 0
			if same := cmp.Equal(was, is); same != (version == before) || version < before {
				t.Fatalf("step %d: %s: the version was %d and is %d, and the orders are the same: %t", step, n, before, version, same)
			}
		}
	}
}
