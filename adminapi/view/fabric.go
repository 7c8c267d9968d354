package view

import (
	"math"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/fabrics"
	"llmgw.io/llmgw/inventory/topology"
)

// FabricReport is the networks between nodes, found against declared.
type FabricReport struct {
	Physical  []PhysicalFabric `json:"physical" doc:"networks that an active port is on, ordered by key"`
	Problems  []FabricProblem  `json:"problems"`
	SMChanges []SMChange       `json:"sm_changes" doc:"subnet managers that took over, the newest first; since this control plane started"`
}

// PhysicalFabric is one network as its ports say it is.
type PhysicalFabric struct {
	ID       string          `json:"id" doc:"the key as it stands in paths"`
	Key      string          `json:"key" doc:"sm: and the subnet manager's port GUID, roce: and the network, or declared: and a name where the ports do not say which"`
	Label    string          `json:"label"`
	Declared []string        `json:"declared" doc:"the names that the configuration gave its ports"`
	Nodes    int             `json:"nodes"`
	Ports    int             `json:"ports" doc:"active ones"`
	SM       *SubnetManager  `json:"sm,omitempty"`
	SMs      []SubnetManager `json:"sms" doc:"all managers, the standing-by ones too"`
	SMError  string          `json:"sm_error,omitempty" doc:"why a port could not ask for the manager; no fault of the network"`
}

// SubnetManager is one that manages an InfiniBand network or stands by to.
type SubnetManager struct {
	GUID     string `json:"guid" doc:"its port's: its identity, while LIDs move"`
	LID      int    `json:"lid"`
	Node     string `json:"node,omitempty" doc:"the node it runs on; absent: none of ours, such as a switch"`
	State    string `json:"state" doc:"master, standby, discover, notact, or unknown"`
	Priority int    `json:"priority,omitempty"`
}

// FabricProblem is something wrong with one fabric.
type FabricProblem struct {
	Fabric string     `json:"fabric" doc:"the declared name, else the id of the physical one; none: its ports are on no network"`
	Kind   string     `json:"kind" doc:"split, merged, unmanaged, degraded, errors, down, sm_changed or mtu"`
	Text   string     `json:"text"`
	Nodes  []string   `json:"nodes,omitempty"`
	Since  *time.Time `json:"since,omitempty" doc:"when it was first seen; absent: not known"`
}

// SMChange is a subnet manager that took over from another.
type SMChange struct {
	Fabric string    `json:"fabric" doc:"the declared name, else the id of the physical one as it is now"`
	From   string    `json:"from"`
	To     string    `json:"to"`
	At     time.Time `json:"at" doc:"when it was seen"`
}

// Topology is the newest map of one network, and what its adapters do now.
type Topology struct {
	ID        string          `json:"id"`
	Key       string          `json:"key"`
	Label     string          `json:"label"`
	Declared  []string        `json:"declared"`
	ScannedAt string          `json:"scanned_at" doc:"when the map was made; empty: not since this control plane started"`
	ScannedBy string          `json:"scanned_by,omitempty" doc:"node and port"`
	TookMS    int64           `json:"took_ms"`
	Error     string          `json:"error,omitempty" doc:"why there is no map, or why it is not whole or not new"`
	Map       *topology.Map   `json:"map,omitempty"`
	Live      map[string]Live `json:"live" doc:"what adapters do now, by node GUID, which the map's hosts have too"`
	Problems  []FabricProblem `json:"problems,omitempty"`
	SM        *SubnetManager  `json:"sm,omitempty"`
	SMs       []SubnetManager `json:"sms,omitempty"`
}

// Live is what one adapter does now.
type Live struct {
	Node      string           `json:"node"`
	HCA       string           `json:"hca"`
	State     string           `json:"state"`
	PhysState string           `json:"phys_state"`
	Gbps      int              `json:"gbps"`
	TxBPS     float64          `json:"tx_bps" doc:"bits a second between the last two readings; 0 after a reset, or when nothing newer than a minute is known"`
	RxBPS     float64          `json:"rx_bps"`
	Errors    map[string]int64 `json:"errors,omitempty" doc:"counters that are not zero, since the driver was loaded"`
}

// NetworksOf reports on networks by what was remembered of them.
func NetworksOf(w World, m fabrics.Memory) fabrics.Report {
	return fabrics.Analyze(w.nodes(), m, w.Now)
}

// FabricsOf builds the report on networks.
func FabricsOf(r *fabrics.Report) FabricReport {
	v := FabricReport{Physical: []PhysicalFabric{}, Problems: []FabricProblem{}, SMChanges: []SMChange{}}
	names := map[string]string{}
	for i := range r.Physical {
		p := &r.Physical[i]
		names[p.Key] = p.Name()
		v.Physical = append(v.Physical, PhysicalFabric{
			ID: p.ID(), Key: p.Key, Label: p.Label, Declared: listed(p.Declared), Nodes: len(p.Nodes), Ports: p.Ports,
			SM: managerOf(p.SM), SMs: managersOf(p.SMs), SMError: p.SMError,
		})
	}
	for i := range r.Problems {
		v.Problems = append(v.Problems, fabricProblemOf(&r.Problems[i]))
	}
	for _, c := range r.Changes {
		name := names[c.Key]
		if name == "" {
			name = fabrics.ID(c.Key)
		}
		v.SMChanges = append(v.SMChanges, SMChange{Fabric: name, From: c.From, To: c.To, At: c.At.UTC()})
	}
	return v
}

func fabricProblemOf(p *fabrics.Problem) FabricProblem {
	v := FabricProblem{Fabric: p.Fabric, Kind: string(p.Kind), Text: p.Text}
	for _, n := range p.Nodes {
		v.Nodes = append(v.Nodes, string(n))
	}
	if !p.Since.IsZero() {
		since := p.Since.UTC()
		v.Since = &since
	}
	return v
}

func managerOf(m *fabrics.Manager) *SubnetManager {
	if m == nil {
		return nil
	}
	v := SubnetManager{GUID: m.GUID, LID: m.LID, Node: string(m.Node), State: m.State, Priority: m.Priority}
	if v.State == "" {
		v.State = "unknown"
	}
	return &v
}

func managersOf(ms []fabrics.Manager) []SubnetManager {
	out := []SubnetManager{}
	for i := range ms {
		out = append(out, *managerOf(&ms[i]))
	}
	return out
}

// NoMap is said where there is no map yet.
const NoMap = "There is no map yet; POST to the network's scan, or ctl fabrics scan, has a node make one."

// TopologyOf builds the map of one network of the report. scan is the newest; the
// zero value where there is none.
func TopologyOf(w World, m fabrics.Memory, r *fabrics.Report, p *fabrics.Physical, scan fabrics.Scan) Topology {
	v := Topology{
		ID: p.ID(), Key: p.Key, Label: p.Label, Declared: listed(p.Declared), ScannedBy: scan.By, TookMS: scan.Took.Milliseconds(),
		Error: scan.Error, Map: scan.Map, Live: map[string]Live{}, SM: managerOf(p.SM), SMs: managersOf(p.SMs),
	}
	if scan.At.IsZero() {
		v.Error = NoMap
	} else {
		v.ScannedAt = scan.At.UTC().Format(time.RFC3339)
	}
	for guid, l := range fabrics.LiveOf(w.nodes(), m, p.Key, w.Now) {
		v.Live[guid] = Live{
			Node: string(l.Node), HCA: l.HCA, State: l.State, PhysState: l.PhysState, Gbps: l.Gbps,
			TxBPS: math.Round(l.TxBPS), RxBPS: math.Round(l.RxBPS), Errors: l.Errors,
		}
	}
	for i := range r.Problems {
		if x := &r.Problems[i]; concerns(x, p) {
			v.Problems = append(v.Problems, fabricProblemOf(x))
		}
	}
	if scan.Map != nil {
		for _, x := range fabrics.SlowLinks(p, scan.Map) {
			v.Problems = append(v.Problems, fabricProblemOf(&x))
		}
	}
	return v
}

// concerns reports whether a problem is one of a network, or of a name it has.
func concerns(x *fabrics.Problem, p *fabrics.Physical) bool {
	if x.Fabric == p.ID() {
		return true
	}
	for _, name := range p.Declared {
		if x.Fabric == name {
			return true
		}
	}
	return false
}

// portOf builds one port, with the counters of a fresh measurement.
func portOf(n *inventory.Node, p *inventory.Port, now time.Time) IBPort {
	v := IBPort{
		HCA: p.HCA, Port: p.Port, State: p.State, PhysState: p.PhysState, RateGbps: p.RateGbps, LinkLayer: p.LinkLayer, Active: p.Active,
		Fabric: p.Fabric, Physical: p.Label(), SMError: p.SMError,
	}
	if c := n.Counters(p); c != nil && fresh(n, now) {
		v.Errors, v.TxBytes, v.RxBytes = c.Errors, c.TxBytes, c.RxBytes
	}
	return v
}
