package reconciler_test

import (
	"fmt"
	"strings"
	"time"

	"llmgw.io/llmgw/inventory"
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
