//go:build unix

package e2e

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"llmgw.io/llmgw/adminapi/adminclient"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/internal/tinygguf"
)

// outside is an address of this machine that is not loopback.
func outside(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address but loopback, so no gate would be opened")
	return ""
}

// theGate is the pid of the one gate of a node; 0: there is none.
func (n *node) theGate() int {
	for pid, command := range n.engines() {
		if strings.Contains(command, "llmgw-gate ") || strings.Contains(command, " gate ") {
			return pid
		}
	}
	return 0
}

// TestGateBeforeLlama answers through the gate of a machine that routers reach at
// an address of its own, with a real engine, which nobody else can speak to.
func TestGateBeforeLlama(t *testing.T) {
	t.Parallel()
	needLlamaServer(t)
	at := outside(t)
	p := startServe(t)
	p.startNodeAt("far", "", at)
	p.add(catalog.Model{
		Name: "tiny", Source: "file://" + gguf(t, tinygguf.Options{}),
		Profiles: []catalog.Profile{{Name: "cpu", Engine: catalog.EngineLlamaCPP, Context: 512, Slots: 2}},
	})
	p.untilReady("tiny", 1)
	if r := p.client().chat(t, "tiny"); r.status != http.StatusOK {
		t.Errorf("through the gate: %s", r)
	}
	st := p.client().mustStream(t, say("tiny", "hello there"))
	if err := st.rest(); err != nil || st.text.Len() == 0 {
		t.Errorf("a stream through the gate: %q, %v", st.text.String(), err)
	}
	r := p.replicas("tiny")[0]
	host, _, err := net.SplitHostPort(strings.TrimPrefix(r.Endpoint, "http://"))
	if err != nil || host != at {
		t.Fatalf("the replica is at %q", r.Endpoint)
	}
	endpoint := strings.TrimPrefix(r.Endpoint, "http://")
	plain := client{base: "http://" + endpoint, key: r.EngineKey}
	if got, err := plain.ask(t.Context(), http.MethodPost, "/v1/chat/completions", say("tiny", "x")); err == nil && got.status == http.StatusOK {
		t.Errorf("without TLS: %s", got)
	}
	nobody := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // it is to be refused
	if got, err := nobody.Get("https://" + endpoint + "/health"); err == nil {
		got.Body.Close()
		t.Errorf("without a certificate: %s", got.Status)
	}
}

// TestGateKilled keeps a stream through a gate while its agent is killed, and has
// another gate where the gate itself is killed.
func TestGateKilled(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	n := p.startNodeAt("far", "", outside(t))
	p.add(simModel("m", scaling(1, 1), "--say", "word", "--output-tokens", "1000", "--inter-token-latency", "10ms"))
	p.untilReady("m", 1)
	gate, before := n.theGate(), n.pids()
	body := say("m", "hello")
	body.MaxTokens = 0
	st := p.client().mustStream(t, body)
	var read sync.WaitGroup
	var broken, cut error
	read.Go(func() { broken = st.rest() })
	if _, err := p.admin.NodeLogs(t.Context(), "far", adminclient.LogRequest{Shard: "nosuch-1.0"}); err == nil || !strings.Contains(err.Error(), "404") && !strings.Contains(err.Error(), "no log of shard") {
		t.Errorf("a log that nobody has: %v", err)
	}
	none := 0
	log, err := p.admin.NodeLogs(t.Context(), "far", adminclient.LogRequest{Shard: p.replicas("m")[0].Shards[0].ID, Tail: &none, Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	read.Go(func() { _, cut = io.Copy(io.Discard, log) })
	for range 3 {
		n.kill()
		n.start()
		until(t, "the new agent says that the engine is ready", soon, func() (bool, any) {
			return strings.Contains(n.output(), `"adopted":true`), n.output()
		})
	}
	read.Wait()
	if cut == nil {
		t.Error("a log whose agent was killed looks whole")
	}
	if broken != nil || strings.Count(st.text.String(), "word") != 1000 {
		t.Errorf("the stream broke after %d words: %v", strings.Count(st.text.String(), "word"), broken)
	}
	p.untilReady("m", 1)
	if now := n.pids(); len(now) != 2 || now[0] != before[0] || now[1] != before[1] {
		t.Errorf("engine and gate were %v and are %v", before, now)
	}
	if err := syscall.Kill(gate, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "another gate serves", soon, func() (bool, any) {
		st, err := p.client().stream(t.Context(), say("m", "again"))
		if err != nil {
			return false, err
		}
		st.close()
		return n.theGate() != gate, n.theGate()
	})
	n.end(syscall.SIGTERM)
	if left := n.engines(); len(left) > 0 {
		t.Errorf("the agent has ended and left %v", left)
	}
}

// TestRemovedNode removes a machine whose agent is dead while its engine and its
// gate go on: the stream through that gate ends with the removal, the next request
// goes elsewhere, and the agent that comes back says what happened and what to do.
func TestRemovedNode(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "llmgw.yaml")
	if err := os.WriteFile(config, []byte("limits: {node_unreachable: 8s, node_lost: 16s}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startServe(t, "--config", config)
	a := p.startNodeAt("a", "", outside(t))
	p.add(simModel("m", scaling(1, 1), "--say", "word", "--output-tokens", "100000", "--inter-token-latency", "20ms"))
	p.untilReady("m", 1)
	gate := a.theGate()
	body := say("m", "hello")
	body.MaxTokens = 0
	st := p.client().mustStream(t, body)
	a.kill()
	p.startNode("b", "") // at another address: nobody may call another's his own
	p.untilNode("a", "lost")
	until(t, "the model is ready on the other node", soon, func() (bool, any) {
		rs := p.replicas("m")
		return slices.ContainsFunc(rs, func(r view.Replica) bool { return r.State == "ready" && r.Shards[0].Node == "b" }), rs
	})
	if !st.next() || st.failed != "" || !alive(gate) {
		t.Fatalf("the stream is gone before the node is: %q", st.failed)
	}
	if _, err := p.admin.RemoveNode(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	err := st.rest()
	if !strings.Contains(st.failed, "removed from the cluster") || st.done || !alive(gate) {
		t.Errorf("the stream ended with %v, %q, done %v; the gate lives: %v", err, st.failed, st.done, alive(gate))
	}
	if row := p.untilRow(st.resp.Header.Get("X-Request-Id")); row.Status != http.StatusOK || row.CompletionTokens == 0 || row.Outcome != "upstream_aborted" {
		t.Errorf("its row is %+v", row)
	}
	short := say("m", "again")
	short.MaxTokens = 2
	if r := p.client().must(t, http.MethodPost, "/v1/chat/completions", short); r.status != http.StatusOK {
		t.Errorf("afterwards: %s", r)
	}
	a.start()
	until(t, "the agent says what happened, and the gate is shut", soon, func() (bool, any) {
		return strings.Contains(a.output(), "llmgw-agent join --again") && !alive(gate), tail(a.output(), 3)
	})
	if out, code := p.join("a", a.dir, p.joinToken()); code == 0 || !strings.Contains(out, "again") {
		t.Errorf("it joins without saying that it means it: %d %s", code, out)
	}
	a.kill() // its engine goes on
	if out, code := p.join("a", a.dir, p.joinToken(), "--again"); code != 0 {
		t.Fatalf("it does not join again: %s", out)
	}
	a.start()
	p.untilNode("a", "ready")
	until(t, "what nobody wants there any more is stopped", soon, func() (bool, any) { return len(a.engines()) == 0, a.engines() })
}
