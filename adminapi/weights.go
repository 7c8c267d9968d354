package adminapi

import (
	"context"
	"errors"
	"sync"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/inventory"
)

// Collector is what a NodeCalls may be too: it has a live agent remove weights.
// An agent removes only what nothing there needs, and says why it kept the rest;
// errors are those of NodeCalls. Repeating a call is safe.
type Collector interface {
	Collect(ctx context.Context, node string, paths []string) (inventory.Collected, error)
}

func (a *API) orphans(c *call) ([]view.Orphan, error) {
	all := view.OrphansOf(a.look().Leftovers())
	if node := c.r.URL.Query().Get("node"); node != "" {
		if a.look().Fleet.Node(inventory.NodeID(node)) == nil {
			return nil, noNode(node)
		}
		own := all[:0]
		for _, o := range all {
			if o.Node == node {
				own = append(own, o)
			}
		}
		all = own
	}
	return page(c, all, func(o view.Orphan) string { return o.Node + " " + o.Path })
}

// mostCollected bounds one order.
const mostCollected = 10000

func (a *API) collectWeights(c *call, in view.CollectRequest) (view.Collected, error) {
	if len(in.Orphans) == 0 {
		return view.Collected{}, invalid("the order to collect names nothing; name orphans as GET %s/weights/orphans, or ctl weights orphans, lists them", Base)
	}
	if len(in.Orphans) > mostCollected {
		return view.Collected{}, invalid("the order to collect names %d orphans; at most %d are removed at once", len(in.Orphans), mostCollected)
	}
	listed := map[view.OrphanRef]bool{}
	for _, o := range a.look().Leftovers() {
		listed[view.OrphanRef{Node: string(o.Node), Path: o.Path}] = true
	}
	var out view.Collected
	byNode := map[string][]string{}
	for _, o := range in.Orphans {
		if !listed[o] {
			out.Keep(o.Node, clip(o.Path), "it is no orphan: something needs it, or it is not there")
			continue
		}
		delete(listed, o) // one that is named twice is removed once
		byNode[o.Node] = append(byNode[o.Node], o.Path)
	}
	if len(byNode) > 0 {
		if err := a.record(c, "weights", in); err != nil {
			return view.Collected{}, err
		}
		a.collect(c.r.Context(), byNode, &out)
	}
	out.Sort()
	return out, nil
}

// askAtOnce is how many nodes are asked at a time.
const askAtOnce = 16

// collect asks the nodes; one that does not answer keeps what it has.
func (a *API) collect(ctx context.Context, byNode map[string][]string, out *view.Collected) {
	agents := a.cfg.NodeCalls.(Collector) //nolint:forcetypeassert // the route needs it
	var mu sync.Mutex
	var all sync.WaitGroup
	slots := make(chan struct{}, askAtOnce)
	for node, paths := range byNode {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			did, err := agents.Collect(ctx, node, paths)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				out.Add(node, did)
				return
			}
			err = agentProblem(ctx, node, err, true)
			a.cfg.Logger.Warn("weights were not collected", "node", node, "err", err)
			why := "the node could not be asked"
			var r *refusal
			if errors.As(err, &r) {
				why = r.text
			}
			for _, path := range paths {
				out.Keep(node, path, why)
			}
		})
	}
	all.Wait()
}
