package main

import (
	"fmt"
	"io"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement"
)

const fleet = `
	hall-1   gpu=4xL40S-48  label.power-cents=14
	hall-2   gpu=4xL40S-48  label.power-cents=9
	rented   gpu=4xL40S-48  label.power-cents=2  label.rented=yes
	unknown  gpu=4xL40S-48`

// run places a model of two classes and says why it goes where it goes.
func run(w io.Writer) error {
	world, err := inventorytest.Parse(fleet)
	if err != nil {
		return err
	}
	for _, class := range []catalog.Class{catalog.ClassStandard, catalog.ClassBatch} {
		model := &catalog.Model{Name: "chat", Class: class, Profiles: []catalog.Profile{
			{Name: "pair", Engine: catalog.EngineVLLM, GPU: &catalog.GPU{Class: "L40S-48", Count: 2}},
		}}
		decision, trace := placer().Choose(world, placement.Request{Model: model}, nil)
		fmt.Fprintf(w, "%s goes to %s: %s\n", class, decision.Candidate.Spots[0].Node, trace.Profiles[0])
		for _, l := range trace.Profiles[0].Lines {
			fmt.Fprintf(w, "  %-8s %s (%s)\n", l.Node, l.Text, l.Reason)
		}
		for _, s := range trace.Profiles[0].Best {
			fmt.Fprintf(w, "  %-8s power %.0f device-seconds\n", s.Node, s.Parts["custom:power"])
		}
	}
	return nil
}
