//go:build e2e && unix

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/catalog"
)

func scaleTo(n int) view.ScaleRequest { return view.ScaleRequest{Min: n} }

// TestControlAway: a control plane that is away for longer than nodes take to be
// lost stops no engine, and finds all of them when it is back.
func TestControlAway(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	n := p.startNode("n1", "")
	p.add(simModel("m", scaling(3, 3)))
	p.untilReady("m", 3)
	before, names := n.pids(), replicaIDs(p.replicas("m"))
	p.kill()
	throughout(t, "engines run on without a control plane", 30*time.Second, func() (bool, any) {
		return slices.Equal(n.pids(), before), n.pids()
	})
	p.start()
	p.untilNode("n1", "ready")
	p.untilReady("m", 3)
	throughout(t, "every engine is adopted", 10*time.Second, func() (bool, any) {
		return slices.Equal(n.pids(), before), n.pids()
	})
	if got := replicaIDs(p.replicas("m")); got != names {
		t.Errorf("replicas before: %s, after: %s", names, got)
	}
	if r := p.client().chat(t, "m"); r.status != http.StatusOK {
		t.Errorf("after the outage: %s", r)
	}
}

func replicaIDs(rs []view.Replica) string {
	var out []string
	for _, r := range rs {
		out = append(out, r.ID)
	}
	return strings.Join(out, " ")
}

// TestControlKilledWhileWriting kills the control plane over and over while
// definitions change: what was answered is kept, and nothing runs twice.
func TestControlKilledWhileWriting(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	n := p.startNode("n1", "")
	p.add(simModel("m", scaling(1, 1)))
	p.untilReady("m", 1)

	for round := range 20 {
		var wg sync.WaitGroup
		var last atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				n := 1 + (round+i)%4
				if _, err := p.admin.ScaleModel(ctx, "m", scaleTo(n)); err == nil {
					last.Store(int64(n))
				}
			}
		})
		until(t, "a change was made", soon, func() (bool, any) { return last.Load() > 0, nil })
		p.kill()
		cancel()
		wg.Wait()
		want := int(last.Load())
		p.start()
		m, ok := p.model("m")
		// One more may have been kept whose answer was lost.
		if next := want%4 + 1; !ok || m.MinReplicas != want && m.MinReplicas != next {
			t.Fatalf("round %d: the last answer was %d, and the store has %+v", round, want, m)
		}
	}
	if _, err := p.admin.ScaleModel(t.Context(), "m", scaleTo(2)); err != nil {
		t.Fatal(err)
	}
	p.untilReady("m", 2)
	until(t, "two engines run", soon, func() (bool, any) { return len(n.engines()) == 2, n.engines() })
	if check, err := p.admin.VerifyAudit(t.Context()); err != nil || !check.OK {
		t.Errorf("the audit after all that: %+v, %v", check, err)
	}
}

// TestAgentKilled kills the agent twenty times: its engine is adopted each time,
// the stream through it goes on, and no process is left over.
func TestAgentKilled(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	n := p.startNode("n1", "")
	p.add(simModel("m", scaling(1, 1), "--say", "word", "--output-tokens", "3000", "--inter-token-latency", "20ms"))
	p.untilReady("m", 1)
	pid := n.theEngine()
	body := say("m", "hello")
	body.MaxTokens = 0
	st := p.client().mustStream(t, body)
	var read sync.WaitGroup
	var broken error
	read.Go(func() { broken = st.rest() })
	for range 20 {
		n.kill()
		n.start()
		until(t, "the new agent says that the engine is ready", soon, func() (bool, any) {
			return strings.Contains(n.output(), `"adopted":true`), n.output()
		})
	}
	read.Wait()
	if broken != nil || strings.Count(st.text.String(), "word") != 3000 {
		t.Errorf("the stream broke after %d words: %v", strings.Count(st.text.String(), "word"), broken)
	}
	p.untilReady("m", 1)
	if got := n.theEngine(); got != pid {
		t.Errorf("the engine had pid %d and has %d", pid, got)
	}
}

// TestAgentKilledInBetween kills the agent while its engine starts and while it
// drains: the engine that starts is adopted, the stream goes on to its end, and
// then the old engine is stopped by an agent that did not start it.
func TestAgentKilledInBetween(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	n := p.startNode("n1", "")
	p.add(simModel("m", scaling(1, 1), "--startup-duration", "4s", "--say", "word", "--output-tokens", "500", "--inter-token-latency", "20ms"))
	until(t, "an engine starts", soon, func() (bool, any) { return len(n.engines()) == 1, n.engines() })
	first := n.theEngine()
	n.kill()
	n.start()
	p.untilReady("m", 1)
	if got := n.theEngine(); got != first {
		t.Errorf("an engine that was starting had pid %d and was replaced by %d", first, got)
	}

	body := say("m", "hello")
	body.MaxTokens = 0
	st := p.client().mustStream(t, body)
	st.next()
	if _, err := p.admin.Restart(t.Context(), view.RestartRequest{Models: []string{"m"}}); err != nil {
		t.Fatal(err)
	}
	until(t, "the old one drains", soon, func() (bool, any) {
		rs := p.replicas("m")
		return slices.ContainsFunc(rs, func(r view.Replica) bool { return r.State == "draining" }), rs
	})
	n.kill()
	n.start()
	if err := st.rest(); err != nil || strings.Count(st.text.String(), "word") != 500 {
		t.Errorf("the stream of the draining engine: %v after %d words", err, strings.Count(st.text.String(), "word"))
	}
	p.untilReady("m", 1)
	until(t, "only the new engine runs", soon, func() (bool, any) { return len(n.engines()) == 1 && !alive(first), n.engines() })
}

// TestEngineKilled kills the engine at every stage: another takes its place, and
// never two.
func TestEngineKilled(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	n := p.startNode("n1", "")
	p.add(simModel("m", scaling(1, 1), "--startup-duration", "3s", "--say", "word", "--output-tokens", "2000", "--inter-token-latency", "10ms"))

	// While it starts.
	until(t, "an engine starts", soon, func() (bool, any) { return len(n.engines()) == 1, n.engines() })
	first := n.theEngine()
	kill9(t, first)
	p.untilReady("m", 1)
	second := n.theEngine()
	if second == first {
		t.Fatal("the same pid twice")
	}
	if m, _ := p.model("m"); m.Failures == 0 || !strings.Contains(m.Reason, "killed") {
		t.Errorf("a kill in the start counts, and the reason says so: %+v", m)
	}

	// While a stream is in flight: the client learns it, and the next start waits
	// no longer than its back-off.
	body := say("m", "hello")
	body.MaxTokens = 0
	st := p.client().mustStream(t, body)
	st.next()
	kill9(t, second)
	if err := st.rest(); err == nil {
		t.Error("the engine was killed, and the stream ended as if it were whole")
	}
	row := p.untilRow(st.resp.Header.Get("X-Request-Id"))
	if row.Outcome != "upstream_aborted" && row.Outcome != "upstream_error" {
		t.Errorf("the row of a broken stream: %+v", row)
	}
	until(t, "another engine is ready", 2*soon, func() (bool, any) {
		m, _ := p.model("m")
		return m.ReadyReplicas == 1 && m.TotalReplicas == 1 && len(n.engines()) == 1, m
	})

	// While it drains.
	third := n.theEngine()
	st = p.client().mustStream(t, body)
	st.next()
	if _, err := p.admin.Restart(t.Context(), view.RestartRequest{Models: []string{"m"}}); err != nil {
		t.Fatal(err)
	}
	until(t, "the old one drains", soon, func() (bool, any) {
		rs := p.replicas("m")
		return slices.ContainsFunc(rs, func(r view.Replica) bool { return r.State == "draining" }), rs
	})
	if !alive(third) {
		t.Error("the old engine was stopped while it was answering")
	}
	kill9(t, third)
	if err := st.rest(); err == nil {
		t.Error("the draining engine was killed, and the stream ended as if it were whole")
	}
	p.untilReady("m", 1)
	throughout(t, "there is one engine", 3*time.Second, func() (bool, any) { return len(n.engines()) == 1, n.engines() })
}

// TestEngineHangs freezes an engine, which goes on listening: it is found out
// and replaced, and whoever asked it is answered by another.
func TestEngineHangs(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	n := p.startNode("n1", "")
	p.add(simModel("m", scaling(2, 2)))
	p.untilReady("m", 2)
	hung := n.pids()[0]
	if err := syscall.Kill(hung, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if r, err := p.client().ask(t.Context(), http.MethodPost, "/v1/chat/completions", say("m", "hello")); err != nil || r.status != http.StatusOK {
				t.Errorf("%s, %v", r, err)
			}
		})
	}
	until(t, "the engine that hangs is replaced", 8*soon, func() (bool, any) {
		m, _ := p.model("m")
		return !alive(hung) && m.ReadyReplicas == 2 && len(n.engines()) == 2, m
	})
	wg.Wait()
}

func kill9(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// TestAgentCutOff stops an agent without ending it: its node is unreachable, its
// engines answer, and when it goes on it is the same node with the same engine.
func TestAgentCutOff(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	n := p.startNode("n1", "")
	p.add(simModel("m", scaling(1, 1)))
	p.untilReady("m", 1)
	pid := n.theEngine()
	n.signal(syscall.SIGSTOP)
	until(t, "the node is unreachable", soon, func() (bool, any) {
		got, err := p.admin.Node(t.Context(), "n1")
		if r := p.client().chat(t, "m"); r.status != http.StatusOK {
			t.Fatalf("while the agent is cut off: %s", r)
		}
		return err == nil && got.State == "unreachable", got.State
	})
	for range 20 {
		if r := p.client().chat(t, "m"); r.status != http.StatusOK {
			t.Fatalf("on an unreachable node: %s", r)
		}
	}
	n.signal(syscall.SIGCONT)
	p.untilNode("n1", "ready")
	p.untilReady("m", 1)
	if got := n.theEngine(); got != pid {
		t.Errorf("the engine had pid %d and has %d", pid, got)
	}
}

// TestNodeLost: a node that stays away is lost and its replica is placed on
// another; when it comes back, the superfluous engine is stopped.
func TestNodeLost(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	nodes := []*node{p.startNode("n1", ""), p.startNode("n2", ""), p.startNode("n3", "")}
	p.add(simModel("m", scaling(1, 1)))
	p.untilReady("m", 1)
	on := p.replicas("m")[0].Shards[0].Node
	i := slices.IndexFunc(nodes, func(n *node) bool { return n.name == on })
	n := nodes[i]
	n.signal(syscall.SIGSTOP)
	until(t, "the model runs elsewhere", 3*soon, func() (bool, any) {
		rs := p.replicas("m")
		return slices.ContainsFunc(rs, func(r view.Replica) bool { return r.State == "ready" && r.Shards[0].Node != on }), rs
	})
	if r := p.client().chat(t, "m"); r.status != http.StatusOK {
		t.Errorf("after the move: %s", r)
	}
	n.signal(syscall.SIGCONT)
	p.untilNode(on, "ready")
	until(t, "one engine is left", 2*soon, func() (bool, any) {
		all := 0
		for _, n := range nodes {
			all += len(n.engines())
		}
		return all == 1 && len(p.replicas("m")) == 1, p.replicas("m")
	})
}

// TestTenAtOnce starts ten replicas on a node at once: each has its own port.
func TestTenAtOnce(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	n := p.startNode("n1", "")
	p.add(simModel("m", scaling(10, 10)))
	p.untilReady("m", 10)
	ports := map[string]bool{}
	for _, command := range n.engines() {
		_, rest, _ := strings.Cut(command, "--port ")
		port, _, _ := strings.Cut(rest, " ")
		ports[port] = true
	}
	if len(ports) != 10 || len(n.engines()) != 10 {
		t.Errorf("want 10 engines on 10 ports, got %v", n.engines())
	}
	if m, _ := p.model("m"); m.Failures != 0 {
		t.Errorf("%+v", m)
	}
}

// TestCrashLoop: a model whose engine ends at its start is tried a bounded
// number of times under constant demand, and clients are told why.
func TestCrashLoop(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	n := p.startNode("n1", "")
	s := scaling(0, 1)
	p.add(simModel("m", s, "--start-exit-code", "1", "--start-error", "the weights are of another planet"))
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var refused sync.Map
	for range 10 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if r, err := p.client().ask(ctx, http.MethodPost, "/v1/chat/completions", say("m", "hello")); err == nil {
					refused.Store(r.status, r)
					time.Sleep(100 * time.Millisecond)
				}
			}
		})
	}
	until(t, "the model is parked", 4*soon, func() (bool, any) {
		m, _ := p.model("m")
		return m.Parked, m
	})
	until(t, "clients hear of it", soon, func() (bool, any) {
		r, ok := refused.Load(http.StatusServiceUnavailable)
		return ok && strings.Contains(fmt.Sprint(r), "parked"), r
	})
	starts := strings.Count(n.output(), `"engine started"`)
	if starts == 0 || starts > 5 {
		t.Errorf("the engine was started %d times, and 5 are allowed", starts)
	}
	throughout(t, "a parked model is not started", 10*time.Second, func() (bool, any) {
		return strings.Count(n.output(), `"engine started"`) == starts, n.output()
	})
	refused.Range(func(status, r any) bool {
		if status != http.StatusServiceUnavailable {
			t.Errorf("a client got %v", r)
		}
		return true
	})
	if m, _ := p.model("m"); !strings.Contains(m.Reason, "another planet") && !strings.Contains(m.Reason, "code 1") {
		t.Errorf("the reason: %q", m.Reason)
	}
	// A better definition starts afresh.
	if _, err := p.admin.PutModel(t.Context(), "m", simModel("m", s), ""); err != nil {
		t.Fatal(err)
	}
	until(t, "the mended model answers", soon, func() (bool, any) {
		r := p.client().chat(t, "m")
		return r.status == http.StatusOK, r
	})
}

// TestLongStreamOnDemand: a stream that is much longer than the idle timeout
// keeps its model, though nobody asks anew and its engine is one of two models'.
func TestLongStreamOnDemand(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	n := p.startNode("n1", "")
	s := scaling(0, 1)
	s.IdleTimeout = catalog.Duration(3 * time.Second)
	p.add(simModel("always", scaling(1, 1)))
	p.add(simModel("thinks", s, "--say", "hm", "--output-tokens", "60", "--inter-token-latency", "1s"))
	body := say("thinks", "hello")
	body.MaxTokens = 0
	if err := p.client().mustStream(t, body).rest(); err != nil {
		t.Fatalf("the model was stopped in the middle: %v", err)
	}
	until(t, "only the other model is left", soon, func() (bool, any) { return len(n.engines()) == 1, n.engines() })
	if m, _ := p.model("always"); m.ReadyReplicas != 1 {
		t.Errorf("the other model: %+v", m)
	}
}
