package reconciler_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// TestScripts runs the worlds of testdata. A file is one world, made by the
// command fleet; each line of a do block is one of:
//
//	model NAME min=1 max=2 idle=10m class=batch gpu=1 shards=2 drain=1m context=4096 window=08:00-18:00/3 engine=vllm adapters=a,b
//	remove NAME
//	ask NAME waiting=1 inflight=2        a request asks now
//	use REPLICA inflight=1 slowness=1.5  a request of a replica begins or ends now, and how slow it was measured
//	routers start | silent
//	node NODE ready|cordoned|draining|heard|unreachable|lost|unlisted|listed|gone
//	shard SHARD STATE on=NODE running=1 cause=memory : error
//	shard SHARD forgotten                its agent no longer lists it
//	have MODEL NODE DEVICES NODE DEVICES a replica that was ordered before
//	retry NAME · restart REPLICA replace|in_place|rollout|rollout_borrow
//	restart-control
//	advance 10s
//	step · settle                        once; until nothing is left to do
//	moves PERCENT · floor each=1         that may move in an hour; that nobody takes
//	brake-release
//	hold DOMAIN from=10m until=1h : reason   from=0s carries out at once
//	unhold DOMAIN · plan-hold DOMAIN from=10m
//	headroom MODEL limit=3
//	health · events · replicas · brake · traces · contexts · adapters
//
// A node of the form of:REPLICA is the one on which its leading shard is or was.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var b *sandbox
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "fleet":
				var err error
				if b, err = newSandbox(d.Input); err != nil {
					d.Fatalf(t, "%v", err)
				}
				return fmt.Sprintf("%d nodes", len(b.nodes))
			case "do":
				var out strings.Builder
				for line := range strings.SplitSeq(d.Input, "\n") {
					said, err := b.do(line)
					if err != nil {
						d.Fatalf(t, "%s: %v", line, err)
					}
					out.WriteString(said)
				}
				return out.String()
			}
			d.Fatalf(t, "there is no command %s; want fleet or do", d.Cmd)
			return ""
		})
	})
}

// words are the arguments of a line: those without a sign by place, those with
// one by key, and the text after a colon that stands alone.
type words struct {
	at   []string
	by   map[string]string
	text string
}

func parse(line string) words {
	head, text, _ := strings.Cut(line, " : ")
	w := words{by: map[string]string{}, text: text}
	for _, f := range strings.Fields(head) {
		if k, v, ok := strings.Cut(f, "="); ok {
			w.by[k] = v
		} else {
			w.at = append(w.at, f)
		}
	}
	return w
}

func (w words) arg(i int) string {
	if i < len(w.at) {
		return w.at[i]
	}
	return ""
}

func (w words) num(key string, absent int) int {
	n, err := strconv.Atoi(w.by[key])
	if err != nil {
		return absent
	}
	return n
}

func (w words) part(key string) float64 {
	v, _ := strconv.ParseFloat(w.by[key], 64)
	return v
}

func (w words) span(key string) catalog.Duration {
	d, _ := time.ParseDuration(w.by[key])
	return catalog.Duration(d)
}

func (b *sandbox) do(line string) (string, error) {
	w := parse(line)
	switch w.arg(0) {
	case "model":
		return "", b.model(w)
	case "remove":
		delete(b.models, catalog.Name(w.arg(1)))
	case "ask", "use", "routers":
		b.trafficLine(w)
	case "node":
		return "", b.nodeLine(inventory.NodeID(w.arg(1)), w.arg(2))
	case "shard":
		return "", b.shardLine(w)
	case "have":
		return "", b.have(w)
	case "retry":
		b.orders = append(b.orders, reconciler.Order{Retry: catalog.Name(w.arg(1))})
	case "restart":
		b.orders = append(b.orders, reconciler.Order{Restart: reconciler.ReplicaID(w.arg(1)), Mode: reconciler.RestartMode(w.arg(2))})
	case "hold":
		return "", b.hold(w)
	case "unhold":
		b.holds = slices.DeleteFunc(slices.Clone(b.holds), func(h inventory.Hold) bool { return h.Domain.String() == w.arg(1) })
	case "plan-hold":
		return b.planHold(w)
	case "headroom":
		return b.headroom(w)
	case "moves":
		var err error
		b.by.Moves, err = strconv.ParseFloat(w.arg(1), 64)
		return "", err
	case "floor":
		b.by.Floor = func(*catalog.Model) int { return w.num("each", 0) }
	case "brake-release":
		b.orders = append(b.orders, reconciler.Order{ReleaseBrake: true})
	case "restart-control":
		return "", b.restartControl()
	case "advance":
		d, err := time.ParseDuration(w.arg(1))
		b.now = b.now.Add(d)
		return "", err
	case "step":
		plan, err := b.step()
		return b.showPlan(plan), err
	case "settle":
		return b.settle()
	case "health":
		return b.showHealth(), nil
	case "events":
		return b.showEvents(), nil
	case "replicas":
		return b.showReplicas(), nil
	case "brake":
		if !b.last.Brake.On() {
			return "brake: off\n", nil
		}
		return fmt.Sprintf("brake: on for %s, %s\n", b.now.Sub(b.last.Brake.Since), b.last.Brake.Reason), nil
	case "contexts":
		return b.showContexts(), nil
	case "adapters":
		return b.showAdapters(), nil
	case "traces":
		return b.showTraces(), nil
	default:
		return "", fmt.Errorf("there is no such line")
	}
	return "", nil
}

// showAdapters tells which adapters each replica is ordered with, and whether a
// rollout would replace it.
func (b *sandbox) showAdapters() string {
	var out strings.Builder
	x := b.world().Catalog
	for _, id := range slices.Sorted(maps.Keys(b.replicas)) {
		r := b.replicas[id]
		fmt.Fprintf(&out, "%s:", id)
		for _, a := range r.Adapters {
			fmt.Fprintf(&out, " %s", a.Name)
		}
		if reconciler.Outdated(x, &r) {
			out.WriteString(" (outdated)")
		}
		out.WriteString("\n")
	}
	return out.String()
}

func (b *sandbox) model(w words) error {
	name := catalog.Name(w.arg(1))
	least := w.num("min", 1)
	most := w.num("max", least)
	scaling := &catalog.Scaling{Min: least, Max: &most, IdleTimeout: w.span("idle")}
	if span, floor, ok := strings.Cut(w.by["window"], "/"); ok {
		from, until, _ := strings.Cut(span, "-")
		n, err := strconv.Atoi(floor)
		if err != nil {
			return err
		}
		scaling.Schedule = []catalog.Window{{From: from, Until: until, Min: n}}
	}
	p := catalog.Profile{Name: "p", Engine: catalog.EngineSim, Shards: w.num("shards", 0), Context: w.num("context", 0), DrainTimeout: w.span("drain")}
	if n := w.num("gpu", 1); n > 0 {
		p.GPU = &catalog.GPU{Count: n}
	}
	if e := w.by["engine"]; e != "" {
		p.Engine = catalog.Engine(e)
	}
	old := b.models[name]
	m := catalog.Model{Name: name, Class: catalog.Class(w.by["class"]), Scaling: scaling, Profiles: []catalog.Profile{p}}
	if apart, ok := w.by["apart"]; ok {
		m.Apart = []catalog.Name{catalog.Name(apart)}
	}
	if names := w.by["adapters"]; names != "" {
		for a := range strings.SplitSeq(names, ",") {
			m.Adapters = append(m.Adapters, catalog.Adapter{Name: catalog.Name(a), Source: "file:///w/" + a})
		}
	}
	b.models[name] = catalog.Entry{Revision: old.Revision + 1, Model: m}
	return nil
}

func (b *sandbox) trafficLine(w words) {
	switch w.arg(0) {
	case "routers":
		b.routersStart()
		if w.arg(1) == "silent" {
			b.traffic.Since = time.Time{}
		}
	case "ask":
		b.traffic.Models[catalog.Name(w.arg(1))] = reconciler.ModelTraffic{
			LastAsked: b.now, Waiting: w.num("waiting", 0), InFlight: w.num("inflight", 0),
		}
	case "use":
		b.traffic.Replicas[reconciler.ReplicaID(w.arg(1))] = reconciler.ReplicaTraffic{
			InFlight: w.num("inflight", 0), LastUsed: b.now, Slowness: w.part("slowness"),
		}
	}
}

func (b *sandbox) nodeLine(id inventory.NodeID, what string) error {
	if replica, ok := strings.CutPrefix(string(id), "of:"); ok {
		id = b.homes[replica+".0"]
	}
	if what == "gone" {
		delete(b.nodes, id)
		return nil
	}
	return b.edit(id, func(n *inventory.Node) {
		switch what {
		case "heard", "unreachable", "lost":
			n.Hearing = inventory.Hearing(what)
		case "listed", "unlisted":
			n.ShardsKnown = what == "listed"
			if !n.ShardsKnown {
				n.Shards = nil
			}
		default:
			n.Settings.Wish, _ = inventory.WishOf(inventory.NodeState(what))
		}
	})
}

func (b *sandbox) shardLine(w words) error {
	id := w.arg(1)
	node := cmp.Or(inventory.NodeID(w.by["on"]), b.homes[id])
	if w.arg(2) == "forgotten" {
		return b.unlist(node, id)
	}
	st := inventory.ShardStatus{ID: id, State: inventory.ShardState(w.arg(2)), Error: w.text, Cause: w.by["cause"]}
	if _, ok := w.by["running"]; ok {
		st.Use = &inventory.ShardUse{Running: w.num("running", 0)}
	}
	return b.report(node, st)
}

func (b *sandbox) have(w words) error {
	m := b.models[catalog.Name(w.arg(1))].Model
	b.memory.Next = max(1, b.memory.Next)
	id := fmt.Sprintf("%s-%d", m.Name, b.memory.Next)
	b.memory.Next++
	r := reconciler.Replica{
		ID: reconciler.ReplicaID(id), Model: m.Name, Profile: m.Profiles[0], CreatedAt: b.now, Phase: reconciler.Run, PhaseSince: b.now,
	}
	for rank := 0; 2*rank+3 < len(w.at); rank++ {
		spot := inventory.Allocation{
			Shard: fmt.Sprintf("%s.%d", id, rank), Replica: id, Model: string(m.Name), Node: inventory.NodeID(w.arg(2*rank + 2)),
		}
		for at := range strings.SplitSeq(w.arg(2*rank+3), ",") {
			i, err := strconv.Atoi(at)
			if err != nil {
				return err
			}
			spot.Devices = append(spot.Devices, inventory.DeviceShare{Index: i})
		}
		r.Shards = append(r.Shards, reconciler.Shard{ID: reconciler.ShardID(spot.Shard), Rank: rank, Spot: spot})
	}
	b.carryOut(reconciler.Action{Kind: reconciler.Place, Replica: r})
	return nil
}

// settle steps until a plan is empty, and fails when that takes long.
func (b *sandbox) settle() (string, error) {
	var out strings.Builder
	for range 5 {
		plan, err := b.step()
		if err != nil || len(plan.Actions) == 0 {
			return out.String(), err
		}
		out.WriteString(b.showActions(plan))
	}
	return out.String(), fmt.Errorf("it does not come to rest")
}

func (b *sandbox) showPlan(plan reconciler.Plan) string {
	out := b.showActions(plan)
	if out == "" {
		out = "nothing to do\n"
	}
	if !plan.WakeAt.IsZero() {
		out += fmt.Sprintf("wake in %s\n", plan.WakeAt.Sub(b.now))
	}
	return out
}

func (b *sandbox) showActions(plan reconciler.Plan) string {
	var out strings.Builder
	for _, a := range plan.Actions {
		switch a.Kind {
		case reconciler.Place:
			fmt.Fprintf(&out, "place %s on %s", a.Replica.ID, where(a.Replica))
		case reconciler.Update:
			fmt.Fprintf(&out, "update %s %s", a.Replica.ID, a.Replica.Phase)
		case reconciler.Forget:
			fmt.Fprintf(&out, "forget %s", a.Replica.ID)
		}
		fmt.Fprintf(&out, ": %s\n", a.Why)
	}
	return out.String()
}

func where(r reconciler.Replica) string {
	var out []string
	for _, s := range r.Shards {
		var ds []string
		for _, d := range s.Spot.Devices {
			ds = append(ds, strconv.Itoa(d.Index))
		}
		out = append(out, fmt.Sprintf("%s[%s]", s.Spot.Node, strings.Join(ds, ",")))
	}
	return strings.Join(out, " ")
}

func (b *sandbox) showHealth() string {
	var out strings.Builder
	for _, e := range b.world().Catalog.Entries() {
		h := b.last.Health[e.Model.Name]
		fmt.Fprintf(&out, "%s: %d/%d ready, %d wanted (%s)", e.Model.Name, h.Ready, h.Total, h.Desired, h.Why)
		if h.Failures > 0 {
			fmt.Fprintf(&out, ", %d failures", h.Failures)
		}
		if h.Parked {
			out.WriteString(", parked")
		}
		if h.Unplaceable {
			out.WriteString(", unplaceable")
		}
		if h.Preempted > 0 {
			fmt.Fprintf(&out, ", %d held for %s", h.Preempted, h.HeldFor)
		}
		if !h.RetryAt.IsZero() {
			fmt.Fprintf(&out, ", next start in %s", h.RetryAt.Sub(b.now))
		}
		if h.Reason != "" {
			fmt.Fprintf(&out, ", %s: %s", h.Cause, h.Reason)
		}
		out.WriteByte('\n')
		for _, c := range h.Clamps {
			fmt.Fprintf(&out, "  %s\n", c)
		}
	}
	return out.String()
}

func (b *sandbox) showEvents() string {
	var out strings.Builder
	for _, e := range b.last.Events {
		fmt.Fprintf(&out, "%s: %s\n", e.Kind, e.Text)
	}
	return out.String()
}

func (b *sandbox) showTraces() string {
	var out strings.Builder
	for _, e := range b.world().Catalog.Entries() {
		for _, p := range b.last.Traces[e.Model.Name].Profiles {
			fmt.Fprintf(&out, "%s as %s: %s\n", e.Model.Name, p.Profile, p)
			for _, l := range p.Lines {
				fmt.Fprintf(&out, "  %s %s: %s\n", l.Node, l.Reason, l.Text)
			}
		}
	}
	return out.String()
}

func (b *sandbox) showReplicas() string {
	var out strings.Builder
	w := b.world()
	for i := range w.Replicas {
		r := &w.Replicas[i]
		fmt.Fprintf(&out, "%s %s on %s", r.ID, reconciler.StateOf(r, w.Fleet), where(*r))
		for _, x := range slices.DeleteFunc([]string{string(r.Restart), string(r.Replaces)}, func(s string) bool { return s == "" }) {
			fmt.Fprintf(&out, " %s", x)
		}
		out.WriteByte('\n')
	}
	return out.String()
}
