package adminapi

import "net/http"

// part is something a route cannot do without. The names are shown in the
// OpenAPI document as x-llmgw-needs.
type part string

const (
	noPart      part = ""
	catalogPart part = "catalog"
	clusterPart part = "cluster"
	ordersPart  part = "orders"
	nodesPart   part = "nodes"
	buildsPart  part = "builds"
	agentsPart  part = "agents"
	fabricsPart part = "fabrics"
	testsPart   part = "fabric_tests"
	collectPart part = "collect"
	upgradePart part = "upgrades"
	usagePart   part = "usage"
	recordsPart part = "requests"
	choicesPart part = "choices"
	keysPart    part = "keys"
	auditPart   part = "audit"
	adminPart   part = "admin_tokens"
	joinPart    part = "join_tokens"
)

// lacks says what is missing and why that matters.
func (p part) lacks() string {
	switch p {
	case catalogPart:
		return "this control plane has no catalog, so there are no model definitions to read or change"
	case clusterPart:
		return "this control plane runs no control loop, so there is no look at the cluster to show"
	case ordersPart:
		return "this control plane runs no control loop, so nobody would carry out the order"
	case nodesPart:
		return "this control plane keeps no registry of nodes, so what is wanted of one could not be kept"
	case buildsPart:
		return "this control plane keeps no chosen builds of engines, so a choice made here would not survive a restart"
	case agentsPart:
		return "this control plane has no connection to agents, so none of them can be asked"
	case fabricsPart:
		return "this control plane keeps no watch over networks, so nobody would walk one for its map"
	case testsPart:
		return "this control plane has no connection to agents, so none can test a network"
	case collectPart:
		return "this control plane has no connection to agents, so none of them can be told to remove weights"
	case upgradePart:
		return "this control plane has no connection to agents, so none of them can be upgraded"
	case usagePart:
		return "this control plane keeps no usage, so there is nothing to sum"
	case recordsPart:
		return "this control plane keeps no records of single requests, so none can be found"
	case choicesPart:
		return "this control plane serves no requests, so it chose no replica for any"
	case keysPart:
		return "this control plane has no store for client keys, so one made here would not survive a restart"
	case auditPart:
		return "this control plane keeps no audit log, so there is no history of changes to show"
	case adminPart:
		return "this control plane has no store for admin tokens, so one made here would not survive a restart"
	case joinPart:
		return "this control plane has no store for join tokens, so no machine could join with one"
	}
	return "a part of this control plane is not there"
}

// wired lists the parts that are there. It is made once, so that no request
// looks for one.
func (a *API) wired() map[part]bool {
	_, records := a.cfg.Usage.(Requests)
	_, builds := a.cfg.Nodes.(Builds)
	_, tests := a.cfg.NodeCalls.(FabricTests)
	_, collects := a.cfg.NodeCalls.(Collector)
	_, upgrades := a.cfg.NodeCalls.(Upgrades)
	return map[part]bool{
		noPart: true, catalogPart: a.cfg.Models != nil, clusterPart: a.cfg.Cluster != nil, ordersPart: a.cfg.Operator != nil && a.cfg.Cluster != nil,
		nodesPart: a.cfg.Nodes != nil, agentsPart: a.cfg.NodeCalls != nil, collectPart: collects && a.cfg.Cluster != nil, upgradePart: upgrades, usagePart: a.cfg.Usage != nil, recordsPart: records,
		choicesPart: a.cfg.Choices != nil, buildsPart: builds, testsPart: tests, fabricsPart: a.cfg.Fabrics != nil && a.cfg.Cluster != nil,
		keysPart: a.cfg.Keys != nil, auditPart: a.cfg.Audit != nil, adminPart: a.cfg.AdminTokens != nil, joinPart: a.cfg.JoinTokens != nil,
	}
}

// require answers 501 for a part that is not there.
func (a *API) require(p part) error {
	if a.parts[p] {
		return nil
	}
	return refuse(http.StatusNotImplemented, codeNotWired, "%s", p.lacks())
}
