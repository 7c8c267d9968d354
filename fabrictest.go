package llmgw

import (
	"context"
	"errors"
	"fmt"
	"time"

	"llmgw.io/llmgw/adminapi"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/agent/fabrictest"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// FabricTest brings two agents together.
func (n *nodes) FabricTest(ctx context.Context, in view.FabricTestRequest) (view.FabricTestResult, error) {
	look := n.Snapshot()
	q := fabrictest.Question{From: look.Node(inventory.NodeID(in.From)), To: look.Node(inventory.NodeID(in.To)), Fabric: in.Fabric, Seconds: in.Seconds}
	for id, node := range map[string]*inventory.Node{in.From: q.From, in.To: q.To} {
		if node == nil {
			return view.FabricTestResult{}, fmt.Errorf("%w: %s", inventory.ErrNotFound, id)
		}
	}
	o, err := fabrictest.Between(ctx, asker{n}, q)
	if errors.Is(err, fabrictest.ErrNoRoute) {
		err = fmt.Errorf("%w: %w", adminapi.ErrNoFabric, err)
	}
	if err != nil {
		return view.FabricTestResult{}, err
	}
	v := view.FabricTestResult{
		From: in.From, To: in.To, Fabric: in.Fabric, Method: o.Method, Gbps: o.Gbps, LatencyUSP50: o.P50US, LatencyUSP99: o.P99US, OK: o.OK, Text: o.Text,
	}
	if o.Fabric != "" {
		v.Fabric = o.Fabric
	}
	if o.ExpectedGbps > 0 {
		v.ExpectedGbps = &o.ExpectedGbps
	}
	return v, nil
}

// asker is the hub, with its errors in the admin API's words.
type asker struct{ n *nodes }

// Ask asks one agent.
func (a asker) Ask(ctx context.Context, node inventory.NodeID, kind protocol.AskKind, args any, within time.Duration, out any) error {
	if err := a.n.hub.Ask(ctx, node, kind, args, within, out); err != nil {
		return unanswered(a.n.Snapshot().Node(node), kind, err)
	}
	return nil
}
