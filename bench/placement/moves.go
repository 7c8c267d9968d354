package main

import (
	"maps"
	"slices"
	"strconv"

	"llmgw.io/llmgw/catalog"
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
const mostAtOnce = 8

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
		standing = append(standing, placement.Occupant{Replica: r.Replica, Model: r.Model.Name, Class: r.Model.Class, Seconds: 60})
	}
	p := l.fleet.index.Preempt(req, standing, nil)
	if len(p.Victims) > left {
		return placement.Decision{}, nil
	}
	var moves []llmMove
	for _, v := range p.Victims {
		moves = append(moves, llmMove{ID: replicaID(v.Replica)})
	}
	return p.Decision, moves
}

func replicaID(replica string) int {
	n, err := strconv.Atoi(replica)
	if err != nil {
		panic(err)
	}
	return n
}
