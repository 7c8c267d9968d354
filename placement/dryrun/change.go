package dryrun

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// ErrInvalid says that a change makes no sense, and why.
var ErrInvalid = errors.New("dryrun: not a change")

// Change is what is asked about: exactly one of its fields.
type Change struct {
	Model *ModelChange
	Node  *NodeChange
	Hold  *HoldChange
}

// ModelChange is of a definition: exactly one of its last three fields.
type ModelChange struct {
	Name catalog.Name
	// Put adds a definition, or replaces the one of its name.
	Put    *catalog.Model
	Edit   *catalog.Change
	Remove bool
}

// NodeChange is of a node: exactly one of its last four fields.
type NodeChange struct {
	ID     inventory.NodeID
	Wish   *inventory.Wish
	Labels map[string]*string
	// Lost lets it fall silent for good, and Remove lets people give it up.
	Lost, Remove bool
}

// HoldChange is of a hold: it is put in force, from its begin on when that is
// ahead, or its domain is released.
type HoldChange struct {
	Hold    inventory.Hold
	Release bool
}

// apply makes the change in a world. holds are those that were said. Errors match
// ErrInvalid, or the sentinels of the packages that know what is changed.
func (c Change) apply(w reconciler.World, holds []inventory.Hold) (reconciler.World, error) {
	if n := count(c.Model != nil, c.Node != nil, c.Hold != nil); n != 1 {
		return w, fmt.Errorf("%w: want exactly one of model, node and hold, not %d", ErrInvalid, n)
	}
	switch {
	case c.Model != nil:
		return c.Model.apply(w)
	case c.Node != nil:
		return c.Node.apply(w, holds)
	}
	return c.Hold.apply(w, holds)
}

func (c *ModelChange) apply(w reconciler.World) (_ reconciler.World, err error) {
	if n := count(c.Put != nil, c.Edit != nil, c.Remove); n != 1 {
		return w, fmt.Errorf("%w: want exactly one change of model %q, not %d", ErrInvalid, c.Name, n)
	}
	switch {
	case c.Put != nil && c.Put.Name != c.Name:
		return w, fmt.Errorf("%w: the definition is of %q and the change of %q; give both one name", ErrInvalid, c.Put.Name, c.Name)
	case c.Put != nil:
		w.Catalog, err = w.Catalog.With(*c.Put)
	case c.Edit != nil:
		w.Catalog, err = w.Catalog.Changed(c.Name, *c.Edit)
	default:
		w.Catalog, err = w.Catalog.Without(c.Name)
	}
	return w, err
}

func (c *NodeChange) apply(w reconciler.World, holds []inventory.Hold) (reconciler.World, error) {
	n := w.Fleet.Node(c.ID)
	if n == nil {
		return w, fmt.Errorf("%w: %q", inventory.ErrNotFound, c.ID)
	}
	if n := count(c.Wish != nil, len(c.Labels) > 0, c.Lost, c.Remove); n != 1 {
		return w, fmt.Errorf("%w: want exactly one change of node %q, not %d", ErrInvalid, c.ID, n)
	}
	next := *n
	switch {
	case c.Wish != nil:
		next.Settings.Wish = *c.Wish
	case c.Lost:
		next.Hearing = inventory.Lost
	case c.Remove:
		nodes := slices.DeleteFunc(slices.Clone(w.Fleet.Nodes()), func(o *inventory.Node) bool { return o == n })
		w.Fleet = inventory.NewSnapshot(w.Fleet.Version()+1, nodes)
		return w, nil
	default:
		labelled, err := n.Relabelled(c.Labels)
		if err != nil {
			return w, err
		}
		next = *labelled
	}
	w.Fleet = edit(w.Fleet, map[inventory.NodeID]bool{c.ID: true}, func(n *inventory.Node, _ bool) {
		*n = next
		n.Version++
	})
	if len(holds) > 0 {
		w.Fleet = w.Fleet.WithHolds(holds, w.Now)
	}
	return w, nil
}

func (c *HoldChange) apply(w reconciler.World, holds []inventory.Hold) (reconciler.World, error) {
	h := c.Hold
	rest := slices.DeleteFunc(slices.Clone(holds), func(o inventory.Hold) bool { return o.Domain == h.Domain })
	if c.Release {
		if len(rest) == len(holds) {
			return w, fmt.Errorf("release %s: %w", h.Domain, inventory.ErrNoHold)
		}
		w.Fleet = bumped(w.Fleet, w.Fleet.WithHolds(rest, w.Now))
		return w, nil
	}
	if err := h.Check(w.Now); err != nil {
		return w, err
	}
	at := w.Now
	if h.From.After(at) {
		at = h.From
	}
	h.Until = time.Time{} // what it does while it lasts
	w.Fleet = bumped(w.Fleet, w.Fleet.WithHolds(append(rest, h), at))
	return w, nil
}

// bumped gives the nodes another version that are held otherwise than before.
func bumped(before, after *inventory.Snapshot) *inventory.Snapshot {
	other := map[inventory.NodeID]bool{}
	for i, n := range after.Nodes() {
		if n.Held != before.Nodes()[i].Held {
			other[n.ID] = true
		}
	}
	return edit(after, other, func(n *inventory.Node, _ bool) { n.Version++ })
}

func count(is ...bool) int {
	n := 0
	for _, b := range is {
		if b {
			n++
		}
	}
	return n
}
