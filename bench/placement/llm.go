package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

type llmGroup struct {
	Class string `json:"class"`
	Size  int    `json:"size"`
	Bad   uint16 `json:"bad"`
}

type llmNode struct {
	Groups  []llmGroup      `json:"groups"`
	CoreCap int             `json:"core_cap"`
	MemCap  int64           `json:"mem_cap"`
	Fabric  string          `json:"fabric"`
	NVL     string          `json:"nvl"`
	Site    string          `json:"site"`
	Room    string          `json:"room"`
	Row     string          `json:"row"`
	Rack    string          `json:"rack"`
	PDU     string          `json:"pdu"`
	Pool    string          `json:"pool"`
	Engines map[string]bool `json:"engines"`
	Weights map[string]bool `json:"weights"`
}

type llmModel struct {
	Name     string `json:"name"`
	Profiles []struct {
		Class  string `json:"class"`
		TP     int    `json:"tp"`
		Shards int    `json:"shards"`
		Scope  string `json:"scope"`
		Cores  int    `json:"cores"`
		MemGB  int    `json:"mem_gb"`
		Engine string `json:"engine"`
	} `json:"profiles"`
	Weight float64 `json:"weight"`
	Pool   string  `json:"pool"`
	SizeGB int64   `json:"size_gb"`
	Class  int     `json:"priority"`
}

// llmShard is where one shard runs: devices are bits of a group of the node.
type llmShard struct {
	Node    int    `json:"node"`
	Group   int    `json:"group"`
	Devices uint16 `json:"devices"`
}

// llm is the fleet that serves language models: replicas come and leave, nodes
// fail and return.
type llm struct {
	fleet  *fleet
	clock  *clock
	models map[string]*catalog.Model
	// first is, of each node, the index of the first device of each group.
	first [][]int
	room  makingRoom
}

func newLLM(m message, c *clock, moves float64) (*llm, error) {
	var nodes []llmNode
	if err := json.Unmarshal(m.Nodes, &nodes); err != nil {
		return nil, err
	}
	c.Nodes = len(nodes)
	l := &llm{clock: c, models: map[string]*catalog.Model{}, room: makingRoom{percent: moves, where: map[int]placement.Resident{}}}
	sizes := map[string]int64{}
	var mix placement.Mix
	for i := range m.Models {
		model := llmDefinition(&m.Models[i])
		l.models[m.Models[i].Name] = model
		mix.Parts = append(mix.Parts, placement.MixPart{Model: model, Weight: m.Models[i].Weight})
		sizes[m.Models[i].Name] = m.Models[i].SizeGB << 30
	}
	made := make([]*inventory.Node, len(nodes))
	for i := range nodes {
		var first []int
		made[i], first = llmMachine(i, &nodes[i], sizes)
		l.first = append(l.first, first)
	}
	placer := placement.Placer{Mix: mix, Filters: []placement.Filter{{Name: "one-group", Refuse: oneGroup}}}
	l.fleet = newFleet(placer, made)
	again := keep(placer, made)
	c.again = &again
	return l, nil
}

func llmDefinition(in *llmModel) *catalog.Model {
	m := &catalog.Model{Name: catalog.Name(in.Name), Class: llmClass(in.Class), Files: []catalog.File{{Path: in.Name, Bytes: in.SizeGB << 30}}}
	for i, p := range in.Profiles {
		out := catalog.Profile{
			Name: strconv.Itoa(i), Engine: catalog.Engine(p.Engine), Shards: p.Shards, CPUCores: p.Cores, MemoryGB: p.MemGB, Pool: in.Pool,
		}
		if p.Class != "" {
			out.GPU = &catalog.GPU{Class: inventory.Class(p.Class), Count: p.TP}
		}
		switch p.Scope {
		case "fabric":
			out.Fabric = "any"
		case "nvl":
			out.NVLinkDomain = true
		}
		m.Profiles = append(m.Profiles, out)
	}
	return m
}

func llmMachine(i int, in *llmNode, sizes map[string]int64) (*inventory.Node, []int) {
	n := &inventory.Node{ID: nodeID(i), Hearing: inventory.Heard, ShardsKnown: true, Version: 1}
	f := &n.Facts
	host(f, in.CoreCap, in.MemCap<<10)
	f.Labels = map[string]string{}
	for level, domain := range map[string]string{"site": in.Site, "room": in.Room, "row": in.Row, "rack": in.Rack, "pdu": in.PDU} {
		f.Labels[inventory.LabelPrefix+level] = domain
	}
	if in.Pool != "shared" {
		f.Labels[inventory.LabelPrefix+"pool"] = in.Pool
	}
	f.Engines = []inventory.Engine{}
	for _, e := range sorted(in.Engines) {
		f.Engines = append(f.Engines, inventory.Engine{Name: e})
	}
	f.Weights = []inventory.Weight{}
	for _, w := range sorted(in.Weights) {
		f.Weights = append(f.Weights, inventory.Weight{Path: w, Bytes: sizes[w]})
	}
	if in.Fabric != "" {
		f.Ports = []inventory.Port{{HCA: "mlx5_0", Port: 1, State: "ACTIVE", Active: true, Fabric: in.Fabric, Physical: in.Fabric}}
	}
	first := make([]int, len(in.Groups))
	for g := range in.Groups {
		first[g] = len(f.Devices)
		f.Devices = append(f.Devices, llmDevices(&in.Groups[g], first[g], in.NVL)...)
	}
	return n, first
}

func llmDevices(g *llmGroup, first int, nvl string) []inventory.Device {
	out := make([]inventory.Device, g.Size)
	for i := range out {
		d := &out[i]
		*d = inventory.Device{Index: first + i, Card: first + i, Label: strconv.Itoa(first + i), NUMA: -1, Class: inventory.Class(g.Class), Domain: nvl}
		if _, mig, ok := strings.Cut(g.Class, "-3g."); ok {
			d.MIGProfile = "3g." + mig
		}
		if g.Bad>>i&1 == 1 {
			d.Problem = "is out of order"
		}
		for o := range g.Size {
			if o != i {
				d.NVLinkPeers = append(d.NVLinkPeers, first+o)
			}
		}
	}
	return out
}

func sorted(set map[string]bool) []string {
	var out []string
	for k, in := range set {
		if in {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// oneGroup is what the harness asks beside room: all devices of a shard are
// linked to each other. The scheduler itself prefers that and refuses nothing.
func oneGroup(n *inventory.Node, _ *catalog.Model, p *catalog.Profile) string {
	if p.GPU == nil || p.GPU.Count < 2 {
		return ""
	}
	most := 0
	for i := range n.Facts.Devices {
		d := &n.Facts.Devices[i]
		if d.Class != p.GPU.Class {
			continue
		}
		if len(d.NVLinkPeers) >= len(n.Facts.Devices)-1 {
			return "" // one group is all of the node
		}
		together := 0
		for _, peer := range append([]int{d.Index}, d.NVLinkPeers...) {
			if n.Facts.Devices[peer].Healthy() && n.DeviceUse(peer).Free() {
				together++
			}
		}
		most = max(most, together)
		if most >= p.GPU.Count {
			return ""
		}
	}
	if most == 0 {
		return ""
	}
	return "has too few devices that are linked to each other"
}

func (l *llm) place(m message) (any, error) {
	model := l.models[m.Model]
	req := placement.Request{Model: model}
	l.clock.again.asked = append(l.clock.again.asked, model)
	var got placement.Candidate
	var ok bool
	l.clock.decide(model.Profiles[0].ShardCount() > 1, func() { got, ok = l.fleet.choose(req) })
	var moves []llmMove
	if !ok && l.room.percent > 0 {
		got, moves, ok = l.makeRoom(req)
	}
	if !ok {
		return map[string]bool{"ok": false}, nil
	}
	l.room.placed++
	return llmAnswer{llmPlace: l.at(got), Moves: moves}, nil
}

// llmPlace is where a replica goes.
type llmPlace struct {
	Profile int        `json:"profile"`
	Shards  []llmShard `json:"shards"`
}

type llmAnswer struct {
	llmPlace
	Moves []llmMove `json:"moves,omitempty"`
}

func (l *llm) at(c placement.Candidate) llmPlace {
	var out llmPlace
	for i := range c.Profile {
		out.Profile = 10*out.Profile + int(c.Profile[i]-'0')
	}
	for _, s := range c.Spots {
		out.Shards = append(out.Shards, l.shard(s))
	}
	return out
}

func (l *llm) shard(s placement.Spot) llmShard {
	out := llmShard{Node: nodeIndex(s.Node)}
	for _, d := range s.Devices {
		for g, first := range l.first[out.Node] {
			if d.Index >= first {
				out.Group = g
			}
		}
		out.Devices |= 1 << (d.Index - l.first[out.Node][out.Group])
	}
	return out
}

func (l *llm) tell(m message) error {
	switch m.Op {
	case "placed":
		return l.placed(m)
	case "removed":
		l.clock.again.spoilt = true
		delete(l.room.where, m.ID)
		l.clock.keepUp(func() { l.fleet.without(strconv.Itoa(m.ID)) })
	case "changed":
		l.clock.again.spoilt = true
		var err error
		l.clock.keepUp(func() {
			err = l.fleet.change(nodeID(m.Node), func(n *inventory.Node) {
				n.Hearing, n.Settings.Wish = inventory.Heard, inventory.WishReady
				if m.Down {
					n.Hearing = inventory.Lost
				}
				if m.Held {
					n.Settings.Wish = inventory.WishCordoned
				}
			})
		})
		return err
	default:
		return fmt.Errorf("llm has no message %q", m.Op)
	}
	return nil
}

// placed makes the allocations, and what every shard's node has from then on:
// the weights.
func (l *llm) placed(m message) error {
	model := l.models[m.Model]
	p := &model.Profiles[m.Profile]
	var as []inventory.Allocation
	for i, s := range m.Shards {
		a := inventory.Allocation{
			Shard: strconv.Itoa(m.ID) + "." + strconv.Itoa(i), Replica: strconv.Itoa(m.ID), Model: m.Model, Node: nodeID(s.Node),
			MemoryMB: int64(p.MemoryGB) << 10, Cores: p.CPUCores,
		}
		for bit := range 16 {
			if p.GPU != nil && s.Devices>>bit&1 == 1 {
				a.Devices = append(a.Devices, inventory.DeviceShare{Index: l.first[s.Node][s.Group] + bit})
			}
		}
		as = append(as, a)
	}
	l.clock.keepUp(func() { l.fleet.with(as) })
	l.room.where[m.ID] = placement.Resident{Replica: strconv.Itoa(m.ID), Model: model, Nodes: l.fleet.where[strconv.Itoa(m.ID)]}
	for _, s := range m.Shards {
		if err := l.fetch(s.Node, model.Files[0]); err != nil {
			return err
		}
	}
	return nil
}

func (l *llm) fetch(node int, file catalog.File) (err error) {
	has := l.fleet.index.Node(nodeID(node)).Facts.Weights
	if slices.ContainsFunc(has, func(w inventory.Weight) bool { return w.Path == file.Path }) {
		return nil
	}
	l.clock.keepUp(func() {
		err = l.fleet.change(nodeID(node), func(n *inventory.Node) {
			n.Facts.Weights = append(slices.Clone(has), inventory.Weight{Path: file.Path, Bytes: file.Bytes})
		})
	})
	return err
}
