package reconciler

import (
	"maps"
	"math"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// The rule of pace. What routers measure of replicas tells how quick a model is on
// a node, and parts nodes that are equal in all else. It is a slow value: whole
// steps, of which one is left only for what is clearly nearer to another, so that
// single measurements change no decision. It is looked at when a model asks for
// room, and holds for nodes on which a replica of it is ready. A replica that was
// not measured, as after a router's start, leaves it as it is.

const (
	// PaceStep is the ratio of one step of a pace to the next.
	PaceStep = 1.25
	// paceHold is how far a measurement has to be from a step to leave it, in steps.
	paceHold = 0.75
	// mostPace is the last step: some six times slower, or quicker.
	mostPace = 8
)

// paceOf is the step for so many times slower than usual, of a node that was at
// one.
func paceOf(slowness float64, was int) int {
	at := math.Log(slowness) / math.Log(PaceStep)
	if math.Abs(at-float64(was)) < paceHold {
		return was
	}
	return int(math.Round(min(max(at, -mostPace), mostPace)))
}

// pace brings up to date how quick the model is on the nodes where it stands,
// once in a step.
func (s *step) pace(g *group) {
	if g.paced || len(s.w.Traffic.Replicas)+len(g.mem.Pace) == 0 {
		return
	}
	g.paced = true
	next := map[inventory.NodeID]int{}
	for node, slowness := range s.measured(g) {
		pace := g.mem.Pace[node]
		if slowness > 0 {
			pace = paceOf(slowness, pace)
		}
		if pace != 0 {
			next[node] = pace
		}
	}
	if len(next) == 0 {
		next = nil
	}
	if !maps.Equal(next, g.mem.Pace) {
		g.mem.Pace = next
	}
}

// measured is how slow the ready replicas on each node are, in the mean of those
// that were measured; zero where none was.
func (s *step) measured(g *group) map[inventory.NodeID]float64 {
	out, counts := map[inventory.NodeID]float64{}, map[inventory.NodeID]float64{}
	for _, u := range g.units {
		if u.isNew || !u.ready() {
			continue
		}
		slowness := s.w.Traffic.Replicas[u.ID].Slowness
		for i := range u.Shards {
			node := u.Shards[i].Spot.Node
			n, was := counts[node], out[node]
			if out[node] = was; slowness > 0 && !math.IsInf(slowness, 1) {
				out[node], counts[node] = (was*n+slowness)/(n+1), n+1
			}
		}
	}
	return out
}

// paces are the speeds that were made of a model's pace.
type paces struct {
	of     map[inventory.NodeID]int
	speeds *placement.Speeds
}

// speeds are those of a model's pace, the same as before where that is.
func (c *Cache) speeds(model catalog.Name, pace map[inventory.NodeID]int) *placement.Speeds {
	if len(pace) == 0 {
		return nil
	}
	if p, known := c.paces[model]; known && maps.Equal(p.of, pace) {
		return p.speeds
	}
	slower := make(map[inventory.NodeID]float64, len(pace))
	for node, steps := range pace {
		slower[node] = math.Pow(PaceStep, float64(steps))
	}
	p := paces{of: pace, speeds: placement.SlowerBy(slower)}
	if c.paces == nil {
		c.paces = map[catalog.Name]paces{}
	}
	c.paces[model] = p
	return p.speeds
}

// viewed is the request of a step that only looks at a view.
func (s *step) viewed(v *View, m *catalog.Model) placement.Request {
	req := Request(v.Catalog, m)
	req.Speeds = s.cache.speeds(m.Name, v.Memory.Models[m.Name].Pace)
	return req
}

// request is Request for a definition of the group's model, with what was measured
// of it.
func (s *step) request(g *group, m *catalog.Model) placement.Request {
	req := Request(s.w.Catalog, m)
	req.Speeds = s.cache.speeds(g.name, g.mem.Pace)
	return req
}
