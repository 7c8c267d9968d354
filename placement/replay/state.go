package replay

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// state is what the next entry is a change of. The one who writes and the one who
// reads hold the same.
type state struct {
	catalog  *catalog.Index
	fleet    inventory.SnapshotState
	replicas []reconciler.Replica
	traffic  traffic
	memory   reconciler.Memory
}

// stateOf is what a pass looked at but for requests.
func stateOf(p *Pass) state {
	w := &p.World
	s := state{catalog: w.Catalog, replicas: w.Replicas, memory: p.Memory}
	s.memory.Cache = nil // it is another's, changes, and decides nothing
	if s.catalog == nil {
		s.catalog = catalog.NewIndex(0, nil)
	}
	if w.Fleet != nil {
		s.fleet = w.Fleet.State()
	}
	return s
}

// catalogBetween is nil where every definition is the same.
func catalogBetween(was, is *catalog.Index) *catalogForm {
	if was == is {
		return nil
	}
	f := &catalogForm{Version: is.Version()}
	base := was == nil
	if base {
		was = catalog.NewIndex(0, nil)
	}
	for _, e := range is.Entries() {
		old, there := was.Get(e.Model.Name)
		if !there || !reflect.DeepEqual(*old, e) {
			f.Put = append(f.Put, e)
		}
	}
	for _, e := range was.Entries() {
		if _, still := is.Get(e.Model.Name); !still {
			f.Gone = append(f.Gone, e.Model.Name)
		}
	}
	if !base && len(f.Put)+len(f.Gone) == 0 {
		return nil
	}
	return f
}

func (f *catalogForm) onto(was *catalog.Index) *catalog.Index {
	var entries []catalog.Entry
	put := map[catalog.Name]bool{}
	for _, e := range f.Put {
		put[e.Model.Name] = true
	}
	if was != nil {
		for _, e := range was.Entries() {
			if !put[e.Model.Name] && !slices.Contains(f.Gone, e.Model.Name) {
				entries = append(entries, e)
			}
		}
	}
	return catalog.NewIndex(f.Version, append(entries, f.Put...))
}

// replicasBetween is nil where every replica is the same. Both are ordered by id.
func replicasBetween(was, is []reconciler.Replica) *replicasForm {
	if len(was) == len(is) && (len(is) == 0 || &was[0] == &is[0]) {
		return nil
	}
	var f replicasForm
	i := 0
	for k := range is {
		for i < len(was) && was[i].ID < is[k].ID {
			f.Gone = append(f.Gone, was[i].ID)
			i++
		}
		if i < len(was) && was[i].ID == is[k].ID {
			i++
			if sameReplica(&was[i-1], &is[k]) {
				continue
			}
		}
		f.Put = append(f.Put, replicaForm(is[k]))
	}
	for ; i < len(was); i++ {
		f.Gone = append(f.Gone, was[i].ID)
	}
	if len(f.Put)+len(f.Gone) == 0 {
		return nil
	}
	return &f
}

// sameReplica knows most by what changes in a life: shards are never changed in
// place, and what stands beside them is as old as they are.
func sameReplica(a, b *reconciler.Replica) bool {
	if a.Phase != b.Phase || a.Restart != b.Restart || a.Why != b.Why || a.Replaces != b.Replaces || a.Fingerprint != b.Fingerprint ||
		!a.PhaseSince.Equal(b.PhaseSince) || !a.DrainBy.Equal(b.DrainBy) || !a.ReadyAt.Equal(b.ReadyAt) || len(a.Shards) != len(b.Shards) {
		return false
	}
	return len(a.Shards) > 0 && &a.Shards[0] == &b.Shards[0] || reflect.DeepEqual(*a, *b)
}

func (f *replicasForm) onto(was []reconciler.Replica) []reconciler.Replica {
	return merged(was, replicas(f.Put), f.Gone)
}

func replicas(forms []replicaForm) []reconciler.Replica {
	out := make([]reconciler.Replica, len(forms))
	for i := range forms {
		out[i] = reconciler.Replica(forms[i])
	}
	return out
}

// merged puts replicas in place of those of their ids, and takes others out.
func merged(was, put []reconciler.Replica, gone []reconciler.ReplicaID) []reconciler.Replica {
	byID := make(map[reconciler.ReplicaID]*reconciler.Replica, len(put))
	for i := range put {
		byID[put[i].ID] = &put[i]
	}
	for _, id := range gone {
		byID[id] = nil
	}
	out := make([]reconciler.Replica, 0, len(was)+len(put))
	for i := range was {
		if _, touched := byID[was[i].ID]; !touched {
			out = append(out, was[i])
		}
	}
	for _, r := range byID {
		if r != nil {
			out = append(out, *r)
		}
	}
	slices.SortFunc(out, func(a, b reconciler.Replica) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// carried are the replicas once a plan is carried out.
func carried(was []reconciler.Replica, actions []reconciler.Action) []reconciler.Replica {
	if len(actions) == 0 {
		return was
	}
	var put []reconciler.Replica
	var gone []reconciler.ReplicaID
	for i := range actions {
		if actions[i].Kind == reconciler.Forget {
			gone = append(gone, actions[i].Replica.ID)
		} else {
			put = append(put, actions[i].Replica)
		}
	}
	return merged(was, put, gone)
}

// memoryBetween is nil where the same is remembered, beside a catalog.
func memoryBetween(was, is reconciler.Memory, x *catalog.Index) *memoryForm {
	f := memoryForm{Next: is.Next, Models: between(was.Models, is.Models, sameMemory)}
	if !slices.Equal(was.Orphans, is.Orphans) {
		f.Orphans = said(is.Orphans)
	}
	if !reflect.DeepEqual(was.Brake, is.Brake) {
		f.Brake = &is.Brake
	}
	if !sameMix(was.Mix, is.Mix) {
		f.Mix = mixOf(is.Mix, x)
	}
	f.Sought = between(was.Sought, is.Sought, time.Time.Equal)
	if f.Next == was.Next && f.Models.IsZero() && f.Sought.IsZero() && f.Orphans == nil && f.Brake == nil && f.Mix == nil {
		return nil
	}
	return &f
}

func sameMemory(a, b reconciler.ModelMemory) bool { return reflect.DeepEqual(a, b) }

func (f *memoryForm) onto(was reconciler.Memory, x *catalog.Index) reconciler.Memory {
	was.Next, was.Models, was.Sought = f.Next, f.Models.onto(was.Models), f.Sought.onto(was.Sought)
	if f.Orphans != nil {
		was.Orphans = *f.Orphans
	}
	if f.Brake != nil {
		was.Brake = *f.Brake
	}
	if f.Mix != nil {
		was.Mix = f.Mix.mix(x)
	}
	return was
}

// world is the state as Step is given it.
func (s *state) world(now time.Time, orders []reconciler.Order) reconciler.World {
	st := withRunning(s.fleet, s.traffic.running)
	return reconciler.World{
		Now: now, Catalog: s.catalog, Fleet: st.Snapshot(), Replicas: s.replicas, Orders: orders,
		Traffic: reconciler.Traffic{Since: s.traffic.since, Models: s.traffic.models, Replicas: s.traffic.replicas},
	}
}
