package adminapi

import (
	"net/http"
	"time"

	"llmgw.io/llmgw/adminapi/auth"
)

func fabricRoutes() []route {
	return []route{{
		method: http.MethodGet, pattern: "/fabrics", name: "fabrics.get", op: "Fabrics", scope: auth.Read, needs: clusterPart,
		summary:     "Show the networks between nodes, and what is wrong with them",
		description: "Physical networks by what the ports of nodes say, against the names that the configuration gave them (fabrics). A subnet manager that took over is told from a cable that was moved.",
		endpoint:    answers((*API).fabrics),
	}, {
		method: http.MethodGet, pattern: "/fabrics/{id}/topology", name: "fabrics.topology", op: "Topology", scope: auth.Read, needs: clusterPart,
		summary:     "Show the map of a network, with what its adapters do now",
		description: "The newest map that a node made of it, joined by node GUID with what ports say now. id is the network's key with a dash for a colon and an underscore for a slash; the one it had under a former subnet manager finds it, too.",
		endpoint:    answers((*API).topology),
	}, {
		method: http.MethodPost, pattern: "/fabrics/{id}/scan", name: "fabrics.scan", op: "ScanFabric", scope: auth.Operate, needs: fabricsPart,
		summary:     "Have a node walk a network for its map",
		description: "One node of it is asked, and another where that fails. A map of the last half minute is answered as it is. Needs ibnetdiscover on a node, and its agent's right to send management packets.",
		long:        2 * time.Minute, endpoint: answers((*API).scanFabric),
	}, {
		method: http.MethodGet, pattern: "/nvlink", name: "nvlink.get", op: "NVLink", scope: auth.Read, needs: clusterPart,
		summary:     "Show NVLink domains of several nodes, and what keeps nodes out",
		description: "A domain is a GPU fabric's cluster and clique. Machines whose NVLink ends at the case are told so.",
		endpoint:    answers((*API).nvlink),
	}}
}
