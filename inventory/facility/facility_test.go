package facility_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/facility"
	"llmgw.io/llmgw/inventory/inventorytest"
)

// TestScripts runs the fleets of testdata. The command report takes a fleet and
// answers its report; every allocation is of a replica that is ready, unless its
// model begins with "slow".
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			fleet, err := inventorytest.Parse(d.Input)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			nodes, replicas := fleet.Nodes(), replicasOf(fleet)
			r := facility.Analyze(nodes, replicas, fleet.Holds())
			mixed := slices.Clone(nodes)
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
			slices.Reverse(replicas)
			again := facility.Analyze(mixed, replicas, fleet.Holds())
			if !reflect.DeepEqual(r, again) {
				t.Errorf("the order of nodes changed the report from\n%sto\n%s", show(r), show(again))
			}
			return show(r)
		})
	})
}

func replicasOf(fleet *inventory.Snapshot) []facility.Replica {
	var out []facility.Replica
	for _, n := range fleet.Nodes() {
		for _, a := range n.Allocations {
			i := slices.IndexFunc(out, func(r facility.Replica) bool { return r.ID == a.Replica })
			if i < 0 {
				i = len(out)
				out = append(out, facility.Replica{ID: a.Replica, Model: a.Model, Ready: !strings.HasPrefix(a.Model, "slow")})
			}
			out[i].Nodes = append(out[i].Nodes, n.ID)
		}
	}
	return out
}

func show(r facility.Report) string {
	var b strings.Builder
	for _, p := range r.Places {
		fmt.Fprintf(&b, "%s", p.Domain)
		if p.Parent.Name != "" {
			fmt.Fprintf(&b, " in %s", p.Parent)
		}
		fmt.Fprintf(&b, ": %d nodes, %d of %d devices free, %d replicas", p.Nodes, p.Free, p.GPUs, p.Replicas)
		if p.Hold != nil {
			fmt.Fprintf(&b, ", held: %s", p.Hold.Reason)
		}
		b.WriteByte('\n')
	}
	for _, x := range r.AtRisk {
		fmt.Fprintf(&b, "at risk: %s, %d ready, all need %s\n", x.Model, x.Ready, x.Domain)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "problem: %s\n", p)
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

// What sensors say is summed; what they do not say is no zero.
func TestPower(t *testing.T) {
	t.Parallel()
	fleet, err := inventorytest.Parse("a rack=r1\nb rack=r1\nc rack=r2")
	if err != nil {
		t.Fatal(err)
	}
	watts := func(w float64) *float64 { return &w }
	fleet.Node("a").Sample = &inventory.Sample{CPUPowerW: watts(200), GPUs: []inventory.GPUSensor{{PowerW: watts(300)}, {}}}
	fleet.Node("b").Sample = &inventory.Sample{GPUs: []inventory.GPUSensor{{Card: 0, PowerW: watts(50)}}}
	fleet.Node("c").Sample = &inventory.Sample{}
	places := facility.Analyze(fleet.Nodes(), nil, nil).Places
	if p := places[0].PowerW; p == nil || *p != 550 {
		t.Errorf("want 550 W in r1, got %v", p)
	}
	if places[1].PowerW != nil {
		t.Errorf("want no power in r2, got %v", *places[1].PowerW)
	}
}
