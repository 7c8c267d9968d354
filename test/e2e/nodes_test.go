//go:build e2e && unix

package e2e

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"llmgw.io/llmgw/adminapi/view"
)

// TestDrainNode empties a node while it answers: the stream goes to its end, the
// model moves, and the node can be removed and come back as another.
func TestDrainNode(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	a := p.startNode("a", "")
	p.add(simModel("m", scaling(1, 1), "--say", "word", "--output-tokens", "400", "--inter-token-latency", "20ms"))
	p.untilReady("m", 1)
	b := p.startNode("b", "")
	body := say("m", "hello")
	body.MaxTokens = 0
	st := p.client().mustStream(t, body)
	st.next()
	if _, err := p.admin.SetNodeState(t.Context(), "a", view.NodeStateRequest{State: "drain", Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	until(t, "the model is ready on the other node", soon, func() (bool, any) {
		rs := p.replicas("m")
		return slices.ContainsFunc(rs, func(r view.Replica) bool { return r.State == "ready" && r.Shards[0].Node == "b" }), rs
	})
	if err := st.rest(); err != nil || strings.Count(st.text.String(), "word") != 400 {
		t.Errorf("the stream of the draining node: %v after %d words", err, strings.Count(st.text.String(), "word"))
	}
	until(t, "the node is empty", soon, func() (bool, any) { return len(a.engines()) == 0 && len(b.engines()) == 1, p.replicas("m") })
	if _, err := p.admin.RemoveNode(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "stop its agent") {
		t.Errorf("a node that is heard is not removed: %v", err)
	}
	a.end(syscall.SIGTERM)
	p.untilNode("a", "lost")
	if _, err := p.admin.RemoveNode(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	a.start()
	until(t, "the agent is told", soon, func() (bool, any) {
		return strings.Contains(a.output(), "revoked") || strings.Contains(a.output(), "removed"), tail(a.output(), 5)
	})
	if _, err := p.admin.Node(t.Context(), "a"); err == nil {
		t.Error("the node that was removed is back without joining")
	}
	p.startNode("a", "")
	if r := p.client().chat(t, "m"); r.status != http.StatusOK {
		t.Errorf("after all that: %s", r)
	}
}

// TestSecondAgent: a second agent on one data folder waits for the first, which
// in an upgrade is just ending, and then gives up with a sentence.
func TestSecondAgent(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	n := p.startNode("n1", "")
	out, code := runProgram(t, nil, agentBin, n.args...)
	if code == 0 || !strings.Contains(out, "another agent works with") {
		t.Errorf("code %d: %s", code, out)
	}
}

// TestDevKilled kills the whole system of one machine at once: its engines end
// with it, and the next start serves again, once.
func TestDevKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startDev(t, dir)
	p.add(simModel("m", scaling(2, 2)))
	p.untilReady("m", 2)
	for range 3 {
		p.kill()
		p.start()
		p.untilReady("m", 2)
		until(t, "there are two engines and one agent", soon, func() (bool, any) {
			agents := 0
			for _, r := range processes() {
				if strings.Contains(r.command, "run --control") && strings.Contains(r.command, dir) {
					agents++
				}
			}
			return len(enginesIn(dir)) == 2 && agents == 1, enginesIn(dir)
		})
		if r := p.client().chat(t, "m"); r.status != http.StatusOK {
			t.Errorf("after a kill: %s", r)
		}
	}
}
