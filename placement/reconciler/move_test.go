package reconciler_test

import (
	"fmt"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// movesLaw: no more replicas move in an hour than may, none under the brake,
// and none from or to a node that takes nothing; each has its replacement.
type movesLaw struct {
	at []time.Time
	// most is how many replicas there were at most.
	most int
}

func (l *movesLaw) check(s *sandbox, before reconciler.World, plan reconciler.Plan) error {
	live := 0
	for _, r := range before.Replicas {
		if r.Phase == reconciler.Run {
			live++
		}
	}
	placed := map[reconciler.ReplicaID]reconciler.Replica{}
	for _, a := range plan.Actions {
		if a.Kind == reconciler.Place {
			placed[a.Replica.Replaces] = a.Replica
			live++
		}
	}
	for _, e := range plan.Events {
		if e.Kind != reconciler.EventMoved {
			continue
		}
		if plan.Brake.On() {
			return fmt.Errorf("%s moves under the brake", e.Replica)
		}
		p, started := placed[e.Replica]
		if !started {
			return fmt.Errorf("%s moves and nothing is started for it", e.Replica)
		}
		for _, sh := range append(p.Shards, s.replicas[e.Replica].Shards...) {
			if n := before.Fleet.Node(sh.Spot.Node); n.State() != inventory.StateReady || n.Held.Yes() {
				return fmt.Errorf("%s moves by way of %s, which is %s, %s", e.Replica, n.ID, n.State(), n.Held.Reason)
			}
		}
		l.at = append(l.at, s.now)
	}
	within := 0
	for _, at := range l.at {
		if s.now.Sub(at) < time.Hour {
			within++
		}
	}
	// The part is of those there were when each began, so only more is wrong.
	if most := s.by.Moves / 100 * float64(max(live, l.most)); float64(within) > most {
		return fmt.Errorf("%d replicas moved within an hour, and %g may", within, most)
	}
	l.most = max(l.most, live)
	return nil
}
