package main

import (
	"strconv"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement"
)

// again is what a run asked for, to be asked once more without the pipe: on a
// machine that others use too, only the time of the processor tells what a
// decision costs. A run in which anything ended or failed is not repeated.
type again struct {
	asked  []*catalog.Model
	fleet  *fleet
	spoilt bool
}

// keep remembers the fleet as it was at first.
func keep(placer placement.Placer, nodes []*inventory.Node) again {
	return again{fleet: newFleet(placer, nodes)}
}

// run asks for everything again, and answers how many decisions a second of
// processor time makes. Zero: not measured.
func (a *again) run() float64 {
	if a.spoilt || len(a.asked) == 0 {
		return 0
	}
	start := cpuTime()
	for i, m := range a.asked {
		c, ok := a.fleet.choose(placement.Request{Model: m})
		if ok {
			a.fleet.index.With(c.Allocations(string(m.Name), strconv.Itoa(i))...)
		}
	}
	if spent := cpuTime() - start; spent > 0 {
		return float64(len(a.asked)) / spent.Seconds()
	}
	return 0
}
