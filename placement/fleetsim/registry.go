package fleetsim

import (
	"context"
	"fmt"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
)

// registry is the live inventory as the simulation calls it: with times as
// arguments, over rows in memory, from one goroutine. This file alone is not
// pure, since what the inventory keeps it keeps with a context; the rows are in
// memory, so none of these calls waits.
type registry struct {
	*inventory.Registry
	changed <-chan struct{}
}

// operator is who gives orders in a simulation.
var operator = inventory.Author{Principal: "operator:sim"}

// openRegistry begins a control plane's inventory on what is kept.
func openRegistry(kept *inventorytest.Store, now time.Time) *registry {
	r, err := inventory.NewRegistry(context.Background(), inventory.RegistryConfig{Store: kept, Holds: kept}, now)
	if err != nil {
		panic("fleetsim: an inventory in memory does not open: " + err.Error())
	}
	return &registry{Registry: r, changed: r.Changed()}
}

// hasNews reports whether anything worth a look changed since it was asked.
func (r *registry) hasNews() bool {
	select {
	case <-r.changed:
		r.changed = r.Changed()
		return true
	default:
		return false
	}
}

func (r *registry) setWish(id inventory.NodeID, w inventory.Wish) error {
	_, err := r.SetWish(context.Background(), id, w, operator)
	return err
}

func (r *registry) forget(id inventory.NodeID) error {
	return r.Forget(context.Background(), id, operator)
}

func (r *registry) hold(h inventory.Hold, now time.Time) error {
	_, err := r.Hold(context.Background(), h, now, operator)
	return err
}

func (r *registry) unhold(d inventory.Domain, now time.Time) error {
	return r.ReleaseHold(context.Background(), d, now, operator)
}

func (r *registry) sweep(now time.Time) { _ = r.SweepHolds(context.Background(), now) }

// seed keeps what the text of a fleet says that people set.
func seed(kept *inventorytest.Store, fleet *inventory.Snapshot) {
	for _, n := range fleet.Nodes() {
		if n.Settings.Wish == "" {
			continue
		}
		if _, err := kept.PutNodeSettings(context.Background(), n.Settings, 0, operator); err != nil {
			panic(fmt.Sprintf("fleetsim: rows in memory refuse node %s: %v", n.ID, err))
		}
	}
	for _, h := range fleet.Holds() {
		_ = kept.PutHold(context.Background(), h, operator)
	}
}
