package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement"
)

//go:embed testdata/fleet.txt
var fleetText string

//go:embed testdata/model.json
var modelText []byte

func main() {
	fleet, err := inventorytest.Parse(fleetText)
	if err == nil {
		var model catalog.Model
		if err = json.Unmarshal(modelText, &model); err == nil {
			decision, trace := placement.Placer{}.Choose(fleet, placement.Request{Model: &model}, nil)
			show(os.Stdout, model, decision, trace)
			return
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
