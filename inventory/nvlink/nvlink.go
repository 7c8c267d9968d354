package nvlink

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// Report is every NVLink domain of several nodes, and who is kept out of one.
type Report struct {
	// Domains are ordered by id.
	Domains []Domain
	// KeptOut are ordered by node. A node may be there for several reasons.
	KeptOut []KeptOut
}

// Domain is one NVLink domain: a cluster's UUID and a clique.
type Domain struct {
	ID string
	// Nodes are all that are in it and heard, in order; Devices counts those of
	// their devices that are healthy.
	Nodes   []inventory.NodeID
	Devices int
	// Ready says that two of its nodes and more could take shards of one group.
	Ready bool
}

// KeptOut is a node that cannot take a shard of a group over NVLink, or not on
// all of its devices or at full speed.
type KeptOut struct {
	Node inventory.NodeID
	// Domain is the one that it would be in. Empty: unknown.
	Domain string
	// Reason is a sentence with the next step.
	Reason string
}

// Analyze reports on nodes. Those that have no GPU fabric are not in it, and
// neither are those that are lost.
func Analyze(nodes []*inventory.Node) Report {
	var out Report
	ready := map[string]int{}
	for _, n := range nodes {
		if n.Hearing == inventory.Lost || !hasFabric(n) {
			continue
		}
		domain := n.NVLinkDomain()
		reasons := keptOut(n, domain)
		for _, reason := range reasons {
			out.KeptOut = append(out.KeptOut, KeptOut{Node: n.ID, Domain: cmp.Or(domain, someDomain(n)), Reason: reason})
		}
		if domain == "" {
			continue
		}
		i, found := slices.BinarySearchFunc(out.Domains, domain, func(d Domain, id string) int { return cmp.Compare(d.ID, id) })
		if !found {
			out.Domains = slices.Insert(out.Domains, i, Domain{ID: domain})
		}
		d := &out.Domains[i]
		d.Nodes = append(d.Nodes, n.ID)
		d.Devices += healthy(n)
		if n.Hearing == inventory.Heard && n.IMEXLacks() == "" && healthy(n) > 0 {
			ready[domain]++
		}
	}
	for i := range out.Domains {
		d := &out.Domains[i]
		slices.Sort(d.Nodes)
		d.Ready = ready[d.ID] > 1
	}
	slices.SortStableFunc(out.KeptOut, func(a, b KeptOut) int { return cmp.Compare(a.Node, b.Node) })
	return out
}

// hasFabric reports whether a device is part of a GPU fabric, or would be.
func hasFabric(n *inventory.Node) bool {
	return slices.ContainsFunc(n.Facts.Devices, func(d inventory.Device) bool { return d.Domain != "" || d.FabricState != "" })
}

func healthy(n *inventory.Node) (count int) {
	for _, d := range n.Facts.Devices {
		if d.Healthy() && !d.MIG() {
			count++
		}
	}
	return count
}

// someDomain is the first that a device says.
func someDomain(n *inventory.Node) string {
	for _, d := range n.Facts.Devices {
		if d.Domain != "" {
			return d.Domain
		}
	}
	return ""
}

// keptOut says why the node cannot take a shard of a group, most basic first.
// Nil: it can.
func keptOut(n *inventory.Node, domain string) []string {
	if domain == "" {
		return noDomain(n)
	}
	var out []string
	if n.Hearing != inventory.Heard {
		out = append(out, "It is not heard of. Look whether the machine and its agent run.")
	}
	if bad := labels(n, func(d *inventory.Device) bool { return !d.Healthy() }); bad != "" {
		out = append(out, fmt.Sprintf("%s unhealthy; the others can be used. GET nodes/%s says why.", are(bad, "is", "are"), n.ID))
	}
	if slow := labels(n, func(d *inventory.Device) bool { return d.Bandwidth == inventory.BandwidthDegraded }); slow != "" {
		out = append(out, fmt.Sprintf("%s less than the full bandwidth of NVLink. Look at the rack's switches and at the driver's log.", are(slow, "has", "have")))
	}
	return append(out, imex(n)...)
}

// noDomain says why the node is in no domain that its devices agree on.
func noDomain(n *inventory.Node) []string {
	in := func(state string) string {
		return labels(n, func(d *inventory.Device) bool { return d.Domain == "" && d.FabricState == state })
	}
	manager := "Look at nvidia-fabricmanager on the machine, or on the rack's switches."
	switch joining, waiting, alone := in(inventory.FabricInProgress), in(inventory.FabricNotStarted), in(inventory.FabricCompleted); {
	case joining != "":
		return []string{fmt.Sprintf("%s joining the GPU fabric. It takes seconds; when it goes on for five minutes: %s", are(joining, "is", "are"), lower(manager))}
	case waiting != "":
		return []string{fmt.Sprintf("%s not begun to join the GPU fabric. %s", are(waiting, "has", "have"), manager)}
	case someDomain(n) != "" && len(domainsOf(n)) > 1:
		return []string{fmt.Sprintf("Its cards do not agree: they say they are in %s. Look at the rack's cables and at the partitions of its fabric manager.", strings.Join(domainsOf(n), " and in "))}
	case someDomain(n) != "":
		return []string{fmt.Sprintf("%s in no domain, and the other cards are in %s. Look at the rack's cables, or restart the machine.",
			are(labels(n, func(d *inventory.Device) bool { return d.Domain == "" && d.Healthy() && !d.MIG() }), "is", "are"), someDomain(n))}
	case alone != "":
		return []string{"Its cards name no cluster (a UUID of zeros): they are linked among themselves only, as on machines whose NVLink ends at the case."}
	}
	return []string{"None of its devices says a domain. GET nodes/" + string(n.ID) + " says what each is."}
}

// domainsOf are those that devices say, in order.
func domainsOf(n *inventory.Node) []string {
	var out []string
	for _, d := range n.Facts.Devices {
		if d.Domain != "" {
			out = append(out, d.Domain)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// imex says what is missing of the service that shares memory across nodes.
func imex(n *inventory.Node) []string {
	lacks := n.IMEXLacks()
	if lacks == "" {
		return nil
	}
	next := "Start nvidia-imex with the same list of nodes on every node of the domain."
	if s := n.Facts.IMEX; s == "" || s == inventory.IMEXReady {
		next = "Engines may not share memory with other nodes without one (CUDA error 800): load the driver with NVreg_CreateImexChannel0=1."
	}
	return []string{fmt.Sprintf("%s. %s", strings.ToUpper(lacks[:1])+lacks[1:], next)}
}

// mostNamed is how many devices a sentence names.
const mostNamed = 4

// labels names the devices, instances of partitioned cards left out; "" for none.
func labels(n *inventory.Node, which func(*inventory.Device) bool) string {
	var all []string
	for i := range n.Facts.Devices {
		if d := &n.Facts.Devices[i]; !d.MIG() && which(d) {
			all = append(all, d.Label)
		}
	}
	if more := len(all) - mostNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:mostNamed], ", "), more)
	}
	return strings.Join(all, ", ")
}

// are makes a subject and its verb of devices' labels.
func are(labels, one, several string) string {
	if strings.Contains(labels, " ") {
		return fmt.Sprintf("GPUs %s %s", labels, several)
	}
	return fmt.Sprintf("GPU %s %s", labels, one)
}

// lower begins a sentence as the end of another.
func lower(s string) string { return strings.ToLower(s[:1]) + s[1:] }
