package ctl

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/catalog"
)

func (o outside) models() *cli.Command {
	file := &cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "the definition, YAML or JSON; - reads standard input", Required: true}
	return group("models", "What is served, and how it is doing",
		o.leaf(leaf{name: "list", usage: "List models and how they are doing", ops: []string{"Models"}, do: listModels}),
		o.leaf(leaf{name: "add", usage: "Add a model", flags: []cli.Flag{file}, ops: []string{"AddModel"}, do: addModel}),
		o.leaf(leaf{name: "get", usage: "Show a model's definition", args: []string{"MODEL"}, ops: []string{"Model"}, do: getModel}),
		o.leaf(leaf{name: "put", usage: "Replace a model's definition", args: []string{"MODEL"}, ops: []string{"PutModel"}, do: putModel, flags: []cli.Flag{
			file, &cli.StringFlag{Name: "revision", Usage: "refuse when the definition has another revision by now; left out: any"},
		}}),
		o.leaf(leaf{name: "rm", usage: "Remove a model", args: []string{"MODEL"}, ops: []string{"RemoveModel"}, do: removeModel}),
		o.leaf(leaf{name: "scale", usage: "Set how many replicas a model has", args: []string{"MODEL"}, ops: []string{"ScaleModel"}, do: scaleModel, flags: []cli.Flag{
			&cli.IntFlag{Name: "min", Usage: "the least; 0 with a max runs it on demand", Required: true},
			&cli.IntFlag{Name: "max", Usage: "the most; follows min when left out"},
			&cli.DurationFlag{Name: "idle-timeout", Usage: "when an on-demand replica that is not asked is stopped; left out: as it is"},
		}}),
		o.leaf(leaf{name: "resources", usage: "Set what a model's shards reserve of their hosts", args: []string{"MODEL"}, ops: []string{"SetResources"}, do: setResources, flags: []cli.Flag{
			&cli.StringFlag{Name: "profile", Usage: "one profile; every one when left out"},
			&cli.IntFlag{Name: "memory-gb", Usage: "GiB of host memory; 0 reserves none", Required: true},
			&cli.IntFlag{Name: "cpu-cores", Usage: "cores; 0 reserves none", Required: true},
		}}),
		o.leaf(leaf{name: "class", usage: "Set a model's capacity class", args: []string{"MODEL", "CLASS"}, ops: []string{"SetClass"}, do: setClass}),
		o.leaf(leaf{name: "retry", usage: "Try a parked model again", args: []string{"MODEL"}, ops: []string{"RetryModel"}, do: retryModel}),
		o.leaf(leaf{name: "target", usage: "Show how many replicas a model should have, and why", args: []string{"MODEL"}, ops: []string{"Target"}, do: target}),
		o.leaf(leaf{name: "headroom", usage: "Show how many more replicas of a model fit", args: []string{"MODEL"}, ops: []string{"Headroom"}, do: headroom, flags: []cli.Flag{
			&cli.IntFlag{Name: "limit", Usage: "how many to try, at most 64"},
		}}),
	)
}

func listModels(ctx context.Context, s *session) error {
	models, err := s.client.Models(ctx)
	if err != nil {
		return err
	}
	err = s.show(models, func() grid {
		g := grid{head: []any{"model", "class", "ready", "wanted", "state", "note"}, none: "There are no models yet; add one with models add -f FILE."}
		for _, m := range models {
			g.add(m.Name, m.Class, m.ReadyReplicas, m.DesiredReplicas, modelState(m), modelNote(m))
		}
		return g
	})
	if s.format == "table" {
		for _, m := range models {
			for _, w := range m.Warnings {
				s.note("%s: %s", printable(m.Name), printable(w))
			}
			notePrefetch(s, m)
		}
	}
	return err
}

// notePrefetch says how far nodes are that are to have a model's weights ahead.
func notePrefetch(s *session, m view.ModelView) {
	p := m.Prefetch
	if p == nil || p.Ready == p.Nodes {
		return
	}
	s.note("%s: its weights are ahead on %d of %d nodes", printable(m.Name), p.Ready, p.Nodes)
	for _, n := range p.Missing {
		if n.Error != "" {
			s.note("%s: on %s: %s", printable(m.Name), printable(n.Node), printable(n.Error))
		}
	}
}

// modelState is one word for how a model is doing.
func modelState(m view.ModelView) string {
	switch {
	case m.External != "":
		return "external"
	case m.Parked:
		return "parked"
	case m.Preempted > 0:
		return "preempted for " + m.HeldFor
	case m.Unplaceable:
		return "unplaceable"
	case m.DesiredReplicas == 0 && m.ReadyReplicas == 0:
		return "idle"
	case m.ReadyReplicas < m.DesiredReplicas && m.TotalReplicas == 0:
		return "waiting"
	case m.ReadyReplicas < m.DesiredReplicas:
		return "starting"
	}
	return "ready"
}

func modelNote(m view.ModelView) string {
	switch {
	case m.Reason != "":
		return m.Reason
	case m.External != "":
		return m.External
	case m.Unplaceable:
		return "explain " + m.Name + " says why"
	}
	return ""
}

func addModel(ctx context.Context, s *session) error {
	def, err := s.definition()
	if err != nil {
		return err
	}
	added, err := s.client.AddModel(ctx, def)
	if err != nil {
		return err
	}
	return s.say(added, "Model %s is added; wait %s follows its start.", added.Added, added.Added)
}

func getModel(ctx context.Context, s *session) error {
	m, revision, err := s.client.Model(ctx, s.arg(0))
	if err != nil {
		return err
	}
	if s.format == "table" {
		s.note("# revision %s", revision)
	}
	return s.whole(m)
}

func putModel(ctx context.Context, s *session) error {
	def, err := s.definition()
	if err != nil {
		return err
	}
	revision := s.String("revision")
	if revision != "" && revision[0] != '"' {
		revision = `"` + revision + `"`
	}
	m, err := s.client.PutModel(ctx, s.arg(0), def, revision)
	if err != nil {
		return err
	}
	if err := s.say(m, "Model %s is replaced.", m.Name); err != nil {
		return err
	}
	s.tellOutdated(ctx, m)
	return nil
}

// tellOutdated says, where people read, which replicas an edited definition does
// not reach. The edit is made, whether they can be listed or not.
func (s *session) tellOutdated(ctx context.Context, m view.Model) {
	if s.format != "table" {
		return
	}
	replicas, err := allReplicas(ctx, s, string(m.Name))
	if err != nil {
		s.note("Whether replicas run as it was defined before is not known: %v", err)
		return
	}
	n := 0
	for _, r := range replicas {
		gone := !slices.ContainsFunc(m.Profiles, func(p catalog.Profile) bool { return p.Name == r.Profile })
		if r.State != "draining" && r.State != "stopped" && (r.Stale || gone) {
			n++
		}
	}
	if n > 0 {
		s.note("%s", printable(view.OutdatedNote(string(m.Name), n)))
	}
}

func removeModel(ctx context.Context, s *session) error {
	removed, err := s.client.RemoveModel(ctx, s.arg(0))
	if err != nil {
		return err
	}
	return s.say(removed, "Model %s is removed.", removed.Removed)
}

func scaleModel(ctx context.Context, s *session) error {
	r, err := s.client.ScaleModel(ctx, s.arg(0), s.scaling())
	if err != nil {
		return err
	}
	if r.OnDemand {
		return s.say(r, "Model %s runs on demand, at most %d at once, until it is idle for %s.", r.Model, r.Max, time.Duration(r.IdleTimeout))
	}
	if r.Min == r.Max {
		return s.say(r, "Model %s has %s.", r.Model, replicasIn(r.Min))
	}
	return s.say(r, "Model %s has %d to %d replicas.", r.Model, r.Min, r.Max)
}

// replicasIn is a number of replicas in words.
func replicasIn(n int) string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}

// scaling is what the flags say of how many replicas there should be.
func (s *session) scaling() view.ScaleRequest {
	in := view.ScaleRequest{Min: s.Int("min")}
	if s.IsSet("max") {
		most := s.Int("max")
		in.Max = &most
	}
	if s.IsSet("idle-timeout") {
		idle := view.Duration(s.Duration("idle-timeout"))
		in.IdleTimeout = &idle
	}
	return in
}

func setResources(ctx context.Context, s *session) error {
	m, err := s.client.SetResources(ctx, s.arg(0), view.ResourcesRequest{
		Profile: s.String("profile"), MemoryGB: s.Int("memory-gb"), CPUCores: s.Int("cpu-cores"),
	})
	if err != nil {
		return err
	}
	defer s.tellOutdated(ctx, m)
	return s.show(m, func() grid {
		g := grid{head: []any{"profile", "memory gb", "cores"}, none: "The model has no profile."}
		for i := range m.Profiles {
			g.add(m.Profiles[i].Name, m.Profiles[i].MemoryGB, m.Profiles[i].CPUCores)
		}
		return g
	})
}

func setClass(ctx context.Context, s *session) error {
	r, err := s.client.SetClass(ctx, s.arg(0), s.arg(1))
	if err != nil {
		return err
	}
	return s.say(r, "Model %s is %s.", r.Model, r.Class)
}

func retryModel(ctx context.Context, s *session) error {
	r, err := s.client.RetryModel(ctx, s.arg(0))
	if err != nil {
		return err
	}
	if r.WasParked {
		return s.say(r, "Model %s was parked and is tried again.", s.arg(0))
	}
	return s.say(r, "Model %s was not parked; its failures are forgotten.", s.arg(0))
}

func target(ctx context.Context, s *session) error {
	r, err := s.client.Target(ctx, s.arg(0))
	if err != nil {
		return err
	}
	return s.show(r, func() grid {
		g := grid{head: []any{"model", "desired", "why", "queued", "running", "note"}}
		note := ""
		if len(r.Clamps) > 0 {
			note = fmt.Sprint(r.Clamps)
		}
		g.add(r.Model, r.Desired, r.Why, r.Signals.Queued, r.Signals.Running, note)
		return g
	})
}

func headroom(ctx context.Context, s *session) error {
	r, err := s.client.Headroom(ctx, s.arg(0), s.Int("limit"))
	if err != nil {
		return err
	}
	if s.format != "table" {
		return s.whole(r)
	}
	edge := "that is all there is room for"
	if r.Limited {
		edge = "there may be room for more"
	}
	fmt.Fprintf(s.out, "Model %s has %d replicas and room for %d more; %s.\n", printable(r.Model), r.Current, r.More, edge)
	if r.ByPreempting > 0 {
		fmt.Fprintf(s.out, "%d more would fit if lower classes gave way: %s.\n", r.ByPreempting, printable(strings.Join(r.Preempts, ", ")))
	}
	err = s.show(r, func() grid {
		g := grid{head: []any{"no room on"}, none: ""}
		for _, b := range r.Blocked {
			g.add(b)
		}
		return g
	})
	if err == nil {
		s.tellFix(r.Fix, r.NoFix)
	}
	return err
}
