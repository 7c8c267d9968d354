package adminapi

import (
	"net/http"
	"time"

	"llmgw.io/llmgw/adminapi/auth"
)

// collectTime is how long nodes may take together to remove what they were told to.
const collectTime = 10 * time.Minute

func weightsRoutes() []route {
	return []route{{
		method: http.MethodGet, pattern: "/weights/orphans", name: "weights.orphans", op: "Orphans", scope: auth.Read, needs: clusterPart,
		summary:     "List weights on nodes that no model needs",
		description: "Folders that agents fetched and that no definition, replica, rollout or rollback names, by node and path. What people put on a disk themselves is never in it.",
		query:       pages(param{name: "node", kind: "string", doc: "only this node's"}),
		endpoint:    answers((*API).orphans),
	}, {
		method: http.MethodPost, pattern: "/weights/collect", name: "weights.collect", op: "CollectWeights", scope: auth.Operate, needs: collectPart,
		summary:     "Remove weights that a listing of orphans named",
		description: "Each is looked at again, here and by its node: nothing is removed that a model needs by now, a shard has, a process has open, or other machines share. What was kept is answered with the reason.",
		what:        "the order to collect", limit: wholeForm, long: collectTime, endpoint: takes((*API).collectWeights),
	}}
}
