package adminapi

import (
	"net/http"

	"llmgw.io/llmgw/adminapi/auth"
)

func facilityRoutes() []route {
	domain := param{name: "domain", kind: "string", doc: "level:name, such as rack:r12-07", required: true}
	return []route{{
		method: http.MethodGet, pattern: "/facility", name: "facility.get", op: "Facility", scope: auth.Read, needs: clusterPart,
		summary:     "Show the building, what stands in it, and what is held",
		description: "As the nodes' labels llmgw.io/site, room, row, rack and pdu say it is. Also the models that one place would take away, and labels that contradict each other.",
		endpoint:    answers((*API).facility),
	}, {
		method: http.MethodPost, pattern: "/facility/holds", name: "holds.put", op: "Hold", scope: auth.Operate, needs: nodesPart,
		summary:     "Hold a place: nothing new is placed there",
		description: "In place of the hold it has. With a begin it is planned work: from then on what stands there is carried out too, replacement first. It ends by itself where it has an end.",
		what:        "the hold request", limit: small, endpoint: takes((*API).hold),
	}, {
		method: http.MethodDelete, pattern: "/facility/holds/{domain}", name: "holds.delete", op: "ReleaseHold", scope: auth.Operate, needs: nodesPart,
		summary: "Release a place", endpoint: answers((*API).releaseHold),
	}, {
		method: http.MethodGet, pattern: "/facility/plan", name: "holds.plan", op: "PlanHold", scope: auth.Read, needs: clusterPart,
		summary:     "Show what carrying out a place would do",
		description: "A dry run by the same placer on copies: what would move where, in order, what fits nowhere else, and how long it takes. It knows neither preemption nor moves to make room: POST /plan-change plays those out, too, and is right where the two differ.",
		query: []param{
			domain,
			{name: "from", kind: "string", doc: "when it would begin, as in 2026-01-31T12:00:00Z; now when left out"},
			{name: "until", kind: "string", doc: "when it would end"},
		},
		endpoint: answers((*API).planHold),
	}, {
		method: http.MethodPost, pattern: "/brake/release", name: "brake.release", op: "ReleaseBrake", scope: auth.Operate, needs: ordersPart,
		summary:     "Let lost replicas be replaced again after a mass loss",
		description: "Answers whether the brake was set. Nodes that are silent now do not set it again.",
		endpoint:    answers((*API).releaseBrake),
	}}
}
