package fix_test

import (
	"fmt"
	"strings"
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement"
	"llmgw.io/llmgw/placement/fix"
)

// full is a fleet of 10,000 nodes with no room for what the benchmarks ask.
func full(b *testing.B) *trial {
	b.Helper()
	lines := make([]string, 10_000)
	for i := range lines {
		rack := fmt.Sprintf("n%05d rack=r%03d fabric=ib%d ", i, i/20, i/64)
		h100 := "gpu=8xH100-80 nvlink=0-7 mem=2048 cpu=192 engines=vllm:cu129 "
		var busy strings.Builder
		for d := range 8 {
			fmt.Fprintf(&busy, "alloc=%s-%d.%d:%[1]s:%[3]d:mem=100 ", []string{"x", "y", "z"}[(i+d)%3], i, d)
		}
		lines[i] = rack + []string{
			h100 + busy.String(), "gpu=4xL40S-48 mem=512 cpu=64 engines=vllm:cu129",
			"mem=256 cpu=64 engines=llamacpp:cpu", h100 + fmt.Sprintf("alloc=g-%d.%d:g:0-7:mem=100", i/64, i),
		}[i%4]
		if i%97 == 0 {
			lines[i] = rack + "cordoned " + h100 + busy.String()
		}
	}
	fleet, err := inventorytest.Parse(strings.Join(lines, "\n"))
	if err != nil {
		b.Fatal(err)
	}
	return caseOf(fleet, nil)
}

func BenchmarkFind(b *testing.B) {
	c := full(b)
	c.classes = map[catalog.Name]catalog.Class{"x": catalog.ClassBatch, "y": catalog.ClassStandard, "z": catalog.ClassCritical, "g": catalog.ClassBatch}
	x := placement.NewIndex(placement.Placer{})
	x.Advance(c.fleet)
	standing := c.standing()
	profile := func(name string, gpus, shards int, class inventory.Class, mem int) *catalog.Model {
		p := catalog.Profile{Name: "main", Engine: catalog.EngineVLLM, Shards: shards, MemoryGB: mem, GPU: &catalog.GPU{Class: class, Count: gpus}}
		if shards > 1 {
			p.Fabric = "any"
		}
		return &catalog.Model{Name: catalog.Name(name), Profiles: []catalog.Profile{p}}
	}
	for _, m := range []*catalog.Model{
		profile("stop-one", 1, 1, "H100-80", 100), profile("stop-four", 4, 1, "H100-80", 100), profile("stop-group", 8, 4, "H100-80", 100),
		profile("reserve", 1, 1, "L40S-48", 900), profile("reserve-group", 4, 8, "L40S-48", 900), profile("none", 8, 4, "B200-180", 100),
	} {
		b.Run(string(m.Name), func(b *testing.B) {
			q := fix.Question{Request: placement.Request{Model: m}, Standing: standing}
			b.ReportAllocs()
			for b.Loop() {
				_, why, ok := fix.Find(x, q)
				if ok != (m.Name != "none") {
					b.Fatal(why)
				}
			}
		})
	}
}

// BenchmarkFindNothing is the most that has to be looked at: every node could be
// mended a little and none enough, with all that a profile may give way on.
func BenchmarkFindNothing(b *testing.B) {
	lines := make([]string, 10_000)
	for i := range lines {
		lines[i] = fmt.Sprintf("n%05d rack=r%03d cordoned gpu=8xH100-80 mem=64 cpu=8 disk=100/900 engines=none alloc=z-%d.0:z:0-7", i, i/20, i)
	}
	fleet, err := inventorytest.Parse(strings.Join(lines, "\n"))
	if err != nil {
		b.Fatal(err)
	}
	x := placement.NewIndex(placement.Placer{})
	x.Advance(fleet)
	p := catalog.Profile{
		Name: "main", Engine: catalog.EngineVLLM, MemoryGB: 1000, CPUCores: 100, DiskGB: 500, GPU: &catalog.GPU{Count: 4, MemoryGB: 70},
		Spread: &catalog.Spread{Level: inventory.LevelRack, MaxPerDomain: 1},
	}
	c := caseOf(fleet, &catalog.Model{Name: "m", Profiles: []catalog.Profile{p}})
	c.classes = map[catalog.Name]catalog.Class{"z": catalog.ClassCritical}
	q := c.question()
	for b.Loop() {
		if _, _, ok := fix.Find(x, q); ok {
			b.Fatal("it finds something")
		}
	}
}
