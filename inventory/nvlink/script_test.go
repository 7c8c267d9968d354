package nvlink_test

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/inventory/nvlink"
)

// TestScripts runs the fleets of testdata: inventorytest's lines, and beneath a
// line "of NODE WORD...", what single devices say: "2:domain=x", "2:state=in_progress",
// "2:degraded", and of the node "channels=0".
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var lines, more []string
			for line := range strings.Lines(d.Input) {
				if rest, ok := strings.CutPrefix(line, "of "); ok {
					more = append(more, rest)
				} else {
					lines = append(lines, line)
				}
			}
			fleet, err := inventorytest.Parse(strings.Join(lines, ""))
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			for _, m := range more {
				words := strings.Fields(m)
				for _, w := range words[1:] {
					say(t, fleet.Node(inventory.NodeID(words[0])), w)
				}
			}
			nodes := slices.Clone(fleet.Nodes())
			r := nvlink.Analyze(nodes)
			slices.Reverse(nodes)
			if again := nvlink.Analyze(nodes); !reflect.DeepEqual(r, again) {
				t.Errorf("the order of nodes changed the report from\n%sto\n%s", show(r), show(again))
			}
			agree(t, nodes, r)
			return show(r)
		})
	})
}

// agree holds that a node is in the domain that placement goes by, or is told
// why it is in none.
func agree(t *testing.T, nodes []*inventory.Node, r nvlink.Report) {
	t.Helper()
	for _, n := range nodes {
		for _, d := range r.Domains {
			if in := slices.Contains(d.Nodes, n.ID); in != (n.NVLinkDomain() == d.ID && n.Hearing != inventory.Lost) {
				t.Errorf("%s is in %s by the report: %v; by placement it is in %q", n.ID, d.ID, in, n.NVLinkDomain())
			}
		}
	}
}

func say(t *testing.T, n *inventory.Node, word string) {
	t.Helper()
	if v, ok := strings.CutPrefix(word, "channels="); ok {
		count, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		n.Facts.IMEXChannels = &count
		return
	}
	at, what, _ := strings.Cut(word, ":")
	i, err := strconv.Atoi(at)
	if err != nil {
		t.Fatal(err)
	}
	d := &n.Facts.Devices[i]
	switch key, value, _ := strings.Cut(what, "="); key {
	case "domain":
		d.Domain = value
	case "state":
		d.FabricState = strings.ReplaceAll(value, "_", " ")
	case "degraded":
		d.Bandwidth = "degraded"
	default:
		t.Fatalf("%q means nothing here", what)
	}
}

func show(r nvlink.Report) string {
	var b strings.Builder
	for _, d := range r.Domains {
		ready := "not ready"
		if d.Ready {
			ready = "ready"
		}
		fmt.Fprintf(&b, "%s: %v, %d devices, %s\n", d.ID, d.Nodes, d.Devices, ready)
	}
	for _, k := range r.KeptOut {
		fmt.Fprintf(&b, "%s (%s): %s\n", k.Node, k.Domain, k.Reason)
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}
