package ctl

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/adminapi/view"
)

func (o outside) facility() *cli.Command {
	return o.leaf(leaf{name: "facility", usage: "Show the building, what stands in it, and what is held", ops: []string{"Facility"}, do: showFacility})
}

func showFacility(ctx context.Context, s *session) error {
	v, err := s.client.Facility(ctx)
	if err != nil {
		return err
	}
	if err := s.show(v, func() grid { return facilityGrid(v) }); err != nil {
		return err
	}
	if s.format != "table" {
		return nil
	}
	for _, r := range v.AtRisk {
		s.note("Model %s would be gone with %s; ready replicas: %d.", printable(r.Model), printable(r.Domain), r.Ready)
	}
	for _, p := range v.Problems {
		s.note("%s.", printable(p))
	}
	return nil
}

func facilityGrid(v view.FacilityReport) grid {
	g := grid{
		head: []any{"place", "in", "nodes", "devices", "free", "replicas", "power", "hold"},
		none: "No node says where it stands; label them: nodes label NODE llmgw.io/rack=r1.",
	}
	for _, d := range v.Domains {
		power, hold := "", ""
		if d.PowerW != nil {
			power = fmt.Sprintf("%.0f W", *d.PowerW)
		}
		if d.Hold != nil {
			hold = strings.TrimSuffix(d.Hold.State+": "+d.Hold.Reason, ": ")
		}
		g.add(d.Domain, d.Parent, d.Nodes, d.GPUs, d.Free, d.Replicas, power, hold)
	}
	return g
}

func (o outside) holds() *cli.Command {
	domain := []string{"DOMAIN"}
	times := []cli.Flag{
		&cli.StringFlag{Name: "from", Usage: "carry out what stands there from then on: now, a span such as 2h, or 2026-01-31T12:00:00Z"},
		&cli.StringFlag{Name: "until", Usage: "when it ends by itself, in the same forms"},
	}
	reasoned := slices.Concat(times, []cli.Flag{&cli.StringFlag{Name: "reason", Usage: "why; people see it"}})
	return group("holds", "Places that are held, such as rack:r12-07",
		o.leaf(leaf{name: "list", usage: "List the places that are held", ops: []string{"Facility"}, do: listHolds}),
		o.leaf(leaf{name: "add", usage: "Hold a place: nothing new is placed there", args: domain, flags: reasoned, ops: []string{"Hold"}, do: addHold}),
		o.leaf(leaf{name: "release", usage: "Release a place", args: domain, ops: []string{"ReleaseHold"}, do: releaseHold}),
		o.leaf(leaf{name: "plan", usage: "Show what carrying out a place would do", args: domain, flags: times, ops: []string{"PlanHold"}, do: planHold}),
	)
}

func listHolds(ctx context.Context, s *session) error {
	v, err := s.client.Facility(ctx)
	if err != nil {
		return err
	}
	holds, left := []view.Hold{}, map[string]int{}
	for _, d := range v.Domains {
		if d.Hold != nil {
			holds, left[d.Domain] = append(holds, *d.Hold), d.Replicas
		}
	}
	return s.show(holds, func() grid {
		g := grid{head: []any{"place", "state", "reason", "by", "from", "until", "replicas there"}, none: "Nothing is held."}
		for _, h := range holds {
			g.add(h.Domain, h.State, h.Reason, h.By, stamp(h.From), stamp(h.Until), left[h.Domain])
		}
		return g
	})
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// moment reads a time of a flag: now, a span from now, or a time.
func moment(s *session, flag string, now time.Time) (time.Time, error) {
	text := s.String(flag)
	switch text {
	case "":
		return time.Time{}, nil
	case "now":
		return now, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(d), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, usagef("--%s takes now, a span such as 2h, or a time such as 2026-01-31T12:00:00Z, not %q", flag, text)
	}
	return t, nil
}

func span(s *session) (from, until time.Time, err error) {
	now := time.Now().UTC().Truncate(time.Second)
	if from, err = moment(s, "from", now); err != nil {
		return from, until, err
	}
	until, err = moment(s, "until", now)
	return from, until, err
}

func addHold(ctx context.Context, s *session) error {
	from, until, err := span(s)
	if err != nil {
		return err
	}
	v, err := s.client.Hold(ctx, view.HoldRequest{Domain: s.arg(0), Reason: s.String("reason"), From: from, Until: until})
	if err != nil {
		return err
	}
	defer s.tellNotes(v.Notes)
	switch {
	case v.State == "planned":
		return s.say(v, "Place %s is planned to be carried out from %s on.", v.Domain, stamp(v.From))
	case !v.From.IsZero():
		return s.say(v, "Place %s is held, and what stands there is carried out.", v.Domain)
	}
	return s.say(v, "Place %s is held: nothing new is placed there.", v.Domain)
}

// tellNotes says what else to know, where people read.
func (s *session) tellNotes(notes []string) {
	for _, n := range notes {
		if s.format == "table" {
			s.note("%s", printable(n))
		}
	}
}

func releaseHold(ctx context.Context, s *session) error {
	v, err := s.client.ReleaseHold(ctx, s.arg(0))
	if err != nil {
		return err
	}
	return s.say(v, "Place %s is released.", v.Released)
}

func planHold(ctx context.Context, s *session) error {
	from, until, err := span(s)
	if err != nil {
		return err
	}
	v, err := s.client.PlanHold(ctx, s.arg(0), from, until)
	if err != nil {
		return err
	}
	if err := s.show(v, func() grid { return planGrid(v) }); err != nil {
		return err
	}
	if s.format != "table" {
		return nil
	}
	for _, text := range v.Shortfall {
		s.note("%s", printable(text))
	}
	s.tellNotes(v.Notes)
	if len(v.Models) > 0 {
		s.note("It takes about %s.", time.Duration(v.Seconds)*time.Second)
	}
	return nil
}

func planGrid(v view.HoldPlan) grid {
	g := grid{head: []any{"model", "class", "replica", "from", "to", "as"}, none: "No replica stands there."}
	for _, m := range v.Models {
		for _, move := range m.Moves {
			to := strings.Join(move.To, ",")
			if to == "" {
				to = "nowhere"
			}
			g.add(m.Model, m.Class, move.Replica, strings.Join(move.From, ","), to, move.Profile)
		}
	}
	return g
}

func (o outside) brake() *cli.Command {
	return group("brake", "What keeps lost replicas from being replaced after a mass loss",
		o.leaf(leaf{name: "release", usage: "Let lost replicas be replaced again after a mass loss", ops: []string{"ReleaseBrake"}, do: releaseBrake}),
	)
}

func releaseBrake(ctx context.Context, s *session) error {
	v, err := s.client.ReleaseBrake(ctx)
	if err != nil {
		return err
	}
	if !v.Released {
		return s.say(v, "The brake was not set.")
	}
	return s.say(v, "The brake is released.")
}
