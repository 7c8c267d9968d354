package fabrictest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

const secret = "a secret of this one test"

// agents are the two ends, asked as a hub asks them: the one that listens goes on
// after its answer.
type agents struct {
	t    *testing.T
	ends map[inventory.NodeID]*Tester
	// change spoils what the end that dials is asked.
	change func(*protocol.FabricTestArgs)
	asked  []inventory.NodeID
}

func (a *agents) Ask(ctx context.Context, node inventory.NodeID, k protocol.AskKind, in any, within time.Duration, out any) error {
	args, ok := in.(protocol.FabricTestArgs)
	if !ok || k != protocol.AskFabricTest || within < time.Second {
		a.t.Fatalf("asked %s for %s with %T in %s", node, k, in, within)
	}
	a.asked = append(a.asked, node)
	var r protocol.FabricTestReport
	if args.Role == protocol.FabricTestListen {
		l, err := a.ends[node].Listen(args)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		done := make(chan struct{})
		a.t.Cleanup(func() { cancel(); <-done })
		go func() {
			defer close(done)
			_ = l.Serve(ctx)
		}()
		r = l.Report()
	} else {
		if a.change != nil {
			a.change(&args)
		}
		var err error
		if r, err = a.ends[node].Dial(ctx, args); err != nil {
			return err
		}
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, out)
}

func pair(t *testing.T) (*agents, Question) {
	t.Helper()
	on := func(id inventory.NodeID) *inventory.Node {
		return &inventory.Node{ID: id, Facts: inventory.Facts{MgmtAddr: "127.0.0.1"}}
	}
	return &agents{t: t, ends: map[inventory.NodeID]*Tester{"a": {}, "b": {}}}, Question{From: on("a"), To: on("b"), Seconds: 1}
}

func TestTwoNodesMeasureWhatIsBetweenThem(t *testing.T) {
	t.Parallel()
	a, q := pair(t)
	o, err := Between(t.Context(), a, q)
	if err != nil {
		t.Fatal(err)
	}
	if !o.OK || o.Gbps <= 0 || o.P50US <= 0 || o.P99US < o.P50US || o.Method != MethodTCP || !strings.Contains(o.Text, "from a to b") {
		t.Errorf("got %+v", o)
	}
	if len(a.asked) != 2 || a.asked[0] != "b" || a.asked[1] != "a" {
		t.Errorf("want b to listen before a dials, got %v", a.asked)
	}
	t.Log(o.Text)
}

func TestWithoutTheSecretNothingIsMeasured(t *testing.T) {
	t.Parallel()
	a, q := pair(t)
	a.change = func(args *protocol.FabricTestArgs) { args.Secret = "another secret altogether" }
	if o, err := Between(t.Context(), a, q); !errors.Is(err, ErrStranger) {
		t.Errorf("want %v, got %+v, %v", ErrStranger, o, err)
	}
}

// Who answers on a port need not be the other end.
func TestTheListeningEndProvesItselfToo(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer ours.Close()
	go func() {
		defer theirs.Close()
		in := make([]byte, 1+nonceSize+32)
		_, _ = theirs.Write(nonce())
		_, _ = io.ReadFull(theirs, in)
		_, _ = theirs.Write(in[1+nonceSize:]) // our own proof, sent back
	}()
	if err := introduce(ours, secret, kindBulk); !errors.Is(err, ErrStranger) {
		t.Errorf("want %v, got %v", ErrStranger, err)
	}
}

func TestStrangersDoNotSpoilATest(t *testing.T) {
	t.Parallel()
	a, q := pair(t)
	a.change = func(args *protocol.FabricTestArgs) {
		for range strangers {
			c, err := net.Dial("tcp", hostPort(args.Address, args.Port))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			_, _ = io.WriteString(c, strings.Repeat("GET / HTTP/1.1\r\n", 8))
		}
	}
	if o, err := Between(t.Context(), a, q); err != nil || o.Gbps <= 0 {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestANodeIsInOneTestAtATime(t *testing.T) {
	t.Parallel()
	var end Tester
	args := protocol.FabricTestArgs{Secret: secret, Address: "127.0.0.1", Port: protocol.FabricTestPortMin, Streams: 1, Seconds: 1}
	l, err := end.Listen(args)
	if err != nil {
		t.Fatal(err)
	}
	if at := l.Report(); at.Port < protocol.FabricTestPortMin || at.Port > protocol.FabricTestPortMax {
		t.Errorf("it listens on %d", at.Port)
	}
	other := args
	other.Secret = "a secret of another test"
	if _, err := end.Listen(other); !errors.Is(err, ErrBusy) {
		t.Errorf("a second one that listens: want %v, got %v", ErrBusy, err)
	}
	if _, err := end.Dial(t.Context(), other); !errors.Is(err, ErrBusy) {
		t.Errorf("a second one that dials: want %v, got %v", ErrBusy, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Serve(ctx); err == nil {
		t.Error("a test that nobody came to is no success")
	}
	again, err := end.Listen(args)
	if err != nil {
		t.Fatalf("after the first is over: %v", err)
	}
	again.Close()
}

func TestWhatIsAskedIsBounded(t *testing.T) {
	t.Parallel()
	good := protocol.FabricTestArgs{Secret: secret, Address: "127.0.0.1", Port: protocol.FabricTestPortMin, Streams: 1, Seconds: 1}
	for name, c := range map[string]struct {
		change func(*protocol.FabricTestArgs)
		dial   bool // else it listens
		want   string
	}{
		"no secret":         {change: func(a *protocol.FabricTestArgs) { a.Secret = "" }, want: "secret"},
		"too long":          {change: func(a *protocol.FabricTestArgs) { a.Seconds = 31 }, want: "seconds"},
		"too wide":          {change: func(a *protocol.FabricTestArgs) { a.Streams = 17 }, want: "streams"},
		"every address":     {change: func(a *protocol.FabricTestArgs) { a.Address = "0.0.0.0" }, want: "address of this node"},
		"no such device":    {change: func(a *protocol.FabricTestArgs) { a.Interface = "none9" }, want: "none9"},
		"another port":      {dial: true, change: func(a *protocol.FabricTestArgs) { a.Port = 22 }, want: "not to 22"},
		"a name":            {dial: true, change: func(a *protocol.FabricTestArgs) { a.Address = "example.org" }, want: "address of the other end"},
		"no device to dial": {dial: true, change: func(a *protocol.FabricTestArgs) { a.Interface = "none9" }, want: "none9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var end Tester
			args := good
			c.change(&args)
			var err error
			if c.dial {
				_, err = end.Dial(t.Context(), args)
			} else {
				_, err = end.Listen(args)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
				t.Errorf("want %q, got %v", c.want, err)
			}
		})
	}
}

func TestTheWayAndTheJudgement(t *testing.T) {
	t.Parallel()
	node := func(ports ...inventory.Port) *inventory.Node {
		return &inventory.Node{ID: "n", Facts: inventory.Facts{Ports: ports}}
	}
	fast := inventory.Port{Active: true, Fabric: "ib0", Physical: "roce:10.1.2.0/24", Interface: "eth2", RateGbps: 400}
	slow, down, bare := fast, fast, fast
	slow.RateGbps, down.Active, bare.Interface = 100, false, ""
	for name, c := range map[string]struct {
		q    Question
		want way
		no   string
	}{
		"no address":        {q: Question{From: node(), To: node()}, no: "management address"},
		"the slower counts": {q: Question{From: node(down, fast), To: node(slow), Fabric: "ib0"}, want: way{from: "eth2", to: "eth2", expected: 100}},
		"by identity":       {q: Question{From: node(fast), To: node(fast), Fabric: "roce:10.1.2.0/24"}, want: way{from: "eth2", to: "eth2", expected: 400}},
		"down":              {q: Question{From: node(down), To: node(fast), Fabric: "ib0"}, no: "no active port"},
		"no device":         {q: Question{From: node(fast), To: node(bare), Fabric: "ib0"}, no: "no port of node n"},
	} {
		got, err := find(c.q)
		if got != c.want || (c.no != "") != errors.Is(err, ErrNoRoute) || c.no != "" && !strings.Contains(err.Error(), c.no) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	q := Question{From: node(), To: node()}
	for gbps, good := range map[int64]bool{0: false, 49: false, 50: true, 100: true} {
		o := judge(q, way{expected: 100}, protocol.FabricTestReport{Bytes: gbps * 1e9 / 8, TookUS: 1e6})
		if o.OK != good || o.Gbps != float64(gbps) || o.Text == "" {
			t.Errorf("%d of 100: got %+v", gbps, o)
		}
	}
	if o := judge(q, way{}, protocol.FabricTestReport{Bytes: 1, TookUS: 1}); !o.OK || !strings.Contains(o.Text, "nobody knows") {
		t.Errorf("without an expectation: got %+v", o)
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	var of []time.Duration
	for i := range 100 {
		of = append(of, time.Duration(100-i))
	}
	for p, want := range map[float64]time.Duration{0: 1, .5: 50, .99: 99, 1: 100} {
		if got := percentile(of, p); got != want {
			t.Errorf("%v: want %d, got %d", p, want, got)
		}
	}
	if percentile(nil, .5) != 0 {
		t.Error("none has one")
	}
}
