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
	// goodShareIB is that of ib_write_bw, which spends no processors: what headers take
	// is less, and a bus that is too narrow for its adapter shows.
	goodShareIB = .75
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
	// Fabric is a declared name or the identity of a physical network. Empty: an
	// InfiniBand fabric that both are on, where both have ib_write_bw; else the way
	// between the management addresses.
	Fabric string
	// Seconds is how long is sent. Zero: DefaultSeconds.
	Seconds int
}

// Outcome is what was measured.
type Outcome struct {
	Method string
	// Fabric is the one that was tested, where that was not the question's to say.
	Fabric string
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

// Between has two nodes test the network between them: by ib_write_bw where they share
// an InfiniBand fabric and both have it, else by TCP. Errors match ErrNoRoute or are
// the asker's.
func Between(ctx context.Context, a Asker, q Question) (Outcome, error) {
	if q.Seconds == 0 {
		q.Seconds = DefaultSeconds
	}
	secret, why := rand.Text(), ""
	p, shared := pairOf(q)
	if shared {
		why = unfit(q)
	}
	if shared && why == "" {
		gbps, err := byAdapters(ctx, a, q, p, secret)
		if err == nil {
			echoes, err := timed(ctx, a, q, secret)
			return judgeIB(q, p, gbps, echoes, err), nil
		}
		if ctx.Err() != nil {
			return Outcome{}, err
		}
		why = "ib_write_bw could not be used: " + err.Error()
	}
	if q.Fabric == "" {
		why = "" // nobody asked for a fabric
	}
	w, err := find(q)
	if err != nil {
		if why != "" {
			err = fmt.Errorf("%w; %s", err, why)
		}
		return Outcome{}, err
	}
	got, err := byTCP(ctx, a, q, w, secret, streams)
	if err != nil {
		return Outcome{}, err
	}
	o := judge(q, w, got)
	if why != "" {
		o.Text += "; " + why
	}
	return o, nil
}

// timed has echoes timed, by the network of the fabric where that speaks IP, else by
// the way between the management addresses.
func timed(ctx context.Context, a Asker, q Question, secret string) (protocol.FabricTestReport, error) {
	w, err := find(q)
	if err != nil {
		q.Fabric = ""
		w, err = find(q)
	}
	if err != nil {
		return protocol.FabricTestReport{}, err
	}
	q.Seconds = 1
	return byTCP(ctx, a, q, w, secret, 1)
}

// byTCP has a way tested by so many streams.
func byTCP(ctx context.Context, a Asker, q Question, w way, secret string, wide int) (got protocol.FabricTestReport, err error) {
	args := protocol.FabricTestArgs{
		Role: protocol.FabricTestListen, Secret: secret, Address: w.address, Interface: w.to, Streams: wide, Seconds: q.Seconds,
	}
	within := time.Duration(q.Seconds)*time.Second + protocol.FabricTestSlack
	var at protocol.FabricTestReport
	// The end that listens answers at once and goes on; it has the time that the
	// other needs to be asked, beside that of the test.
	if err := a.Ask(ctx, q.To.ID, protocol.AskFabricTest, args, within+protocol.FabricTestSlack, &at); err != nil {
		return got, err
	}
	args.Role, args.Address, args.Port, args.Interface = protocol.FabricTestDial, at.Address, at.Port, w.from
	return got, a.Ask(ctx, q.From.ID, protocol.AskFabricTest, args, within, &got)
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
