package reconciler

import (
	"fmt"

	"llmgw.io/llmgw/catalog"
)

// The rule of going back. A replica that a rollout stops in place is remembered
// until its successor was ready. Fails that one before, or is its room taken
// before it has it, then the replica is placed again as it was: by its own
// definition, after the back-off, and again whenever it is lacking. That ends
// with another order to roll out, or another revision of the definition.

// Former is what a replica was that a rollout stopped in place.
type Former struct {
	// ID is that of the replica that was stopped.
	ID ReplicaID `json:"id"`
	// By is the replica in its place: of the definition in force, or with Back
	// of the one below. Empty: none yet.
	By ReplicaID `json:"by,omitempty"`
	// Back says that the rollout has failed and one is to run as it was.
	Back     bool              `json:"back,omitempty"`
	Source   string            `json:"source,omitempty"`
	Files    []catalog.File    `json:"files,omitempty"`
	Profile  catalog.Profile   `json:"profile"`
	Adapters []catalog.Adapter `json:"adapters,omitempty"`
}

// keepFormer remembers what a replica is before it is stopped.
func (g *group) keepFormer(u *unit) {
	g.mem.Former = &Former{ID: u.ID, Source: u.Source, Files: u.Files, Profile: u.Profile, Adapters: u.Adapters}
}

// vacant reports whether nobody stands in the place of the former replica.
func (g *group) vacant(f *Former) bool {
	by := g.find(f.By)
	return by == nil || !by.counts()
}

// stopping reports whether the former replica has not left yet.
func (g *group) stopping(f *Former) bool {
	u := g.find(f.ID)
	return u != nil && !u.gone
}

// definition is what the next replica is placed by: the one in force, or what a
// replica was that goes back.
func (g *group) definition() *catalog.Model {
	f := g.mem.Former
	if f == nil || !f.Back || !g.vacant(f) {
		return &g.entry.Model
	}
	m := g.entry.Model
	m.Source, m.Files, m.Adapters, m.Profiles = f.Source, f.Files, f.Adapters, []catalog.Profile{f.Profile}
	return &m
}

// takePlace notes who stands in the place of the former replica.
func (g *group) takePlace(id ReplicaID) {
	f := g.mem.Former
	if f == nil || !g.vacant(f) || !f.Back && g.stopping(f) {
		return
	}
	next := *f
	next.By = id
	g.mem.Former = &next
}

// goBack lets the former replica run again, unless its successor is another than
// the one that failed.
func (g *group) goBack(failed ReplicaID) bool {
	f := g.mem.Former
	if f == nil || f.Back || f.By != failed && !g.vacant(f) {
		return false
	}
	next := *f
	next.By, next.Back = "", true
	g.mem.Former = &next
	return true
}

// forgetFormer forgets what a replica was once its successor was ready, or none
// is wanted any more.
func (g *group) forgetFormer() {
	f := g.mem.Former
	if f == nil || f.Back {
		return
	}
	by := g.find(f.By)
	if by != nil && !by.ReadyAt.IsZero() || !g.stopping(f) && g.vacant(f) && g.running() >= g.target.n {
		g.mem.Former = nil
	}
}

// stayNew ends going back.
func (m *ModelMemory) stayNew() {
	m.Halted, m.HaltedAt = "", 0
	if m.Former != nil && m.Former.Back {
		m.Former = nil
	}
}

// halfway says which definition the replicas run after a rollout has ended.
func (g *group) halfway(back bool) string {
	fresh, old, again := 0, 0, ""
	for _, u := range g.units {
		if !u.live() {
			continue
		}
		if g.outdated(u) {
			old++
		} else {
			fresh++
		}
	}
	if back {
		old++
		again = ", one of which is started again"
	}
	return fmt.Sprintf("%d of %d run the new definition, %d the old%s", fresh, fresh+old, old, again)
}

// outdated reports whether a rollout would replace the replica.
func (g *group) outdated(u *unit) bool {
	edited, gone := compared(g.entry, u.Replica)
	return edited || gone
}
