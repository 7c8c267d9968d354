package adminapi

import (
	"context"
	"net/http"
	"slices"
	"time"

	"llmgw.io/llmgw/adminapi/auth"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/internal/release"
	"llmgw.io/llmgw/inventory"
)

// Upgrades is what a NodeCalls may be too: it has a live agent become another
// version of itself, and blocks until that has taken or refused it. It gives how
// the agent's upgrade before went, nil when there was none. Errors are those of a
// NodeCalls.
type Upgrades interface {
	Upgrade(ctx context.Context, node, version string) (last *inventory.Upgrade, err error)
}

// upgradeWait is how long an agent may take to fetch and prove a release, and
// upgradeFeature what one that can says.
const (
	upgradeWait    = 6 * time.Minute
	upgradeFeature = "upgrade"
)

func upgradeRoutes() []route {
	return []route{{
		method: http.MethodPost, pattern: "/nodes/{id}/upgrade", name: "nodes.upgrade", op: "UpgradeNode", scope: auth.Operate, needs: upgradePart,
		summary: "Upgrade a node's agent to a release",
		description: "The agent fetches the release from where its own configuration says, and verifies it. The answer says that it has taken it, which is not yet running: the node's agent_version and upgrade tell. " +
			"Engines go on. A version that the control plane does not hear from in time is taken back by itself. Versions only rise.",
		what: "the upgrade request", limit: oneField, long: upgradeWait, endpoint: takes((*API).upgradeNode),
	}}
}

// upgradeNode needs the part that says that agents can be upgraded.
func (a *API) upgradeNode(c *call, in view.NodeUpgradeRequest) (view.NodeUpgrade, error) {
	if err := release.CheckTag(in.Version); err != nil {
		return view.NodeUpgrade{}, invalid("the upgrade request names the version %s", err)
	}
	id := c.param("id")
	if a.cfg.Cluster != nil {
		n := a.look().Fleet.Node(inventory.NodeID(id))
		if n == nil {
			return view.NodeUpgrade{}, noNode(id)
		}
		if !slices.Contains(n.Facts.Features, upgradeFeature) {
			return view.NodeUpgrade{}, refuse(http.StatusConflict, codeUnsupported,
				"the agent of node %q is too old to upgrade itself, or has not said yet what it can do; install %s on its machine", id, in.Version)
		}
	}
	if err := a.record(c, "node:"+id, in); err != nil {
		return view.NodeUpgrade{}, err
	}
	last, err := a.cfg.NodeCalls.(Upgrades).Upgrade(c.r.Context(), id, in.Version)
	if err != nil {
		return view.NodeUpgrade{}, agentProblem(c.r.Context(), id, err, true)
	}
	return view.NodeUpgrade{Node: id, Version: in.Version, Last: view.UpgradeOf(last)}, nil
}
