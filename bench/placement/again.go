package main

import (
	"runtime"
	"slices"
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
	placer placement.Placer
	nodes  []*inventory.Node
	spoilt bool
}

// keep remembers the fleet as it was at first.
func keep(placer placement.Placer, nodes []*inventory.Node) again {
	return again{placer: placer, nodes: nodes}
}

// rounds is how often a run is repeated. What others do on the machine also
// empties its caches, so one round alone says little.
const rounds = 5

// run asks for everything again, and answers how many decisions a second of
// processor time makes: the median of the rounds. Zero: not measured.
func (a *again) run() float64 {
	if a.spoilt || len(a.asked) == 0 {
		return 0
	}
	var rates []float64
	for range rounds {
		rates = append(rates, a.round())
	}
	slices.Sort(rates)
	return rates[rounds/2]
}

func (a *again) round() float64 {
	fleet := newFleet(a.placer, a.nodes)
	runtime.GC() // what making the fleet left behind is no part of it
	start := cpuTime()
	for i, m := range a.asked {
		c, ok := fleet.choose(placement.Request{Model: m})
		if ok {
			fleet.index.With(c.Allocations(string(m.Name), strconv.Itoa(i))...)
		}
	}
	if spent := cpuTime() - start; spent > 0 {
		return float64(len(a.asked)) / spent.Seconds()
	}
	return 0
}
