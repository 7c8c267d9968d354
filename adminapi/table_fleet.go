package adminapi

import (
	"net/http"

	"llmgw.io/llmgw/adminapi/auth"
)

func clusterRoutes() []route {
	return []route{{
		method: http.MethodGet, pattern: "/summary", name: "summary.get", op: "Summary", scope: auth.Read, needs: clusterPart,
		summary:     "Show the cluster at one glance",
		description: "Counts of nodes, devices, models and replicas, and the control plane's own version, uptime and store.",
		endpoint:    answers((*API).summary),
	}, {
		method: http.MethodPost, pattern: "/plan-change", name: "plan.change", op: "PlanChange", scope: auth.Read, needs: clusterPart,
		summary:     "Show what a change of a model, a node or a hold would do",
		description: "A dry run by the steps of the control loop, on a copy in which every order is obeyed at once: what is placed, moved, preempted and lost, and what finds no room. It changes nothing, so it needs no more than reading. It says nothing of order or time; GET /facility/plan estimates both for a hold.",
		what:        "the change", limit: wholeForm, endpoint: takes((*API).planChange),
	}, {
		method: http.MethodGet, pattern: "/openapi.json", name: "openapi.get", op: "OpenAPI", scope: auth.Read,
		summary:     "Show the OpenAPI document of this surface",
		description: "Every route that is built, whatever is wired in. A route that needs a part carries x-llmgw-needs.",
		endpoint:    writes("application/json", (*API).openapi),
	}}
}

func nodeRoutes() []route {
	return []route{{
		method: http.MethodGet, pattern: "/nodes", name: "nodes.list", op: "Nodes", scope: auth.Read, needs: clusterPart,
		summary: "List nodes", description: "Ordered by id.",
		query: pages(), endpoint: answers((*API).listNodes),
	}, {
		method: http.MethodGet, pattern: "/nodes/{id}", name: "nodes.get", op: "Node", scope: auth.Read, needs: clusterPart,
		summary: "Show a node", endpoint: answers((*API).getNode),
	}, {
		method: http.MethodPost, pattern: "/nodes/{id}/state", name: "nodes.state", op: "SetNodeState", scope: auth.Operate, needs: nodesPart,
		summary:     "Make a node ready, cordon it or drain it",
		description: "Acts at once. Cordon stops new placement; drain also moves existing work off, replacement first.",
		what:        "the node state request", limit: oneField, endpoint: takes((*API).setNodeState),
	}, {
		method: http.MethodPost, pattern: "/nodes/{id}/labels", name: "nodes.labels", op: "SetLabels", scope: auth.Operate, needs: nodesPart,
		summary:     "Change the operators' labels of a node",
		description: "They lie over the agent's own: a text sets one, an empty one hides the agent's, and null removes the operators'.",
		what:        "the label request", limit: small, endpoint: takes((*API).labelNode),
	}, {
		method: http.MethodPost, pattern: "/nodes/{id}/engines", name: "nodes.engines", op: "SetBuild", scope: auth.Operate, needs: buildsPart,
		summary:     "Choose the build of an engine on a node",
		description: "auto lets the node's devices and driver decide, none installs nothing, a build's name is what is tried. It is installed from the agent's mirror and proved before a replica starts with it; how far it is stands in the node's provision.",
		what:        "the engine request", limit: oneField, endpoint: takes((*API).setBuild),
	}, {
		method: http.MethodDelete, pattern: "/nodes/{id}", name: "nodes.remove", op: "RemoveNode", scope: auth.Operate, needs: nodesPart,
		summary:     "Remove a node for good",
		description: "Only a node that is lost, or unreachable with nothing allocated. Its certificates are revoked in the same transaction.",
		endpoint:    answers((*API).removeNode),
	}, {
		method: http.MethodGet, pattern: "/nodes/{id}/logs", name: "nodes.logs", op: "NodeLogs", scope: auth.Read, needs: agentsPart,
		summary:     "Show the log of an agent or of one shard's engine",
		description: "A stream of text, through the agent's own connection. A log that the node does not have is 404. It breaks off when the agent goes away, and when the node is removed.",
		query: []param{
			{name: "shard", kind: "string", doc: "the shard whose engine's log is wanted; the agent's own when left out"},
			{name: "tail", kind: "integer", doc: "how many of the last lines; 200 when left out"},
			{name: "follow", kind: "boolean", doc: "go on with lines as they come"},
		},
		endpoint: writes("text/plain; charset=utf-8", (*API).nodeLogs),
	}}
}

func replicaRoutes() []route {
	return []route{{
		method: http.MethodGet, pattern: "/explain-placement", name: "placement.explain", op: "Explain", scope: auth.Read, needs: clusterPart,
		summary:     "Explain where a model is placed, or why it is not",
		description: "No rejections means that placement was never tried: the model is satisfied, or the loop has not run yet.",
		query:       []param{{name: "model", kind: "string", doc: "a model's name, or an alias", required: true}},
		endpoint:    answers((*API).explain),
	}, {
		method: http.MethodGet, pattern: "/replicas", name: "replicas.list", op: "Replicas", scope: auth.Read, needs: clusterPart,
		summary: "List replicas", description: "Ordered by id, those that others run too. Engine keys are shown to owners only.",
		query:    pages(param{name: "model", kind: "string", doc: "only this model's"}),
		endpoint: answers((*API).listReplicas),
	}, {
		method: http.MethodPost, pattern: "/restart", name: "replicas.restart", op: "Restart", scope: auth.Operate, needs: ordersPart,
		summary:     "Restart replicas",
		description: "A replacement is started first, unless in place. models and all select ready replicas, replicas any; one unknown id refuses the whole order. A rollout takes only those that are not as their definition says.",
		what:        "the restart request", limit: small, status: http.StatusAccepted, endpoint: takes((*API).restart),
	}}
}
