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

// shape is a kind of request with its share of the workload.
type shape struct {
	CPU   int      `json:"cpu"`
	GPUs  int      `json:"gpus"`
	Milli int      `json:"milli"`
	Spec  []string `json:"spec"`
	P     float64  `json:"p"`
}

// task is one request.
type task struct {
	CPU   int      `json:"cpu"`
	Mem   int      `json:"mem"`
	GPUs  int      `json:"gpus"`
	Milli int      `json:"milli"`
	Spec  []string `json:"spec"`
	Class int      `json:"class"`
}

type openbNode struct {
	Model  string `json:"model"`
	CPUCap int    `json:"cpu_cap"`
	MemCap int64  `json:"mem_cap"`
	GPU    []int  `json:"gpu"`
}

// A device has a thousand shares of a GiB each, a host as many cores as the
// trace has thousandths of one, and a GiB for each of the trace's MiB.
const whole = 1000

// openb is the trace's experiment: tasks come and never leave.
type openb struct {
	fleet  *fleet
	clock  *clock
	models map[int]*catalog.Model // by class of task
	kinds  []string               // of devices in the cluster
	next   int
}

func newOpenb(m message, c *clock) (*openb, error) {
	var nodes []openbNode
	if err := json.Unmarshal(m.Nodes, &nodes); err != nil {
		return nil, err
	}
	c.Nodes = len(nodes)
	o := &openb{clock: c, models: map[int]*catalog.Model{}}
	for _, n := range nodes {
		if !slices.Contains(o.kinds, n.Model) {
			o.kinds = append(o.kinds, n.Model)
		}
	}
	var mix placement.Mix
	for i, s := range m.Shapes {
		t := task{CPU: s.CPU, GPUs: s.GPUs, Milli: s.Milli, Spec: s.Spec}
		mix.Parts = append(mix.Parts, placement.MixPart{Model: o.define(catalog.Name("shape-"+strconv.Itoa(i)), t), Weight: s.P})
	}
	o.fleet = newFleet(placement.Placer{Mix: mix}, openbNodes(nodes, o.kinds))
	return o, nil
}

// specLabel is the label of nodes whose kind of device is one of several.
func specLabel(spec []string) string {
	return "one-of/" + strings.Join(slices.Sorted(slices.Values(spec)), "|")
}

// specLabels are a node's labels for every set of kinds that its own is in.
func specLabels(kind string, kinds []string) map[string]string {
	out := map[string]string{}
	for set := range 1 << len(kinds) {
		var spec []string
		for i, k := range kinds {
			if set>>i&1 == 1 {
				spec = append(spec, k)
			}
		}
		if slices.Contains(spec, kind) {
			out[specLabel(spec)] = "yes"
		}
	}
	return out
}

func openbNodes(in []openbNode, kinds []string) []*inventory.Node {
	labels := map[string]map[string]string{}
	out := make([]*inventory.Node, len(in))
	for i, n := range in {
		if labels[n.Model] == nil {
			labels[n.Model] = specLabels(n.Model, kinds)
		}
		node := &inventory.Node{ID: nodeID(i), Hearing: inventory.Heard, ShardsKnown: true, Version: 1}
		node.Facts.Labels = labels[n.Model]
		host(&node.Facts, n.CPUCap, n.MemCap<<10)
		for g := range n.GPU {
			node.Facts.Devices = append(node.Facts.Devices, inventory.Device{
				Index: g, Card: g, NUMA: -1, Label: strconv.Itoa(g), Class: inventory.Class(n.Model), MemoryMB: whole << 10,
			})
		}
		out[i] = node
	}
	return out
}

func nodeID(i int) inventory.NodeID { return inventory.NodeID(fmt.Sprintf("n%07d", i)) }

func nodeIndex(id inventory.NodeID) int {
	i, err := strconv.Atoi(string(id[1:]))
	if err != nil {
		panic(err)
	}
	return i
}

// model is the definition whose replica is the task.
func (o *openb) model(t task) *catalog.Model {
	if m := o.models[t.Class]; m != nil {
		return m
	}
	m := o.define(catalog.Name("task-"+strconv.Itoa(t.Class)), t)
	o.models[t.Class] = m
	return m
}

func (o *openb) define(name catalog.Name, t task) *catalog.Model {
	p := catalog.Profile{Name: "main", Engine: catalog.EngineSim, MemoryGB: t.Mem, CPUCores: t.CPU}
	switch {
	case t.GPUs == 1 && t.Milli < whole:
		p.GPU = &catalog.GPU{Count: 1, Shared: true, MemoryGB: t.Milli}
	case t.GPUs > 0:
		p.GPU = &catalog.GPU{Count: t.GPUs}
	}
	if len(t.Spec) > 0 {
		known := slices.DeleteFunc(slices.Clone(t.Spec), func(kind string) bool { return !slices.Contains(o.kinds, kind) })
		p.Labels = map[string]string{specLabel(known): "yes"}
	}
	return &catalog.Model{Name: name, Profiles: []catalog.Profile{p}}
}

func (o *openb) place(m message) (any, error) {
	model := o.model(m.Task)
	req := placement.Request{Model: model}
	var got placement.Candidate
	var ok bool
	o.clock.decide(false, func() { got, ok = o.fleet.choose(req) })
	answer := struct {
		Node int   `json:"node"`
		GPUs []int `json:"gpus,omitempty"`
	}{Node: -1}
	if !ok {
		return answer, nil
	}
	answer.Node = nodeIndex(got.Spots[0].Node)
	for _, d := range got.Spots[0].Devices {
		answer.GPUs = append(answer.GPUs, d.Index)
	}
	o.next++
	as := got.Allocations(string(model.Name), strconv.Itoa(o.next))
	o.clock.keepUp(func() { o.fleet.with(as) })
	return answer, nil
}

func (o *openb) tell(m message) error { return fmt.Errorf("openb has no message %q", m.Op) }
