package ctl

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/adminapi/adminclient"
	"llmgw.io/llmgw/adminapi/view"
)

func (o outside) summary() *cli.Command {
	return o.leaf(leaf{name: "summary", usage: "Show the cluster at one glance", ops: []string{"Summary"}, do: func(ctx context.Context, s *session) error {
		v, err := s.client.Summary(ctx)
		if err != nil {
			return err
		}
		return s.show(v, func() grid { return summaryGrid(v) })
	}})
}

func summaryGrid(v view.Summary) grid {
	g := grid{head: []any{"what", "how many"}}
	g.add("control plane", fmt.Sprintf("%s, up %s, store %s", v.Version, time.Duration(v.UptimeSeconds)*time.Second, v.Store.Kind))
	g.add("nodes", counts(v.Nodes))
	for _, class := range slices.Sorted(maps.Keys(v.GPUs)) {
		c := v.GPUs[class]
		g.add("devices "+class, fmt.Sprintf("%d, %d free, %d unhealthy", c.Total, c.Free, c.Unhealthy))
	}
	m := v.Models
	g.add("models", fmt.Sprintf("%d ready, %d short, %d parked, %d unplaceable, %d external", m.Ready, m.Short, m.Parked, m.Unplaceable, m.External))
	g.add("replicas", counts(v.Replicas))
	if v.Brake != nil {
		g.add("brake", "on: "+v.Brake.Reason)
	}
	return g
}

// counts is a table of counts in one line, without its zeros.
func counts(m map[string]int) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if m[k] > 0 {
			out = append(out, fmt.Sprintf("%d %s", m[k], k))
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

func (o outside) nodes() *cli.Command {
	node := []string{"NODE"}
	reason := []cli.Flag{&cli.StringFlag{Name: "reason", Usage: "why, for the audit log"}}
	return group("nodes", "The machines",
		o.leaf(leaf{name: "list", usage: "List nodes", ops: []string{"Nodes"}, do: listNodes}),
		o.leaf(leaf{name: "get", usage: "Show a node", args: node, ops: []string{"Node"}, do: getNode}),
		o.leaf(leaf{name: "ready", usage: "Let a node take replicas again", args: node, flags: reason, ops: []string{"SetNodeState"}, do: nodeState("ready")}),
		o.leaf(leaf{name: "cordon", usage: "Keep new replicas off a node", args: node, flags: reason, ops: []string{"SetNodeState"}, do: nodeState("cordoned")}),
		o.leaf(leaf{name: "drain", usage: "Move everything off a node, replacements first", args: node, flags: reason, ops: []string{"SetNodeState"}, do: nodeState("draining")}),
		o.leaf(leaf{name: "label", usage: "Change the operators' labels of a node", args: []string{"NODE", "KEY=VALUE|KEY-"}, more: true, ops: []string{"SetLabels"}, do: labelNode}),
		o.leaf(leaf{name: "engine", usage: "Choose the build of an engine on a node", args: []string{"NODE", "ENGINE", "BUILD"}, ops: []string{"SetBuild"}, do: setBuild}),
		o.upgradeNodes(),
		o.leaf(leaf{name: "rm", usage: "Remove a node for good", args: node, ops: []string{"RemoveNode"}, do: removeNode}),
		o.leaf(leaf{name: "logs", usage: "Show the log of an agent or of one shard's engine", args: node, ops: []string{"NodeLogs"}, do: nodeLogs, flags: []cli.Flag{
			&cli.StringFlag{Name: "shard", Usage: "the shard whose engine's log is wanted; the agent's own when left out"},
			&cli.IntFlag{Name: "tail", Usage: "how many of the last lines", Value: 200},
			&cli.BoolFlag{Name: "follow", Usage: "go on with lines as they come"},
		}}),
	)
}

func listNodes(ctx context.Context, s *session) error {
	nodes, err := adminclient.All(func(cursor string) ([]view.Node, string, error) {
		return s.client.Nodes(ctx, adminclient.List{Cursor: cursor})
	})
	if err != nil {
		return err
	}
	return s.show(nodes, func() grid {
		g := grid{
			head: []any{"node", "state", "seen", "devices", "free", "cores", "memory", "replicas", "agent"},
			none: "There are no nodes yet; make a token with tokens join create, and run llmgw-agent join on a machine.",
		}
		for _, n := range nodes {
			g.add(n.ID, n.State, seen(n.LastSeenAgo), strings.Join(n.GPUClasses, ","), fmt.Sprintf("%d/%d", n.GPUFree, n.GPUTotal), n.CPUCount, memory(n.MemoryGB), n.Replicas, n.AgentVersion)
		}
		return g
	})
}

func seen(ago string) string {
	if ago == "" {
		return "not yet"
	}
	return ago + " ago"
}

func memory(gb *int64) string {
	if gb == nil {
		return "unknown"
	}
	return humanize.IBytes(uint64(max(0, *gb)) << 30)
}

func getNode(ctx context.Context, s *session) error {
	n, err := s.client.Node(ctx, s.arg(0))
	if err != nil {
		return err
	}
	return s.whole(n)
}

func nodeState(state string) func(context.Context, *session) error {
	return func(ctx context.Context, s *session) error {
		v, err := s.client.SetNodeState(ctx, s.arg(0), view.NodeStateRequest{State: state, Reason: s.String("reason")})
		if err != nil {
			return err
		}
		return s.say(v, "Node %s is %s.", v.ID, v.State)
	}
}

func setBuild(ctx context.Context, s *session) error {
	v, err := s.client.SetBuild(ctx, s.arg(0), view.NodeEngineRequest{Engine: s.arg(1), Build: s.arg(2)})
	if err != nil {
		return err
	}
	return s.say(v, "Node %s is to have the build %s of %s; ctl nodes get %s shows how far it is.", s.arg(0), v.Build, v.Engine, s.arg(0))
}

// labelNode sets key=value and removes key-.
func labelNode(ctx context.Context, s *session) error {
	change, err := s.labels()
	if err != nil {
		return err
	}
	n, err := s.client.SetLabels(ctx, s.arg(0), change)
	if err != nil {
		return err
	}
	return s.show(n, func() grid {
		g := grid{head: []any{"label", "value", "from"}, none: "Node " + n.ID + " has no labels."}
		for _, k := range slices.Sorted(maps.Keys(n.Labels)) {
			from := "agent"
			if _, ours := n.OperatorLabels[k]; ours {
				from = "operators"
			}
			g.add(k, n.Labels[k], from)
		}
		return g
	})
}

// labels are the changes of labels behind the first argument.
func (s *session) labels() (map[string]*string, error) {
	change := map[string]*string{}
	for _, a := range s.Args().Slice()[1:] {
		key, value, set := strings.Cut(a, "=")
		if bare, remove := strings.CutSuffix(a, "-"); !set && remove {
			change[bare] = nil
			continue
		}
		if !set {
			return nil, usagef("%q is no change of a label: write key=value to set one, key- to remove it", a)
		}
		change[key] = &value
	}
	return change, nil
}

func removeNode(ctx context.Context, s *session) error {
	v, err := s.client.RemoveNode(ctx, s.arg(0))
	if err != nil {
		return err
	}
	return s.say(v, "Node %s is removed, and its certificates are revoked.", v.ID)
}

func nodeLogs(ctx context.Context, s *session) error {
	tail := s.Int("tail")
	log, err := s.client.NodeLogs(ctx, s.arg(0), adminclient.LogRequest{Shard: s.String("shard"), Tail: &tail, Follow: s.Bool("follow")})
	if err != nil {
		return err
	}
	defer log.Close()
	if _, err := io.Copy(s.out, log); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the log of node %s broke off: %w", s.arg(0), err)
	}
	return nil
}

func (o outside) replicas() *cli.Command {
	return o.leaf(leaf{name: "replicas", usage: "List replicas", ops: []string{"Replicas"}, do: listReplicas, flags: []cli.Flag{
		&cli.StringFlag{Name: "model", Usage: "only this model's"},
	}})
}

func listReplicas(ctx context.Context, s *session) error {
	replicas, err := allReplicas(ctx, s, s.String("model"))
	if err != nil {
		return err
	}
	for i := range replicas {
		replicas[i].EngineKey = "" // a listing on a screen is no place for one
	}
	return s.show(replicas, func() grid {
		g := grid{head: []any{"replica", "model", "profile", "state", "nodes", "age", "note"}, none: "There are no replicas."}
		for _, r := range replicas {
			var on []string
			for _, sh := range r.Shards {
				on = append(on, sh.Node)
			}
			g.add(r.ID, r.Model, r.Profile, replicaState(r), strings.Join(on, ","), age(r.AgeSeconds), r.Error)
		}
		return g
	})
}

func allReplicas(ctx context.Context, s *session, model string) ([]view.Replica, error) {
	return adminclient.All(func(cursor string) ([]view.Replica, string, error) {
		return s.client.Replicas(ctx, adminclient.ReplicaList{List: adminclient.List{Cursor: cursor}, Model: model})
	})
}

// replicaState is the state, with how far the weights are.
func replicaState(r view.Replica) string {
	state := r.State
	if done, total := fetched([]view.Replica{r}); r.State == "fetching" && total > 0 {
		state += fmt.Sprintf(" %d%%", done*100/total)
	}
	if r.Restart != "" {
		state += ", " + r.Restart
	}
	if r.Stale {
		state += ", stale"
	}
	return state
}

func age(seconds int64) string { return (time.Duration(seconds) * time.Second).String() }

func (o outside) restart() *cli.Command {
	return o.leaf(leaf{name: "restart", usage: "Restart replicas", ops: []string{"Restart"}, do: restart, flags: []cli.Flag{
		&cli.StringSliceFlag{Name: "replica", Usage: "a replica; may be repeated"},
		&cli.StringSliceFlag{Name: "model", Usage: "a model whose ready replicas are meant; may be repeated"},
		&cli.BoolFlag{Name: "all", Usage: "every ready replica"},
		&cli.BoolFlag{Name: "in-place", Usage: "stop first instead of starting a replacement first"},
		&cli.BoolFlag{Name: "rollout", Usage: "only what is not as its definition says: a replacement first where there is room, else in place, until the first failure"},
		&cli.BoolFlag{Name: "borrow", Usage: "with --rollout: replicas of lower classes may give way to one replacement at a time"},
	}})
}

func restart(ctx context.Context, s *session) error {
	in := view.RestartRequest{Replicas: s.StringSlice("replica"), Models: s.StringSlice("model"), All: s.Bool("all"), InPlace: s.Bool("in-place"), Rollout: s.Bool("rollout"), Borrow: s.Bool("borrow")}
	if len(in.Replicas) == 0 && len(in.Models) == 0 && !in.All {
		return usagef("name what to restart: --replica ID, --model NAME, or --all")
	}
	v, err := s.client.Restart(ctx, in)
	if err != nil {
		return err
	}
	return s.say(v, "Queued: %s.", strings.Join(v.Queued, ", "))
}

func (o outside) explain() *cli.Command {
	return o.leaf(leaf{name: "explain", usage: "Explain where a model is placed, or why it is not", args: []string{"MODEL"}, ops: []string{"Explain"}, do: explainModel})
}

// scores says why the last replica stands where it does: the node that lost
// least, and what each of the best lost by which measure.
func scores(v view.Explain) grid {
	g := grid{head: []any{"profile", "node", "score", "because"}}
	for _, b := range v.Best {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(b.Parts)) {
			if b.Parts[name] != 0 {
				parts = append(parts, name+" "+signed(b.Parts[name]))
			}
		}
		if len(parts) == 0 {
			parts = []string{"nothing is lost by it"}
		}
		g.add(b.Profile, b.Node, signed(b.Score), strings.Join(parts, ", "))
	}
	return g
}

// signed is a score with its sign; what rounds to nothing has none.
func signed(v float64) string {
	if math.Abs(v) < 0.005 {
		return "0.00"
	}
	return fmt.Sprintf("%+.2f", v)
}

func explainModel(ctx context.Context, s *session) error {
	v, err := s.client.Explain(ctx, s.arg(0))
	if err != nil {
		return err
	}
	if s.format != "table" {
		return s.whole(v)
	}
	placed := "has no replica that is starting or ready"
	if v.Placed {
		placed = "has a replica that is starting or ready"
	}
	fmt.Fprintf(s.out, "Model %s %s.\n", printable(v.Model), placed)
	if len(v.Rejections) == 0 && len(v.Best) > 0 {
		return s.show(v, func() grid { return scores(v) })
	}
	err = s.show(v, func() grid {
		g := grid{head: []any{"profile", "node", "reason", "mend"}, none: "Placement has refused nothing: the model is satisfied, or the loop has not run yet."}
		for _, r := range v.Rejections {
			g.add(r.Profile, r.Node, r.Reason, r.Advice)
		}
		return g
	})
	if err != nil {
		return err
	}
	if v.Omitted > 0 {
		fmt.Fprintf(s.out, "And %d more nodes.\n", v.Omitted)
	}
	if v.LookedAt > 0 {
		fmt.Fprintf(s.out, "Looked at %d: %s.\n", v.LookedAt, printable(countsOf(v.Counts)))
	}
	s.tellFix(v.Fix, v.NoFix)
	return nil
}

// countsOf tells how many nodes each code ruled out, the most first: over all
// profiles, so a node may be counted more than once.
func countsOf(counts map[string]int) string {
	codes := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, code := range codes {
		codes[i] = fmt.Sprintf("%s %d", code, counts[code])
	}
	return strings.Join(codes, ", ")
}

// tellFix says what would make room, or why nothing does: after the table, where
// the eye is.
func (s *session) tellFix(f *view.Fix, why string) {
	if why != "" {
		fmt.Fprintln(s.out, printable(why))
	}
	if f == nil {
		return
	}
	fmt.Fprintf(s.out, "What would help: %s\n", printable(f.Text))
	for i, step := range f.Steps {
		fmt.Fprintf(s.out, "  %d. %s\n", i+1, printable(step.Detail))
	}
}
