package placement

import (
	"fmt"
	"slices"

	"llmgw.io/llmgw/catalog"
)

// anyFabric is a profile's word for one physical network, whichever.
const anyFabric = "any"

func byFabric(q *query) refusal {
	if q.profile.Fabric == "" {
		return refusal{}
	}
	fabrics := q.h.node.Fabrics()
	for _, f := range fabrics {
		if q.profile.Fabric == anyFabric || f.Name == q.profile.Fabric {
			return refusal{}
		}
	}
	return refusal{reason: Fabric, say: func(q *query, _ refusal) string {
		has := "is on none that it says"
		if names := fabricNames(q.h); names != "" {
			has = "is on " + names
		}
		if q.profile.Fabric == anyFabric {
			return "needs a fabric, " + has
		}
		return fmt.Sprintf("needs fabric %s, %s", q.profile.Fabric, has)
	}}
}

func fabricNames(h *host) string {
	out := ""
	for _, f := range h.node.Fabrics() {
		if out != "" {
			out += ", "
		}
		if out += f.Name; f.Name == "" {
			out += f.Key
		}
	}
	return out
}

func byNVLinkDomain(q *query) refusal {
	if !q.profile.NVLinkDomain || q.h.node.NVLinkDomain() != "" {
		return refusal{}
	}
	return refusal{reason: NVLinkDomain, text: "its devices are in no NVLink domain that they agree on"}
}

func byIMEX(q *query) refusal {
	if !q.profile.NVLinkDomain || q.profile.ShardCount() == 1 || q.h.node.IMEXLacks() == "" {
		return refusal{}
	}
	return refusal{reason: IMEX, say: func(q *query, _ refusal) string { return q.h.node.IMEXLacks() }}
}

func byNeighbours(q *query) refusal {
	for i := range q.h.node.Allocations {
		if a := &q.h.node.Allocations[i]; slices.Contains(q.apart, catalog.Name(a.Model)) {
			return refusal{reason: AntiAffinity, say: func(q *query, _ refusal) string {
				return fmt.Sprintf("%s runs there, which %s must not share a node with", firstOf(q), q.model.Name)
			}}
		}
	}
	return refusal{}
}

// firstOf is the first model on the host that the request stays away from.
func firstOf(q *query) string {
	for i := range q.h.node.Allocations {
		if a := &q.h.node.Allocations[i]; slices.Contains(q.apart, catalog.Name(a.Model)) {
			return a.Model
		}
	}
	return ""
}
