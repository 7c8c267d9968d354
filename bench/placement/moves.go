package main

import (
	"maps"
	"slices"
	"strconv"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// llmMove is a replica that makes room: by going elsewhere, or, without shards,
// by being stopped.
type llmMove struct {
	ID int `json:"id"`
	llmPlace
}

// makingRoom is what may be moved, and how much of it was.
type makingRoom struct {
	percent      float64
	placed, made int
	where        map[int]placement.Resident
}

// mostAtOnce bounds what one request may set in motion.
const mostAtOnce = 16

// left is how many replicas may still be moved or stopped.
func (r *makingRoom) left() int {
	return min(mostAtOnce, int(r.percent/100*float64(r.placed))-r.made)
}

// llmClass is a harness's priority as a class: groups are critical.
func llmClass(priority int) catalog.Class {
	switch {
	case priority >= 4:
		return catalog.ClassCritical
	case priority >= 2:
		return catalog.ClassStandard
	}
	return catalog.ClassBatch
}

// makeRoom moves others for a request that found no place; for a group it also
// stops what is of a lower class.
func (l *llm) makeRoom(req placement.Request) (got placement.Candidate, moves []llmMove, ok bool) {
	left := l.room.left()
	if left < 1 {
		return got, nil, false
	}
	ids := slices.Sorted(maps.Keys(l.room.where))
	var residents []placement.Resident
	for _, id := range ids {
		residents = append(residents, l.room.where[id])
	}
	d, went := l.fleet.index.Rearrange(req, residents, left)
	for _, m := range went {
		moves = append(moves, llmMove{ID: replicaID(m.Replica), llmPlace: l.at(m.To)})
	}
	if !d.Placed && req.Model.Profiles[0].ShardCount() > 1 {
		d, moves = l.preempt(req, residents, left)
	}
	if d.Placed {
		l.room.made += len(moves)
	}
	return d.Candidate, moves, d.Placed
}

func (l *llm) preempt(req placement.Request, residents []placement.Resident, left int) (placement.Decision, []llmMove) {
	var standing []placement.Occupant
	for _, r := range residents {
		standing = append(standing, placement.Occupant{Replica: r.Replica, Model: r.Model.Name, Class: r.Model.Class, Seconds: priceOf(r.Model)})
	}
	p := l.fleet.index.Preempt(req, standing, nil)
	if len(p.Victims) > left {
		return placement.Decision{}, nil
	}
	return p.Decision, l.spare(p, req, residents, left)
}

// priceOf is what stopping a replica costs by the harness's rules: it counts
// replicas, so what each device has to make up for is the less the more it has.
func priceOf(m *catalog.Model) float64 {
	p := &m.Profiles[0]
	devices := p.ShardCount()
	if p.GPU != nil {
		devices *= max(1, p.GPU.Count)
	}
	return 3600 / float64(devices)
}

// spare lets those who would be stopped go elsewhere as far as they can, also by
// moving others out of their way, and stops the rest.
func (l *llm) spare(p placement.Preemption, req placement.Request, residents []placement.Resident, left int) (moves []llmMove) {
	x := l.fleet.index
	avoid := map[inventory.NodeID]string{}
	for _, s := range p.Decision.Candidate.Spots {
		avoid[s.Node] = "is kept for the group"
	}
	residents = slices.DeleteFunc(residents, func(r placement.Resident) bool {
		return slices.ContainsFunc(r.Nodes, func(n inventory.NodeID) bool { return avoid[n] != "" })
	})
	x.Try(func() {
		x.With(p.Decision.Candidate.Allocations(string(req.Model.Name), "group")...)
		for i, v := range p.Victims {
			most := left - len(moves) - (len(p.Victims) - i)
			id := replicaID(v.Replica)
			ask := placement.Request{Model: l.room.where[id].Model, Avoid: avoid}
			d, went := x.Rearrange(ask, residents, most)
			if now, _ := x.Choose(ask); now.Placed {
				d, went = now, nil
			}
			for _, m := range went {
				moves = append(moves, l.goes(replicaID(m.Replica), m.To))
				residents = slices.DeleteFunc(residents, func(r placement.Resident) bool { return r.Replica == m.Replica })
			}
			if d.Placed {
				moves = append(moves, l.goes(id, d.Candidate))
			} else {
				moves = append(moves, llmMove{ID: id})
			}
		}
	})
	return moves
}

// goes moves a replica within a trial. A victim keeps its old place there, which
// is the group's.
func (l *llm) goes(id int, to placement.Candidate) llmMove {
	r := l.room.where[id]
	l.fleet.index.With(to.Allocations(string(r.Model.Name), r.Replica+"/moved")...)
	l.fleet.index.Without(r.Replica, r.Nodes...)
	return llmMove{ID: id, llmPlace: l.at(to)}
}

func replicaID(replica string) int {
	n, err := strconv.Atoi(replica)
	if err != nil {
		panic(err)
	}
	return n
}
