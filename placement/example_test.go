package placement_test

import (
	"fmt"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement"
)

func ExamplePlacer_Choose() {
	fleet, err := inventorytest.Parse(`
		a1  gpu=8xH100-80  cordoned
		a2  gpu=8xH100-80
		a3  gpu=4xL40S-48`)
	if err != nil {
		fmt.Println(err)
		return
	}
	model := &catalog.Model{Name: "llama", Profiles: []catalog.Profile{
		{Name: "tp4", Engine: catalog.EngineVLLM, GPU: &catalog.GPU{Class: "H100-80", Count: 4}},
	}}
	decision, trace := placement.Placer{}.Choose(fleet, placement.Request{Model: model}, nil)
	spot := decision.Candidate.Spots[0]
	fmt.Println(spot.Node, len(spot.Devices), "devices")
	for _, p := range trace.Profiles {
		fmt.Println(p)
		for _, l := range p.Lines {
			fmt.Printf("%s %s; %s\n", l.Node, l.Text, l.Reason.Advice())
		}
	}
	// Output:
	// a2 4 devices
	// looked at 3: chosen 1, not_ready 1, class 1
	// a1 is cordoned; uncordon it, bring its agent back, or set its clock
	// a3 needs 4 of H100-80, has 4 of L40S-48; add a profile for the classes there are
}

// An embedder's own rule and own taste are fields of the Placer.
func ExamplePlacer_filters() {
	fleet, err := inventorytest.Parse("a1 label.rented=yes\na2\na3 label.power=green")
	if err != nil {
		fmt.Println(err)
		return
	}
	placer := placement.Placer{
		Filters: []placement.Filter{{Name: "rented", Refuse: func(n *inventory.Node, _ *catalog.Model, _ *catalog.Profile) string {
			if n.Label("rented") == "yes" {
				return "is rented, and costs by the hour"
			}
			return ""
		}}},
		Scorers: []placement.Scorer{{Name: "green", Score: func(n *inventory.Node, _ *catalog.Model, _ *catalog.Profile) float64 {
			if n.Label("power") == "green" {
				return 1
			}
			return 0
		}}},
	}
	model := &catalog.Model{Name: "tiny", Profiles: []catalog.Profile{{Name: "cpu", Engine: catalog.EngineLlamaCPP}}}
	decision, trace := placer.Choose(fleet, placement.Request{Model: model}, nil)
	fmt.Println(decision.Candidate.Spots[0].Node)
	fmt.Println(trace.Profiles[0])
	// Output:
	// a3
	// looked at 3: chosen 1, outscored 1, custom:rented 1
}

func ExamplePlacer_Headroom() {
	fleet, err := inventorytest.Parse("a1 gpu=4xL4-24\na2 gpu=2xL4-24")
	if err != nil {
		fmt.Println(err)
		return
	}
	model := &catalog.Model{Name: "m", Profiles: []catalog.Profile{
		{Name: "pair", Engine: catalog.EngineVLLM, GPU: &catalog.GPU{Class: "L4-24", Count: 2}},
	}}
	h := placement.Placer{}.Headroom(fleet, placement.Request{Model: model}, 16)
	fmt.Println(len(h.Spots), "more fit; then:", h.Blocked.Profiles[0])
	// Output:
	// 3 more fit; then: looked at 2: chosen 0, devices_busy 2
}

// An index answers the same as Choose and remembers what it was told. What is
// tried on it is forgotten when it is brought up to the next snapshot.
func ExampleIndex() {
	fleet, err := inventorytest.Parse("a1 gpu=4xL4-24\na2 gpu=2xL4-24")
	if err != nil {
		fmt.Println(err)
		return
	}
	model := &catalog.Model{Name: "m", Profiles: []catalog.Profile{
		{Name: "pair", Engine: catalog.EngineVLLM, GPU: &catalog.GPU{Class: "L4-24", Count: 2}},
	}}
	index := placement.NewIndex(placement.Placer{})
	index.Advance(fleet)
	for i := range 4 {
		decision, trace := index.Choose(placement.Request{Model: model})
		fmt.Println(trace.Profiles[0])
		if decision.Placed {
			index.With(decision.Candidate.Allocations("m", fmt.Sprint("m-", i))...)
		}
	}
	index.Advance(fleet)
	fmt.Println(len(index.Headroom(placement.Request{Model: model}, 16).Spots), "more fit")
	// Output:
	// looked at 2: chosen 1, outscored 1
	// looked at 2: chosen 1, devices_busy 1
	// looked at 2: chosen 1, devices_busy 1
	// looked at 2: chosen 0, devices_busy 2
	// 3 more fit
}
