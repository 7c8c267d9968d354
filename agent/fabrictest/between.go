package fabrictest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// MethodTCP is the method of a test by streams of TCP.
const MethodTCP = "tcp"

const (
	// DefaultSeconds is how long a test sends where nobody says.
	DefaultSeconds = 5
	// streams is how many connections send at once: one is bound by one processor
	// at each end.
	streams = 4
	// goodShare is the share of the expected that is good enough. TCP spends
	// processors, so it stays below what a fast port carries; a cable, a switch
	// or a route that is wrong shows as much less than half.
	goodShare = .5
)

// ErrNoRoute says that the two nodes have no way to each other that can be tested.
var ErrNoRoute = errors.New("fabrictest: there is no way between the two nodes")

// Asker asks agents. *hub.Hub is one.
type Asker interface {
	// Ask puts one question to a node's agent, decodes its answer into out, and
	// waits about as long as within.
	Ask(ctx context.Context, node inventory.NodeID, kind protocol.AskKind, args any, within time.Duration, out any) error
}

// Question is what is to be measured: from From, which sends, to To.
type Question struct {
	From, To *inventory.Node
	// Fabric is a declared name or the identity of a physical network. Empty: the
	// way between the management addresses.
	Fabric string
	// Seconds is how long is sent. Zero: DefaultSeconds.
	Seconds int
}

// Outcome is what was measured.
type Outcome struct {
	Method string
	Gbps   float64
	// P50US and P99US are microseconds of an echo, both ways.
	P50US, P99US float64
	// ExpectedGbps is the rate of the slower port. Zero: nobody knows it.
	ExpectedGbps float64
	// OK says that what was measured is at least half of the expected; where that
	// is unknown, that bytes went both ways.
	OK bool
	// Text says it in a sentence.
	Text string
}

// Between has two nodes test the network between them. Errors match ErrNoRoute or
// are the asker's.
func Between(ctx context.Context, a Asker, q Question) (Outcome, error) {
	if q.Seconds == 0 {
		q.Seconds = DefaultSeconds
	}
	w, err := find(q)
	if err != nil {
		return Outcome{}, err
	}
	args := protocol.FabricTestArgs{
		Role: protocol.FabricTestListen, Secret: rand.Text(), Address: w.address, Interface: w.to, Streams: streams, Seconds: q.Seconds,
	}
	within := time.Duration(q.Seconds)*time.Second + protocol.FabricTestSlack
	var at, got protocol.FabricTestReport
	// The end that listens answers at once and goes on; it has the time that the
	// other needs to be asked, beside that of the test.
	if err := a.Ask(ctx, q.To.ID, protocol.AskFabricTest, args, within+protocol.FabricTestSlack, &at); err != nil {
		return Outcome{}, err
	}
	args.Role, args.Address, args.Port, args.Interface = protocol.FabricTestDial, at.Address, at.Port, w.from
	if err := a.Ask(ctx, q.From.ID, protocol.AskFabricTest, args, within, &got); err != nil {
		return Outcome{}, err
	}
	return judge(q, w, got), nil
}

// way is how two nodes reach each other.
type way struct {
	// from and to are network devices. Empty: whatever leads to the address.
	from, to string
	// address is To's own. Empty: the one of its device.
	address  string
	expected float64
}

// find is the way to test.
func find(q Question) (way, error) {
	if q.Fabric == "" {
		if q.To.Facts.MgmtAddr == "" {
			return way{}, fmt.Errorf("%w: node %s has not said its management address; name a fabric", ErrNoRoute, q.To.ID)
		}
		return way{address: q.To.Facts.MgmtAddr}, nil
	}
	from, err := portOf(q.From, q.Fabric)
	if err != nil {
		return way{}, err
	}
	to, err := portOf(q.To, q.Fabric)
	if err != nil {
		return way{}, err
	}
	return way{from: from.Interface, to: to.Interface, expected: float64(min(from.RateGbps, to.RateGbps))}, nil
}

// portOf is the first active port of a node on a fabric that speaks IP.
func portOf(n *inventory.Node, fabric string) (*inventory.Port, error) {
	on := false
	for i := range n.Facts.Ports {
		p := &n.Facts.Ports[i]
		if !p.Active || p.Fabric != fabric && p.Physical != fabric {
			continue
		}
		on = true
		if p.Interface != "" {
			return p, nil
		}
	}
	if on {
		return nil, fmt.Errorf("%w: no port of node %s on fabric %q has a network device, so TCP cannot be tested there", ErrNoRoute, n.ID, fabric)
	}
	return nil, fmt.Errorf("%w: node %s has no active port on fabric %q; look at its ports with ctl nodes get %s", ErrNoRoute, n.ID, fabric, n.ID)
}

// judge says what was measured, and whether that is good.
func judge(q Question, w way, r protocol.FabricTestReport) Outcome {
	o := Outcome{Method: MethodTCP, P50US: max(0, r.P50US), P99US: max(0, r.P99US), ExpectedGbps: w.expected}
	if r.TookUS > 0 && r.Bytes > 0 {
		o.Gbps = float64(r.Bytes) * 8 / float64(r.TookUS) / 1e3
	}
	o.OK = o.Gbps > 0 && o.Gbps >= goodShare*o.ExpectedGbps
	o.Text = fmt.Sprintf("%d streams of TCP carried %.2f Gbit/s from %s to %s, and half of the echoes took less than %.0f µs", streams, o.Gbps, q.From.ID, q.To.ID, o.P50US)
	switch {
	case o.Gbps == 0:
		o.Text = fmt.Sprintf("nothing went from %s to %s; ask again", q.From.ID, q.To.ID)
	case o.ExpectedGbps == 0:
		o.Text += "; nobody knows how much it should be"
	case o.OK:
		o.Text += fmt.Sprintf("; the slower port has %.0f Gbit/s, and half of that by TCP is good", o.ExpectedGbps)
	default:
		o.Text += fmt.Sprintf("; the slower port has %.0f Gbit/s, and less than half of that is too little: look at cables, errors of the ports, and the load of both machines", o.ExpectedGbps)
	}
	return o
}
