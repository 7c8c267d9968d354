package dryrun_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
	"llmgw.io/llmgw/placement/dryrun"
	"llmgw.io/llmgw/placement/reconciler"
)

// TestDryRunScript runs the scripts under testdata. Their commands:
//
//	fleet     the input is a fleet as inventorytest reads it
//	models    the input is definitions as JSON, one a line; what the fleet lacks is
//	          placed and made ready
//	plan      the input is a change as JSON: see dryrun.Change; a hold begins hours
//	          ahead with "later", and ends in the past with "past"
//
// No plan may change the view that it is made on.
func TestDryRunScript(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var fleet *inventory.Snapshot
		v := &reconciler.View{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "fleet":
				var err error
				if fleet, err = inventorytest.Parse(d.Input); err != nil {
					return err.Error() + "\n"
				}
				return ""
			case "models":
				v = settled(t, fleet, definitions(t, d.Input))
				return standing(v)
			case "plan":
				return plan(t, v, change(t, d))
			}
			d.Fatalf(t, "no such command: %s", d.Cmd)
			return ""
		})
	})
}

// begin is a Monday at eight.
var begin = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)

func definitions(t *testing.T, text string) []catalog.Entry {
	t.Helper()
	var out []catalog.Entry
	for line := range strings.Lines(text) {
		var m catalog.Model
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, catalog.Entry{Model: m, Revision: 1})
	}
	return out
}

// settled is a cluster as it is once these models are served.
func settled(t *testing.T, fleet *inventory.Snapshot, models []catalog.Entry) *reconciler.View {
	t.Helper()
	c := dryrun.Play(reconciler.Reconciler{}, reconciler.World{
		Now: begin, Catalog: catalog.NewIndex(1, models), Fleet: fleet,
	}, reconciler.Memory{})
	if !c.Settled {
		t.Fatal("the models do not come to rest")
	}
	return &reconciler.View{
		At: c.World.Now, Catalog: c.World.Catalog, Fleet: c.World.Fleet.WithHolds(fleet.Holds(), c.World.Now), Replicas: c.World.Replicas,
		Memory: c.Memory, Health: c.Last.Health,
	}
}

func standing(v *reconciler.View) string {
	var b strings.Builder
	for _, r := range v.Replicas {
		fmt.Fprintf(&b, "%s:%s\n", r.ID, on(r.Shards))
	}
	return b.String()
}

func on(shards []reconciler.Shard) string {
	out := ""
	for _, s := range shards {
		out += " " + string(s.Spot.Node)
	}
	return out
}

func change(t *testing.T, d *datadriven.TestData) dryrun.Change {
	t.Helper()
	var c dryrun.Change
	if err := json.Unmarshal([]byte(d.Input), &c); err != nil {
		d.Fatalf(t, "%v", err)
	}
	if c.Hold != nil && d.HasArg("later") {
		c.Hold.Hold.From = begin.Add(4 * time.Hour)
	}
	if c.Hold != nil && d.HasArg("past") {
		c.Hold.Hold.Until = begin.AddDate(-1, 0, 0)
	}
	return c
}

func plan(t *testing.T, v *reconciler.View, c dryrun.Change) string {
	t.Helper()
	before, kept := inventorytest.Format(v.Fleet), *v
	kept.Replicas = append([]reconciler.Replica{}, v.Replicas...)
	r, err := dryrun.Plan(reconciler.Reconciler{}, v, c)
	if after := inventorytest.Format(v.Fleet); after != before {
		t.Errorf("the dry run changed the fleet to\n%s", after)
	}
	if !reflect.DeepEqual(*v, kept) {
		t.Error("the dry run changed the view")
	}
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	for _, p := range r.Placed {
		fmt.Fprintf(&b, "placed %s\n", placed(p))
	}
	for _, m := range r.Moved {
		fmt.Fprintf(&b, "moved %s from%s: %s\n", m.Replica, nodes(m.From), placed(m.To))
	}
	for _, p := range r.Preempted {
		fmt.Fprintf(&b, "preempted %s on%s by %s", p.Replica, nodes(p.From), p.By)
		if len(p.To.Nodes) > 0 {
			fmt.Fprintf(&b, ": %s", placed(p.To))
		}
		b.WriteByte('\n')
	}
	for _, l := range r.Lost {
		fmt.Fprintf(&b, "lost %s on%s: %s\n", l.Replica, nodes(l.Nodes), l.Why)
	}
	for _, u := range r.Unplaceable {
		fmt.Fprintf(&b, "unplaceable %s, %d short:", u.Model, u.Short)
		for _, p := range u.Trace.Profiles {
			fmt.Fprintf(&b, " %s %s", p.Profile, p)
		}
		b.WriteByte('\n')
	}
	for _, o := range r.Outdated {
		fmt.Fprintf(&b, "outdated %s\n", o.Replica)
	}
	if r.Unsettled {
		b.WriteString("it does not come to rest\n")
	}
	if r.Brake.On() {
		fmt.Fprintf(&b, "the brake is set: %s\n", r.Brake.Reason)
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

func placed(p dryrun.Placed) string {
	return fmt.Sprintf("%s as %s on%s", p.Model, p.Profile, nodes(p.Nodes))
}

func nodes(of []inventory.NodeID) string {
	out := ""
	for _, n := range of {
		out += " " + string(n)
	}
	return out
}
