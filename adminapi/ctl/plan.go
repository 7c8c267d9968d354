package ctl

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/adminapi/view"
)

func (o outside) plan() *cli.Command {
	ops := []string{"PlanChange"}
	return group("plan", "What a change would do; nothing is changed",
		o.leaf(leaf{name: "model", usage: "Show what a change of a model would do", args: []string{"MODEL"}, ops: ops, do: planModel, flags: []cli.Flag{
			&cli.IntFlag{Name: "min", Usage: "scale it: the least"},
			&cli.IntFlag{Name: "max", Usage: "scale it: the most; follows min when left out"},
			&cli.StringFlag{Name: "class", Usage: "give it this capacity class"},
			&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "add it, or replace it by this definition, YAML or JSON; - reads standard input"},
			&cli.BoolFlag{Name: "remove", Usage: "remove it"},
		}}),
		o.leaf(leaf{name: "node", usage: "Show what another state of a node would do", args: []string{"NODE", "ready|cordoned|draining|lost|removed"}, ops: ops, do: planNode}),
		o.leaf(leaf{name: "label", usage: "Show what other labels of a node would do", args: []string{"NODE", "KEY=VALUE|KEY-"}, more: true, ops: ops, do: planLabel}),
		o.leaf(leaf{name: "hold", usage: "Show what a hold would do", args: []string{"DOMAIN"}, ops: ops, do: planChangeOfHold, flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "carry out what stands there from then on: now, a span such as 2h, or 2026-01-31T12:00:00Z"},
			&cli.StringFlag{Name: "until", Usage: "when it ends by itself, in the same forms"},
			&cli.BoolFlag{Name: "release", Usage: "release it instead"},
		}}),
	)
}

func planModel(ctx context.Context, s *session) error {
	in := view.PlanModel{Name: s.arg(0), Class: s.String("class"), Remove: s.Bool("remove")}
	if s.IsSet("max") && !s.IsSet("min") {
		return usagef("--max needs --min")
	}
	if s.IsSet("min") {
		scale := s.scaling()
		in.Scale = &scale
	}
	if s.IsSet("file") {
		b, err := s.definition()
		if err != nil {
			return err
		}
		in.Definition = new(view.Model)
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields() // what is left out here nobody would complain of
		if err := d.Decode(in.Definition); err != nil {
			return fmt.Errorf("the definition cannot be read: %w", err)
		}
	}
	return planned(ctx, s, view.PlanRequest{Model: &in})
}

func planNode(ctx context.Context, s *session) error {
	return planned(ctx, s, view.PlanRequest{Node: &view.PlanNode{ID: s.arg(0), State: s.arg(1)}})
}

func planLabel(ctx context.Context, s *session) error {
	labels, err := s.labels()
	if err != nil {
		return err
	}
	return planned(ctx, s, view.PlanRequest{Node: &view.PlanNode{ID: s.arg(0), Labels: labels}})
}

func planChangeOfHold(ctx context.Context, s *session) error {
	from, until, err := span(s)
	if err != nil {
		return err
	}
	return planned(ctx, s, view.PlanRequest{Hold: &view.PlanHold{Domain: s.arg(0), From: from, Until: until, Release: s.Bool("release")}})
}

func planned(ctx context.Context, s *session, in view.PlanRequest) error {
	v, err := s.client.PlanChange(ctx, in)
	if err != nil {
		return err
	}
	if err := s.show(v, func() grid { return changeGrid(v) }); err != nil || s.format != "table" {
		return err
	}
	for _, u := range v.Unplaceable {
		fmt.Fprintf(s.out, "Model %s would lack %d:\n", printable(u.Model), u.Short)
		for _, r := range u.Reasons {
			fmt.Fprintf(s.out, "  %s\n", printable(r))
		}
	}
	for _, n := range v.Notes {
		fmt.Fprintln(s.out, printable(n))
	}
	return nil
}

func changeGrid(v view.ChangePlan) grid {
	g := grid{head: []any{"what", "model", "replica", "from", "to", "note"}, none: "No replica would come, move or go."}
	list := func(nodes []string) string { return strings.Join(nodes, ",") }
	for _, p := range v.Placed {
		g.add("placed", p.Model, "", "", list(p.Nodes), "as "+p.Profile)
	}
	for _, m := range v.Moved {
		g.add("moved", m.Model, m.Replica, list(m.From), list(m.To), "as "+m.Profile)
	}
	for _, p := range v.Preempted {
		g.add("preempted", p.Model, p.Replica, list(p.From), list(p.To), "gives way to "+p.By)
	}
	for _, l := range v.Lost {
		g.add("lost", l.Model, l.Replica, list(l.Nodes), "", l.Why)
	}
	return g
}
