package ctl

import (
	"context"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/adminapi/adminclient"
	"llmgw.io/llmgw/adminapi/view"
)

func (o outside) weights() *cli.Command {
	node := &cli.StringFlag{Name: "node", Usage: "only this node's"}
	return group("weights", "Weights on the nodes' disks",
		o.leaf(leaf{name: "orphans", usage: "List weights on nodes that no model needs", flags: []cli.Flag{node}, ops: []string{"Orphans"}, do: listOrphans}),
		o.leaf(leaf{
			name: "collect", usage: "Remove weights that a listing of orphans named", more: true,
			flags: []cli.Flag{node, &cli.BoolFlag{Name: "all", Usage: "all that orphans lists now"}}, ops: []string{"CollectWeights"}, do: collectWeights,
		}),
	)
}

func listOrphans(ctx context.Context, s *session) error {
	v, err := allOrphans(ctx, s)
	if err != nil {
		return err
	}
	return s.show(v, func() grid {
		g := grid{head: []any{"node", "path", "size", "last used", "fetched for"}, none: "There are no weights that nothing needs."}
		for _, o := range v {
			used := ""
			if o.LastUsed != nil {
				used = o.LastUsed.Format("2006-01-02 15:04")
			}
			g.add(o.Node, o.Path, humanize.IBytes(uint64(max(0, o.Bytes))), used, o.Source)
		}
		return g
	})
}

func allOrphans(ctx context.Context, s *session) ([]view.Orphan, error) {
	return adminclient.All(func(cursor string) ([]view.Orphan, string, error) {
		return s.client.Orphans(ctx, s.String("node"), adminclient.List{Cursor: cursor})
	})
}

func collectWeights(ctx context.Context, s *session) error {
	var in view.CollectRequest
	names := s.Args().Slice()
	if all := s.Bool("all"); all == (len(names) > 0) {
		return usagef("weights collect takes NODE:PATH ..., or --all; weights orphans lists what can be collected")
	}
	if len(names) == 0 {
		list, err := allOrphans(ctx, s)
		if err != nil {
			return err
		}
		for _, o := range list {
			in.Orphans = append(in.Orphans, view.OrphanRef{Node: o.Node, Path: o.Path})
		}
		if len(in.Orphans) == 0 {
			s.note("There are no weights that nothing needs.")
			return nil
		}
	}
	for _, name := range names {
		node, path, ok := strings.Cut(name, ":")
		if !ok || node == "" || path == "" {
			return usagef("%q names no weights; write NODE:PATH as weights orphans lists them", name)
		}
		in.Orphans = append(in.Orphans, view.OrphanRef{Node: node, Path: path})
	}
	v, err := s.client.CollectWeights(ctx, in)
	if err != nil {
		return err
	}
	if err := s.show(v, func() grid {
		g := grid{head: []any{"node", "path", "freed"}, none: "Nothing was removed."}
		for _, r := range v.Removed {
			g.add(r.Node, r.Path, humanize.IBytes(uint64(max(0, r.Bytes))))
		}
		return g
	}); err != nil {
		return err
	}
	if s.format == "table" {
		for _, k := range v.Kept {
			s.note("%s on %s was kept: %s.", printable(k.Path), printable(k.Node), strings.TrimSuffix(printable(k.Why), "."))
		}
	}
	return nil
}
