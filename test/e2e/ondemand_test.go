//go:build unix

package e2e

import (
	"net/http"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
)

// TestOnDemand: a request starts a model that does not run, waits for it and is
// answered; when nobody asks any more, the model is stopped, and never while a
// stream goes on.
func TestOnDemand(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	n := p.startNode("n1", "")
	const idle = 2 * time.Second
	s := scaling(0, 1)
	s.IdleTimeout = catalog.Duration(idle)
	p.add(simModel("cold", s, "--startup-duration", "500ms", "--say", "word", "--output-tokens", "60", "--inter-token-latency", "100ms"))
	if es := n.engines(); len(es) != 0 {
		t.Fatalf("nobody asked, and there are engines: %v", es)
	}

	// The stream goes on for three times the idle timeout.
	body := say("cold", "hello")
	body.MaxTokens = 0
	st := p.client().mustStream(t, body)
	if !st.next() {
		t.Fatal("the stream ended at once")
	}
	pid := n.theEngine()
	if err := st.rest(); err != nil {
		t.Fatalf("the model was stopped while it was answering: %v", err)
	}
	if !alive(pid) {
		t.Errorf("the engine was replaced while it was answering")
	}
	until(t, "the idle model is stopped", soon, func() (bool, any) {
		m, _ := p.model("cold")
		return len(n.engines()) == 0 && m.TotalReplicas == 0, m
	})
	if row := p.untilRow(st.resp.Header.Get("X-Request-Id")); row.QueueMS < 400 || row.Outcome != "ok" {
		t.Errorf("want a row that says how long the request waited for the start, got %+v", row)
	}

	body.MaxTokens = 3
	if r := p.client().must(t, http.MethodPost, "/v1/chat/completions", body); r.status != http.StatusOK {
		t.Errorf("the second cold start: %s", r)
	}
}
