package reconciler

import (
	"fmt"
	"strings"
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
)

// Who is named and who has the labels is meant, whatever runs there; a node that is
// drained gets nothing new.
func TestPrefetches(t *testing.T) {
	t.Parallel()
	fleet, err := inventorytest.Parse(strings.TrimSpace(`
a1 label.zone=a
a2 label.zone=a cordoned
a3 label.zone=a draining
b1 label.zone=b
`))
	if err != nil {
		t.Fatal(err)
	}
	entry := func(name catalog.Name, engine catalog.Engine, p *catalog.Prefetch) catalog.Entry {
		return catalog.Entry{Model: catalog.Model{Name: name, Source: "https://h/" + string(name), Prefetch: p, Profiles: []catalog.Profile{{Name: "p", Engine: engine}}}}
	}
	x := catalog.NewIndex(1, []catalog.Entry{
		entry("zone", "vllm", &catalog.Prefetch{Labels: map[string]string{"zone": "a"}}),
		entry("named", "llamacpp", &catalog.Prefetch{Nodes: []inventory.NodeID{"b1", "a1", "gone"}}),
		entry("both", "llamacpp", &catalog.Prefetch{Nodes: []inventory.NodeID{"b1", "a1"}, Labels: map[string]string{"zone": "b"}}),
		entry("two", "llamacpp", &catalog.Prefetch{Labels: map[string]string{"zone": "b", "rack": "9"}}),
		entry("theirs", "static", &catalog.Prefetch{Nodes: []inventory.NodeID{"a1"}}),
		entry("none", "vllm", nil),
	})
	var got []string
	for _, p := range Prefetches(x, fleet) {
		got = append(got, fmt.Sprintf("%s %s %s %s", p.Node, p.Model, p.Engine, p.Source))
	}
	want := []string{
		"a1 both llamacpp https://h/both", "a1 named llamacpp https://h/named", "a1 zone vllm https://h/zone", "a2 zone vllm https://h/zone",
		"b1 both llamacpp https://h/both", "b1 named llamacpp https://h/named",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
