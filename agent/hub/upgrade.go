package hub

import (
	"context"
	"reflect"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// Upgrade has a node's agent become another version, and gives how its upgrade
// before went, nil for none. Errors are Ask's.
func (h *Hub) Upgrade(ctx context.Context, node inventory.NodeID, version string) (*inventory.Upgrade, error) {
	var out protocol.UpgradeResult
	err := h.Ask(ctx, node, protocol.AskUpgrade, protocol.UpgradeArgs{Version: version}, protocol.UpgradeTime, &out)
	clean(reflect.ValueOf(&out).Elem(), maxList)
	return out.Last, err
}
