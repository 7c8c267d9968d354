package inventory_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
)

// TestScript runs the scripts under testdata against a registry. Each command
// is a word and its input:
//
//	open            begins anew; allocations in the input are restored
//	restart         another process on the same store; the same
//	beat            one report a line, as inventorytest reads nodes
//	sample          one report a line, of nothing but a measurement
//	tick for=20s    time passes, second by second
//	stall for=25s   this process stands still for so long
//	wish            "node state" lines
//	reserve [stale] allocations, as nodes with alloc= words; stale: decided
//	                on versions that are past
//	release         replicas
//	forget          nodes
//	label           "node key=value key-" lines
//	hold [from=1h] [until=2h]  "rack:r1 reason" lines, with times from now
//	unhold          domains
//	sweep           drops the holds that have ended
//
// The answer is the fleet after it. "*" is before nodes with a new version;
// "signal" says that those who wait were told.
func TestScript(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{t: t, now: start}
		datadriven.RunTest(t, path, s.run)
	})
}

type script struct {
	t     *testing.T
	store *inventorytest.Store
	r     *inventory.Registry
	now   time.Time
	seen  map[inventory.NodeID]uint64
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	if d.Cmd == "open" {
		s.store = &inventorytest.Store{}
	}
	if d.Cmd == "open" || d.Cmd == "restart" {
		s.r = open(t, s.store, s.now)
		s.seen = map[inventory.NodeID]uint64{}
	}
	told, b := s.r.Changed(), &strings.Builder{}
	switch d.Cmd {
	case "tick":
		for range duration(t, d) / time.Second {
			s.now = s.now.Add(time.Second)
			s.r.Tick(s.now)
		}
	case "stall":
		s.now = s.now.Add(duration(t, d))
		s.r.Tick(s.now)
	case "open", "restart", "beat", "sample", "reserve":
		s.fleetCommand(d, b)
	default:
		for line := range strings.Lines(d.Input) {
			s.lineCommand(d, strings.Fields(line), b)
		}
	}
	s.show(b)
	select {
	case <-told:
		b.WriteString("signal\n")
	default:
	}
	return b.String()
}

func duration(t *testing.T, d *datadriven.TestData) time.Duration {
	t.Helper()
	var v string
	d.ScanArgs(t, "for", &v)
	out, err := time.ParseDuration(v)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return out
}

// fleetCommand runs a command whose input is nodes.
func (s *script) fleetCommand(d *datadriven.TestData, b *strings.Builder) {
	said, err := inventorytest.Parse(d.Input)
	if err != nil {
		d.Fatalf(s.t, "%v", err)
	}
	var as []inventory.Allocation
	for _, n := range said.Nodes() {
		as = append(as, n.Allocations...)
		switch d.Cmd {
		case "beat":
			facts := n.Facts
			s.r.Apply(n.ID, inventory.Report{Facts: &facts, At: s.now.Add(n.ClockSkew)}, s.now)
		case "sample":
			s.r.Apply(n.ID, inventory.Report{Sample: &inventory.Sample{Load1: 1}}, s.now)
		}
	}
	switch d.Cmd {
	case "open", "restart":
		s.r.Restore(as)
	case "reserve":
		at := versions(s.r)
		if d.HasArg("stale") {
			at = map[inventory.NodeID]uint64{}
		}
		if err := s.r.Reserve(at, as); err != nil {
			fmt.Fprintln(b, "refused:", err)
		}
	}
}

// lineCommand runs a command on one line of its input.
func (s *script) lineCommand(d *datadriven.TestData, words []string, b *strings.Builder) {
	var err error
	switch d.Cmd {
	case "wish":
		wish, ok := inventory.WishOf(inventory.NodeState(words[1]))
		if !ok {
			d.Fatalf(s.t, "nobody can wish a node %s", words[1])
		}
		_, err = s.r.SetWish(s.t.Context(), inventory.NodeID(words[0]), wish, ops)
	case "release":
		s.r.Release(words[0])
	case "forget":
		err = s.r.Forget(s.t.Context(), inventory.NodeID(words[0]), ops)
	case "label":
		_, err = s.r.SetLabels(s.t.Context(), inventory.NodeID(words[0]), labelChange(words[1:]), ops)
	case "hold":
		err = s.hold(d, words)
	case "unhold":
		var place inventory.Domain
		if place, err = inventory.ParseDomain(words[0]); err == nil {
			err = s.r.ReleaseHold(s.t.Context(), place, s.now, ops)
		}
	case "sweep":
		err = s.r.SweepHolds(s.t.Context(), s.now)
	default:
		d.Fatalf(s.t, "no such command: %s", d.Cmd)
	}
	if err != nil {
		fmt.Fprintln(b, "refused:", err)
	}
}

func labelChange(words []string) map[string]*string {
	out := map[string]*string{}
	for _, w := range words {
		if k, v, set := strings.Cut(w, "="); set {
			out[k] = &v
		} else {
			out[strings.TrimSuffix(w, "-")] = nil
		}
	}
	return out
}

func (s *script) hold(d *datadriven.TestData, words []string) error {
	place, err := inventory.ParseDomain(words[0])
	if err != nil {
		return err
	}
	h := inventory.Hold{Domain: place, Reason: strings.Join(words[1:], " ")}
	for key, at := range map[string]*time.Time{"from": &h.From, "until": &h.Until} {
		if !d.HasArg(key) {
			continue
		}
		var v string
		d.ScanArgs(s.t, key, &v)
		in, err := time.ParseDuration(v)
		if err != nil {
			d.Fatalf(s.t, "%v", err)
		}
		*at = s.now.Add(in)
	}
	_, err = s.r.Hold(s.t.Context(), h, s.now, ops)
	return err
}

func (s *script) show(b *strings.Builder) {
	fleet := s.r.Snapshot()
	lines := strings.Split(strings.TrimSpace(inventorytest.Format(fleet)), "\n")
	for range fleet.Holds() {
		fmt.Fprintln(b, lines[0])
		lines = lines[1:]
	}
	for i, line := range lines {
		if line == "" {
			b.WriteString("no nodes\n")
			continue
		}
		n, mark := fleet.Nodes()[i], " "
		if n.Version != s.seen[n.ID] {
			mark = "*"
		}
		s.seen[n.ID] = n.Version
		fmt.Fprintf(b, "%s %s  (%s)", mark, line, n.State())
		if n.Held.Yes() {
			fmt.Fprintf(b, "  [%s; out %t]", n.Held.Reason, n.Held.Out)
		}
		b.WriteByte('\n')
	}
}
