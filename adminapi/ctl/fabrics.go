package ctl

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v3"

	"llmgw.io/llmgw/adminapi/view"
)

func (o outside) fabrics() *cli.Command {
	id := []string{"ID"}
	c := o.leaf(leaf{name: "fabrics", usage: "Show the networks between nodes, and what is wrong with them", ops: []string{"Fabrics"}, do: showFabrics})
	c.Commands = []*cli.Command{
		o.leaf(leaf{name: "topology", usage: "Show the map of a network, with what its adapters do now", args: id, ops: []string{"Topology"}, do: showTopology}),
		o.leaf(leaf{name: "scan", usage: "Have a node walk a network for its map", args: id, ops: []string{"ScanFabric"}, do: scanFabric}),
	}
	return c
}

func showFabrics(ctx context.Context, s *session) error {
	v, err := s.client.Fabrics(ctx)
	if err != nil {
		return err
	}
	if err := s.show(v, func() grid { return fabricsGrid(v) }); err != nil {
		return err
	}
	if s.format != "table" {
		return nil
	}
	s.tellFabricProblems(v.Problems)
	for _, c := range v.SMChanges {
		s.note("%s: from subnet manager %s to %s at %s.", printable(c.Fabric), printable(c.From), printable(c.To), stamp(c.At))
	}
	return nil
}

func fabricsGrid(v view.FabricReport) grid {
	g := grid{
		head: []any{"id", "network", "names", "nodes", "ports", "manager", "standing by"},
		none: "No port of any node is on a network that it can tell.",
	}
	for _, p := range v.Physical {
		manager := p.SMError
		if p.SM != nil {
			manager = cmp.Or(p.SM.Node, "elsewhere")
		}
		g.add(p.ID, p.Label, strings.Join(p.Declared, ","), p.Nodes, p.Ports, manager, standingBy(p.SMs))
	}
	return g
}

// standingBy counts the managers that do not manage.
func standingBy(sms []view.SubnetManager) int {
	n := 0
	for _, m := range sms {
		if m.State != "master" {
			n++
		}
	}
	return n
}

func (s *session) tellFabricProblems(problems []view.FabricProblem) {
	for _, p := range problems {
		since := ""
		if p.Since != nil {
			since = " since " + stamp(*p.Since)
		}
		s.note("%s, %s%s: %s", printable(p.Fabric), p.Kind, since, printable(p.Text))
	}
}

func showTopology(ctx context.Context, s *session) error {
	v, err := s.client.Topology(ctx, s.arg(0))
	if err != nil {
		return err
	}
	return s.tellTopology(v)
}

func scanFabric(ctx context.Context, s *session) error {
	v, err := s.client.ScanFabric(ctx, s.arg(0))
	if err != nil {
		return err
	}
	return s.tellTopology(v)
}

func (s *session) tellTopology(v view.Topology) error {
	if err := s.show(v, func() grid { return topologyGrid(v) }); err != nil {
		return err
	}
	if s.format != "table" {
		return nil
	}
	if m := v.Map; m != nil {
		s.note("The map was made at %s by %s in %s: switches %d, adapters %d, links %d.",
			v.ScannedAt, printable(v.ScannedBy), time.Duration(v.TookMS)*time.Millisecond, len(m.Switches), len(m.Hosts), len(m.Links))
	}
	if v.Error != "" {
		s.note("%s", printable(v.Error))
	}
	s.tellFabricProblems(v.Problems)
	return nil
}

// topologyGrid has a row for each adapter that the map or a node knows.
func topologyGrid(v view.Topology) grid {
	g := grid{
		head: []any{"adapter", "guid", "node", "hca", "state", "Gb/s", "sends", "receives", "errors", "link", "to"},
		none: "Nothing is known of its adapters.",
	}
	names, to, links := plugged(v)
	guids := []string{}
	for guid := range names {
		guids = append(guids, guid)
	}
	for guid := range v.Live {
		if _, ok := names[guid]; !ok {
			guids = append(guids, guid)
		}
	}
	slices.SortFunc(guids, func(a, b string) int { return cmp.Or(cmp.Compare(v.Live[a].Node, v.Live[b].Node), cmp.Compare(a, b)) })
	for _, guid := range guids {
		l, ours := v.Live[guid]
		state, gbps, tx, rx := "not ours", "", "", ""
		if ours {
			state, gbps, tx, rx = strings.ToLower(l.State), fmt.Sprint(l.Gbps), bits(l.TxBPS), bits(l.RxBPS)
		}
		g.add(names[guid], guid, l.Node, l.HCA, state, gbps, tx, rx, total(l.Errors), links[guid], to[guid])
	}
	return g
}

// plugged are the adapters of the map by GUID: their names, where they are
// plugged in, and by what link.
func plugged(v view.Topology) (names, to, links map[string]string) {
	names, to, links = map[string]string{}, map[string]string{}, map[string]string{}
	if v.Map == nil {
		return names, to, links
	}
	called := map[string]string{}
	for _, h := range v.Map.Hosts {
		names[h.GUID], called[h.GUID] = h.Name, h.Name
	}
	for _, w := range v.Map.Switches {
		called[w.GUID] = cmp.Or(w.Name, w.GUID)
	}
	for _, l := range v.Map.Links {
		for _, end := range [][2]int{{0, 1}, {1, 0}} {
			ends := []struct {
				guid string
				port int
			}{{l.A.GUID, l.A.Port}, {l.B.GUID, l.B.Port}}
			here, there := ends[end[0]], ends[end[1]]
			if _, host := names[here.guid]; host && to[here.guid] == "" {
				to[here.guid] = fmt.Sprintf("%s port %d", called[there.guid], there.port)
				links[here.guid] = fmt.Sprintf("%dx%s", l.Width, l.Speed)
			}
		}
	}
	return names, to, links
}

// bits is a rate for people.
func bits(bps float64) string { return humanize.SIWithDigits(bps, 1, "b/s") }

func total(errors map[string]int64) (n int64) {
	for _, v := range errors {
		n += v
	}
	return n
}

func (o outside) nvlink() *cli.Command {
	return o.leaf(leaf{name: "nvlink", usage: "Show NVLink domains of several nodes, and what keeps nodes out", ops: []string{"NVLink"}, do: showNVLink})
}

func showNVLink(ctx context.Context, s *session) error {
	v, err := s.client.NVLink(ctx)
	if err != nil {
		return err
	}
	err = s.show(v, func() grid {
		g := grid{head: []any{"domain", "nodes", "devices", "ready"}, none: "No devices are in an NVLink domain of several nodes."}
		for _, d := range v.Domains {
			ready := "no"
			if d.Ready {
				ready = "yes"
			}
			g.add(d.ID, strings.Join(d.Nodes, ","), d.Devices, ready)
		}
		return g
	})
	if err != nil || s.format != "table" {
		return err
	}
	for _, k := range v.KeptOut {
		s.note("Node %s: %s", printable(k.Node), printable(k.Reason))
	}
	return nil
}
