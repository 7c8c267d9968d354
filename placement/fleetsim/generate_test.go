package fleetsim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// generate writes a small fleet, some models and three quarters of an hour in
// which much goes wrong.
func generate(rng *rand.Rand) string {
	g := &generator{rng: rng, nodes: 2 + rng.IntN(6), models: 2 + rng.IntN(4)}
	fmt.Fprintf(&g.b, "net\ndelay=1ms-%dms late=%d%%:%ds loss=%d%% dup=%d%% slow=%d%%:%ds facts=%d%%\n",
		5+rng.IntN(200), rng.IntN(5), 1+rng.IntN(12), rng.IntN(4), rng.IntN(4), rng.IntN(4)*rng.IntN(20), 1+rng.IntN(10), rng.IntN(4)*rng.IntN(20))
	g.b.WriteString("fleet\n")
	for i := range g.nodes {
		g.node(i)
	}
	g.b.WriteString("models\n")
	for i := range g.models {
		fmt.Fprintf(&g.b, "model %s\n", g.model(i))
	}
	g.b.WriteString("trace\n")
	var at []time.Duration
	for range 15 + rng.IntN(30) {
		at = append(at, time.Duration(10+rng.IntN(2600))*time.Second)
	}
	slices.Sort(at)
	for _, d := range at {
		e := g.event()
		fmt.Fprintf(&g.b, "%s %s\n", d, e)
		if strings.HasPrefix(e, "control") && rng.IntN(3) == 0 {
			fmt.Fprintf(&g.b, "%s store away for=%s\n", d, g.span(10, 90))
		}
	}
	return g.b.String()
}

type generator struct {
	rng           *rand.Rand
	b             strings.Builder
	nodes, models int
}

func (g *generator) pick(words ...string) string { return words[g.rng.IntN(len(words))] }

func (g *generator) span(least, most int) string {
	return (time.Duration(least+g.rng.IntN(most-least)) * time.Second).String()
}

func (g *generator) node(i int) {
	fmt.Fprintf(&g.b, "n%d gpu=%dxL4-24", i, 1+g.rng.IntN(4))
	if g.rng.IntN(4) == 0 {
		g.b.WriteString(" mig=9:2x1g.10gb")
	}
	fmt.Fprintf(&g.b, " mem=64 cpu=32 rack=r%d pdu=p%d weights=none", i%3, i%2)
	if g.rng.IntN(2) == 0 {
		fmt.Fprintf(&g.b, " fabric=ib0@fe80:%d", g.rng.IntN(2))
	}
	g.b.WriteByte('\n')
}

// model is a model's name and words; the same name may come again with others.
func (g *generator) model(i int) string {
	least := g.rng.IntN(5)
	most := least + g.rng.IntN(2)
	s := fmt.Sprintf("m%d min=%d max=%d idle=%s class=%s start=%s drain=%s", i, least, most, g.span(20, 90),
		g.pick("critical", "standard", "batch"), g.span(1, 9), g.span(5, 30))
	switch g.rng.IntN(8) {
	case 0:
		s += " gpu=2"
	case 1:
		s += fmt.Sprintf(" gpu=1xL4-24 vram=%d shared", 6+g.rng.IntN(10))
	case 2:
		s += " gpu=1 shards=2 fabric=any"
	case 3:
		s += fmt.Sprintf(" mem=%d cpu=%d", 4+g.rng.IntN(20), 1+g.rng.IntN(12))
	case 4:
		s += " gpu=1x1g.10gb"
	default:
		s += " gpu=1xL4-24"
	}
	if g.rng.IntN(4) == 0 {
		s += " spread=" + g.pick("node:1", "rack:2", "rack")
	}
	if g.rng.IntN(3) == 0 {
		s += fmt.Sprintf(" files=w%d:%d", i, 1+g.rng.IntN(8))
	}
	if g.rng.IntN(3) == 0 {
		s += fmt.Sprintf(" context=%d", 1024*(1+g.rng.IntN(2)))
	}
	return s
}

func (g *generator) name() string { return fmt.Sprintf("m%d", g.rng.IntN(g.models)) }

// some is a node, a place or a part of the fleet.
func (g *generator) some() string {
	return g.pick(fmt.Sprintf("n%d", g.rng.IntN(g.nodes)), fmt.Sprintf("n%d", g.rng.IntN(g.nodes)), fmt.Sprintf("rack:r%d", g.rng.IntN(2)),
		"pdu:p0", "30%", "60%")
}

func (g *generator) event() string {
	switch g.rng.IntN(20) {
	case 0, 1:
		return "model " + g.model(g.rng.IntN(g.models))
	case 2:
		if g.rng.IntN(3) == 0 {
			return "remove " + g.name()
		}
		return "retry " + g.name()
	case 3, 4:
		return fmt.Sprintf("ask %s n=%d for=%s", g.name(), 1+g.rng.IntN(4), g.span(1, 40))
	case 5:
		return fmt.Sprintf("load %s rate=0.%d until=%s for=%s", g.name(), 1+g.rng.IntN(8), g.span(600, 2700), g.span(1, 20))
	case 6:
		return fmt.Sprintf("restart %s %s", g.name(), g.pick("replace", "in_place", "rollout", "rollout_borrow"))
	case 7:
		return fmt.Sprintf("broken %s for=%s", g.name(), g.span(5, 400))
	case 8, 9:
		return "exit " + g.some()
	case 10:
		return fmt.Sprintf("node %s %s", g.some(), g.pick("ready", "ready", "cordoned", "draining"))
	case 11:
		return fmt.Sprintf("crash %s for=%s", g.some(), g.span(5, 180))
	case 12:
		return fmt.Sprintf("agent %s for=%s", g.some(), g.span(1, 120))
	case 13, 14:
		return fmt.Sprintf("cut %s for=%s", g.some(), g.span(5, 240))
	case 15:
		return fmt.Sprintf("hold %s%s", g.pick("rack:r0", "rack:r1", "pdu:p1"), g.pick("", " from=0s", " from=1m until=5m", " until=3m"))
	case 16:
		return "unhold " + g.pick("rack:r0", "rack:r1", "pdu:p1")
	case 17:
		return fmt.Sprintf("control %s for=%s", g.pick("crash", "stall", "failover"), g.span(1, 60))
	case 18:
		return g.pick("brake-release", "forget "+g.some(), "store away for="+g.span(2, 60))
	}
	return fmt.Sprintf("device %s for=%s", g.some(), g.span(5, 300))
}
