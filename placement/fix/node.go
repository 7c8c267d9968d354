package fix

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"llmgw.io/llmgw/inventory"
)

// on is a change of one node.
func on(n *inventory.Node, do Do, tell func() (detail, text string), edit func(n *inventory.Node)) change {
	return change{Do: do, Object: string(n.ID), tell: tell, nodes: []inventory.NodeID{n.ID}, on: func(n *inventory.Node) *inventory.Node {
		c := *n
		edit(&c)
		return &c
	}}
}

// wake is what brings a node back that takes nothing new.
func wake(n *inventory.Node) change {
	switch {
	case n.Settings.Wish != inventory.WishReady:
		return on(n, Uncordon, func() (detail, text string) {
			return "it is " + string(n.Settings.Wish), "uncordon node " + string(n.ID)
		}, func(n *inventory.Node) { n.Settings.Wish = inventory.WishReady })
	case n.Hearing != inventory.Heard:
		return on(n, Reach, func() (detail, text string) {
			return "it is " + string(n.Hearing), "bring node " + string(n.ID) + " back"
		}, func(n *inventory.Node) { n.Hearing = inventory.Heard })
	}
	return on(n, Clock, func() (detail, text string) {
		way := "ahead"
		if n.ClockSkew < 0 {
			way = "behind"
		}
		return fmt.Sprintf("it is %s %s", n.ClockSkew.Abs(), way), "set the clock of node " + string(n.ID)
	}, func(n *inventory.Node) { n.ClockSkew = 0 })
}

// release ends the hold by which a node is held, for all nodes that it holds.
func (l *looking) release(n *inventory.Node, done *offer) change {
	d := n.Held.Domain
	over := append(done.released(), d)
	return change{
		Do: Release, Object: d.String(),
		tell: func() (detail, text string) {
			return n.Held.Reason, "release the hold of " + string(d.Level) + " " + d.Name
		},
		domain: d,
		nodes:  l.held[d],
		on:     func(n *inventory.Node) *inventory.Node { return l.without(n, over) },
	}
}

// without is a node without these holds.
func (s *search) without(n *inventory.Node, over []inventory.Domain) *inventory.Node {
	c := *n
	if slices.Contains(over, n.Held.Domain) {
		c.Held = inventory.Held{}
	}
	for i := range s.q.Holds {
		if h := &s.q.Holds[i]; !c.Held.Yes() && !slices.Contains(over, h.Domain) && h.Domain.Holds(n) {
			c.Held = inventory.Held{Domain: h.Domain, Reason: h.Sentence(), Out: !h.From.IsZero()}
		}
	}
	return &c
}

// label gives a node the profile's pool and labels.
func (l *looking) label(n *inventory.Node) change {
	wants := map[string]string{inventory.LabelPrefix + "pool": l.profile.Pool}
	maps.Copy(wants, l.profile.Labels)
	maps.DeleteFunc(wants, func(key, value string) bool { return n.Label(key) == value })
	return on(n, Label, func() (detail, text string) {
		var set, was []string
		for _, key := range slices.Sorted(maps.Keys(wants)) {
			set, was = append(set, key+"="+wants[key]), append(was, fmt.Sprintf("%s is %q", key, n.Label(key)))
		}
		return strings.Join(was, ", "), "label node " + string(n.ID) + " " + strings.Join(set, " ")
	}, func(n *inventory.Node) {
		labels := map[string]string{}
		maps.Copy(labels, n.Settings.Labels)
		maps.Copy(labels, wants)
		n.Settings.Labels = labels
	})
}

// install adds the profile's engine to a node.
func (l *looking) install(n *inventory.Node) change {
	e := inventory.Engine{Name: string(l.profile.Engine), Build: l.profile.Build}
	return on(n, Install, func() (detail, text string) {
		what := e.Name
		if e.Build != "" {
			what += " in build " + e.Build
		}
		has := "no engine"
		for i, o := range n.Facts.Engines {
			if i == 0 {
				has = ""
			} else {
				has += ", "
			}
			has += strings.TrimSuffix(o.Name+":"+o.Build, ":")
		}
		return "it has " + has, "install " + what + " on node " + string(n.ID)
	}, func(n *inventory.Node) { n.Facts.Engines = append(slices.Clip(n.Facts.Engines), e) })
}

// collect removes weights that nobody needs.
func (l *looking) collect(n *inventory.Node) []change {
	if l.q.Unneeded == nil {
		return nil
	}
	mb := l.q.Unneeded(n)
	if mb <= 0 {
		return nil
	}
	return []change{on(n, Collect, func() (detail, text string) {
		return "they take " + gib(mb), "remove the weights on node " + string(n.ID) + " that no model needs"
	}, func(n *inventory.Node) {
		n.Facts.DiskFreeMB += mb
		n.Facts.DiskTotalMB = max(n.Facts.DiskTotalMB, n.Facts.DiskFreeMB)
	})}
}

// gib writes MiB for people.
func gib(mb int64) string {
	if mb < 1024 {
		return fmt.Sprintf("%d MiB", mb)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(mb)/1024), ".0") + " GiB"
}
