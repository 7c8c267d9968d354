package ctl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/adminapi/adminclient"
	"llmgw.io/llmgw/adminapi/view"
)

func (o outside) usage() *cli.Command {
	return o.leaf(leaf{name: "usage", usage: "Sum what was used", ops: []string{"Usage"}, do: usage, flags: []cli.Flag{
		&cli.StringFlag{Name: "by", Usage: "org, team, project, user, key or model", Value: "team"},
		&cli.DurationFlag{Name: "since", Usage: "how far back", Value: 24 * time.Hour},
	}})
}

func usage(ctx context.Context, s *session) error {
	sums, err := s.client.Usage(ctx, s.String("by"), s.Duration("since"))
	if err != nil {
		return err
	}
	return s.show(sums, func() grid {
		g := grid{head: []any{s.String("by"), "keys", "requests", "errors", "prompt tokens", "completion tokens", "cost"}, none: "Nothing was used in that time."}
		for _, u := range sums {
			name := u.ID
			if u.Name != "" {
				name = u.Name
			}
			g.add(name, u.Keys, humanize.Comma(u.Requests), humanize.Comma(u.Errors), humanize.Comma(u.PromptTokens), humanize.Comma(u.CompletionTokens), money(u.CostMicros))
		}
		return g
	})
}

// money is micros of the cluster's currency with its point.
func money(micros int64) string { return fmt.Sprintf("%.6f", float64(micros)/1e6) }

func (o outside) requests() *cli.Command {
	return group("requests", "Records of client requests",
		o.leaf(leaf{name: "get", usage: "Show the record of one client request", args: []string{"ID"}, ops: []string{"Request"}, do: func(ctx context.Context, s *session) error {
			r, err := s.client.Request(ctx, s.arg(0))
			if err != nil {
				return err
			}
			return s.whole(r)
		}}),
		o.leaf(leaf{name: "explain", usage: "Show why a request went to its replica", args: []string{"ID"}, ops: []string{"ExplainRequest"}, do: explainRequest}))
}

func explainRequest(ctx context.Context, s *session) error {
	e, err := s.client.ExplainRequest(ctx, s.arg(0))
	if err != nil {
		return err
	}
	err = s.show(e, func() grid {
		g := grid{head: []any{"try", "replica", "chosen", "wait", "work", "cached", "in flight", "cost", "note"}, none: "No replica was chosen."}
		for i, c := range e.Choices {
			for j, o := range c.Options {
				g.add(i+1, o.Replica, map[bool]string{true: "yes"}[j == 0], milliseconds(o.WaitMS), milliseconds(o.WorkMS), o.CachedTokens,
					o.Outstanding, fmt.Sprintf("%.4f", o.Cost), optionNote(o))
			}
		}
		return g
	})
	if s.format == "table" {
		for i, c := range e.Choices {
			s.note("%d: %s", i+1, printable(c.Why))
			if c.More > 0 {
				s.note("%d: %d further replicas could have been chosen.", i+1, c.More)
			}
		}
	}
	return err
}

func milliseconds(n int64) string { return (time.Duration(n) * time.Millisecond).String() }

func optionNote(o view.ChoiceOption) string {
	switch {
	case o.LastResort:
		return "in trouble"
	case o.Share > 0 && o.Share < 1:
		return fmt.Sprintf("warming up, %.0f %%", 100*o.Share)
	case !o.AdapterResident:
		return "another adapter"
	}
	return ""
}

func (o outside) audit() *cli.Command {
	return group("audit", "The log of changes",
		o.leaf(leaf{name: "list", usage: "List changes and who made them", ops: []string{"Audit"}, do: listAudit, flags: []cli.Flag{
			&cli.StringFlag{Name: "object", Usage: "only changes of this object: model:tiny, node:a1"},
			&cli.StringFlag{Name: "principal", Usage: "only changes by this principal"},
			&cli.IntFlag{Name: "limit", Usage: "how many of the newest", Value: 50},
		}}),
		o.leaf(leaf{name: "verify", usage: "Check that the log of changes is whole", ops: []string{"VerifyAudit"}, do: func(ctx context.Context, s *session) error {
			v, err := s.client.VerifyAudit(ctx)
			if err != nil {
				return err
			}
			if !v.OK {
				return errors.New("the log of changes is not whole: " + v.Error)
			}
			return s.say(v, "The log of changes is whole.")
		}}))
}

func listAudit(ctx context.Context, s *session) error {
	if s.Int("limit") < 1 {
		return usagef("--limit must be at least 1")
	}
	events, _, err := s.client.Audit(ctx, adminclient.AuditList{
		List: adminclient.List{Limit: s.Int("limit")}, Object: s.String("object"), Principal: s.String("principal"),
	})
	if err != nil {
		return err
	}
	return s.show(events, func() grid {
		g := grid{head: []any{"seq", "at", "who", "claims to be", "did", "to", "why"}, none: "There are no such changes."}
		for _, e := range events {
			g.add(e.Seq, e.At.Format(time.RFC3339), e.Principal, e.Claimed, e.Action, e.Object, e.Reason)
		}
		return g
	})
}

// lifetime are the flags for what ends at a time.
func lifetime() cli.Flag {
	return &cli.DurationFlag{Name: "expires-in", Usage: "how long it lasts; for good when left out"}
}

func expiry(s *session) time.Time {
	if !s.IsSet("expires-in") {
		return time.Time{}
	}
	return time.Now().Add(s.Duration("expires-in")).UTC()
}

func (o outside) keys() *cli.Command {
	return group("keys", "What clients authenticate with",
		o.leaf(leaf{name: "list", usage: "List client keys", ops: []string{"Keys"}, do: listKeys}),
		o.leaf(leaf{name: "create", usage: "Create a client key", ops: []string{"CreateKey"}, do: createKey, flags: []cli.Flag{
			&cli.StringFlag{Name: "name", Usage: "what it is for", Required: true},
			&cli.StringFlag{Name: "project", Usage: "whose use it counts as"},
			&cli.StringFlag{Name: "user", Usage: "who holds it"},
			&cli.StringSliceFlag{Name: "model", Usage: "a model it may use; may be repeated; every one when left out"},
			&cli.StringSliceFlag{Name: "cidr", Usage: "a network it may be used from; may be repeated; any when left out"},
			lifetime(),
		}}),
		o.leaf(leaf{name: "revoke", usage: "Revoke a client key", args: []string{"ID"}, ops: []string{"RevokeKey"}, do: func(ctx context.Context, s *session) error {
			v, err := s.client.RevokeKey(ctx, s.arg(0))
			if err != nil {
				return err
			}
			return s.say(v, "Key %s is revoked.", v.Revoked)
		}}))
}

func listKeys(ctx context.Context, s *session) error {
	keys, err := adminclient.All(func(cursor string) ([]view.Key, string, error) {
		return s.client.Keys(ctx, adminclient.List{Cursor: cursor})
	})
	if err != nil {
		return err
	}
	return s.show(keys, func() grid {
		g := grid{head: []any{"id", "name", "project", "models", "state"}, none: "There are no client keys yet; make one with keys create --name NAME."}
		for _, k := range keys {
			models := "all"
			if len(k.Models) > 0 {
				models = strings.Join(k.Models, ",")
			}
			g.add(k.ID, k.Name, k.Project, models, life(k.ExpiresAt, k.RevokedAt))
		}
		return g
	})
}

// life is one word for how long a credential lasts.
func life(expires, revoked time.Time) string {
	switch {
	case !revoked.IsZero():
		return "revoked"
	case expires.IsZero():
		return "works"
	case !expires.After(time.Now()):
		return "expired"
	}
	return "works until " + expires.Format(time.RFC3339)
}

func createKey(ctx context.Context, s *session) error {
	k, err := s.client.CreateKey(ctx, view.KeyRequest{
		Name: s.String("name"), Project: s.String("project"), User: s.String("user"), ExpiresAt: expiry(s),
		Models: s.StringSlice("model"), CIDRs: s.StringSlice("cidr"),
	})
	if err != nil {
		return err
	}
	return s.secret(k, k.Secret, "key "+k.ID)
}

// secret prints what is shown once: alone on standard output, so that it can go
// into a file or a variable.
func (s *session) secret(v any, secret, what string) error {
	if s.format == "table" {
		s.note("This is the whole %s; it is not shown again.", what)
	}
	return s.say(v, "%s", secret)
}

func (o outside) tokens() *cli.Command {
	return group("tokens", "What machines join with, and what people use this API with",
		group("join", "Permissions to join",
			o.leaf(leaf{name: "list", usage: "List permissions to join", ops: []string{"JoinTokens"}, do: listJoinTokens}),
			o.leaf(leaf{name: "create", usage: "Let one machine join", ops: []string{"CreateJoinToken"}, do: func(ctx context.Context, s *session) error {
				t, err := s.client.CreateJoinToken(ctx)
				if err != nil {
					return err
				}
				return s.secret(t, t.Token, "join token "+t.ID+", for one machine until "+t.ExpiresAt.Format(time.RFC3339))
			}}),
			o.leaf(leaf{name: "revoke", usage: "Revoke a permission to join", args: []string{"ID"}, ops: []string{"RevokeJoinToken"}, do: func(ctx context.Context, s *session) error {
				v, err := s.client.RevokeJoinToken(ctx, s.arg(0))
				if err != nil {
					return err
				}
				return s.say(v, "Join token %s is revoked.", v.Revoked)
			}})),
		group("admin", "Admin tokens",
			o.leaf(leaf{name: "list", usage: "List admin tokens", ops: []string{"AdminTokens"}, do: listAdminTokens}),
			o.leaf(leaf{name: "create", usage: "Create an admin token", ops: []string{"CreateAdminToken"}, do: createAdminToken, flags: []cli.Flag{
				&cli.StringFlag{Name: "name", Usage: "who or what uses it, as the audit log shows it", Required: true},
				&cli.StringFlag{Name: "role", Usage: "viewer, operator or owner", Required: true},
				lifetime(),
			}}),
			o.leaf(leaf{name: "revoke", usage: "Revoke an admin token", args: []string{"ID"}, ops: []string{"RevokeAdminToken"}, do: func(ctx context.Context, s *session) error {
				v, err := s.client.RevokeAdminToken(ctx, s.arg(0))
				if err != nil {
					return err
				}
				return s.say(v, "Admin token %s is revoked.", v.Revoked)
			}})))
}

func listJoinTokens(ctx context.Context, s *session) error {
	tokens, err := s.client.JoinTokens(ctx)
	if err != nil {
		return err
	}
	return s.show(tokens, func() grid {
		g := grid{head: []any{"id", "made by", "state"}, none: "There are no permissions to join."}
		for _, t := range tokens {
			state := life(t.ExpiresAt, time.Time{})
			if t.UsedBy != "" {
				state = "used by " + t.UsedBy
			}
			g.add(t.ID, t.CreatedBy, state)
		}
		return g
	})
}

func listAdminTokens(ctx context.Context, s *session) error {
	tokens, err := s.client.AdminTokens(ctx)
	if err != nil {
		return err
	}
	return s.show(tokens, func() grid {
		g := grid{head: []any{"id", "name", "role", "made by", "state"}, none: "There are no admin tokens."}
		for _, t := range tokens {
			g.add(t.ID, t.Name, t.Role, t.CreatedBy, life(t.ExpiresAt, t.RevokedAt))
		}
		return g
	})
}

func createAdminToken(ctx context.Context, s *session) error {
	t, err := s.client.CreateAdminToken(ctx, view.AdminTokenRequest{Name: s.String("name"), Role: s.String("role"), ExpiresAt: expiry(s)})
	if err != nil {
		return err
	}
	return s.secret(t, t.Token, "admin token "+t.ID)
}

func (o outside) openapi() *cli.Command {
	return o.leaf(leaf{name: "openapi", usage: "Show the OpenAPI document of this surface", ops: []string{"OpenAPI"}, do: func(ctx context.Context, s *session) error {
		doc, err := s.client.OpenAPI(ctx)
		if err != nil {
			return err
		}
		_, err = s.out.Write(doc)
		return err
	}})
}
