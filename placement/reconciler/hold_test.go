package reconciler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement/reconciler"
)

// holdOf reads a hold of a script's line; its times count from now.
func (b *sandbox) holdOf(w words) (inventory.Hold, error) {
	d, err := inventory.ParseDomain(w.arg(1))
	h := inventory.Hold{Domain: d, Reason: w.text, By: "ops", Since: b.now}
	for key, at := range map[string]*time.Time{"from": &h.From, "until": &h.Until} {
		if _, set := w.by[key]; set {
			*at = b.now.Add(time.Duration(w.span(key)))
		}
	}
	return h, err
}

func (b *sandbox) hold(w words) error {
	h, err := b.holdOf(w)
	b.holds = append(b.holds, h)
	return err
}

func (b *sandbox) planHold(w words) (string, error) {
	h, err := b.holdOf(w)
	if err != nil {
		return "", err
	}
	world := b.world()
	p := reconciler.Reconciler{}.PlanHold(&reconciler.View{
		Catalog: world.Catalog, Fleet: world.Fleet, Replicas: world.Replicas, Health: b.last.Health,
	}, h, b.now, &b.aside)
	var out strings.Builder
	for _, m := range p.Models {
		fmt.Fprintf(&out, "%s: %d ready, %d at least\n", m.Model, m.Ready, m.Floor)
		for _, move := range m.Moves {
			fmt.Fprintf(&out, "  %s from %v to %v %s\n", move.Replica, move.From, move.To, move.Profile)
		}
	}
	for _, text := range p.Shortfall {
		fmt.Fprintf(&out, "short: %s\n", text)
	}
	fmt.Fprintf(&out, "takes %s\n", p.Lasts)
	return out.String(), nil
}

// What fits nowhere says so of every profile.
func TestPlanHoldNamesEveryProfile(t *testing.T) {
	t.Parallel()
	fleet, err := inventorytest.Parse("a1 gpu=2xL4-24 rack=r1 alloc=m-1.0:m:0\nb1 gpu=2xL4-24 rack=r2 alloc=n-1.0:n:0-1")
	if err != nil {
		t.Fatal(err)
	}
	small, large := catalog.Profile{Name: "small", Engine: catalog.EngineVLLM, GPU: &catalog.GPU{Count: 1}}, catalog.Profile{Name: "large", Engine: catalog.EngineVLLM, GPU: &catalog.GPU{Count: 4}}
	v := &reconciler.View{
		Fleet:    fleet,
		Catalog:  catalog.NewIndex(1, []catalog.Entry{{Model: catalog.Model{Name: "m", Profiles: []catalog.Profile{small, large}}}}),
		Replicas: []reconciler.Replica{{ID: "m-1", Model: "m", Profile: small, Phase: reconciler.Run, Shards: []reconciler.Shard{{ID: "m-1.0", Spot: fleet.Nodes()[0].Allocations[0]}}}},
	}
	p := reconciler.Reconciler{}.PlanHold(v, inventory.Hold{Domain: inventory.Domain{Level: inventory.LevelRack, Name: "r1"}}, time.Unix(1, 0), nil)
	want := "(as small looked at 2: chosen 0, held 1, devices_busy 1) (as large looked at 2: chosen 0, held 1, no_devices 1)"
	if len(p.Shortfall) != 1 || !strings.Contains(p.Shortfall[0], want) {
		t.Errorf("want %q in %q", want, p.Shortfall)
	}
}
