package llmgw

import (
	"context"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// Upgrade has the node's agent become another version.
func (n *nodes) Upgrade(ctx context.Context, node, version string) (*inventory.Upgrade, error) {
	id := inventory.NodeID(node)
	last, err := n.hub.Upgrade(ctx, id, version)
	if err != nil {
		return nil, unanswered(n.Snapshot().Node(id), protocol.AskUpgrade, err)
	}
	return last, nil
}
