package hub_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/agenttest"
	"llmgw.io/llmgw/agent/hub"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/agent/uplink"
	"llmgw.io/llmgw/internal/pki"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

func TestMain(m *testing.M) {
	agenttest.RunToy()
	os.Exit(m.Run())
}

func (w *world) join(dir, node string) {
	w.t.Helper()
	err := uplink.Join(w.t.Context(), uplink.JoinConfig{
		Control: []string{w.addr}, Token: w.enr.token(w.t, w.ca).Reveal(), Node: node, DataDir: dir,
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestWhole joins a machine, dispatches a replica to it, and sees its engine
// serve: a real agent and a real process, over real TLS.
func TestWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hub.Limits{})
	dir := t.TempDir()
	w.join(dir, "n1")
	client, err := uplink.New(uplink.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(agent.Config{
		Node: client.Node(), Control: client, Prober: &agenttest.Prober{}, Engines: []agent.Engine{&agenttest.Toy{}},
		DataDir: dir, MgmtAddr: "127.0.0.1", CgroupParent: "none", PortMin: 29000, PortMax: 29099,
		Times: agent.Times{Beat: 50 * time.Millisecond, Ready: 10 * time.Millisecond, Look: 10 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	order := func(list ...reconciler.Replica) {
		if err := w.hub.Dispatch(ctx, 1, list); err != nil {
			t.Fatal(err)
		}
	}
	order(replica("m-1", reconciler.Run, "n1"))
	r := replica("m-1", reconciler.Run, "n1")
	r.Source = ""
	order(r)
	until(t, func() bool { return w.reg.shard("n1", "m-1.0").State == inventory.ShardReady })
	address := w.reg.shard("n1", "m-1.0").Address
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/ready", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer key-of-m-1")
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the engine at %s: %v %v", address, resp, err)
	}
	_ = resp.Body.Close()
	log, err := w.hub.Logs(ctx, "n1", protocol.LogsArgs{Shard: "m-1.0", Tail: 5})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(log); err != nil || !strings.Contains(string(text), "toy engine at "+address) {
		t.Errorf("log %q, %v", text, err)
	}
	_ = log.Close()
	if _, err := w.hub.Logs(ctx, "n1", protocol.LogsArgs{}); !errors.Is(err, hub.ErrNoLog) || !strings.Contains(err.Error(), "journalctl") {
		t.Errorf("the agent's own log: %v", err)
	}
	followed, err := w.hub.Logs(ctx, "n1", protocol.LogsArgs{Shard: "m-1.0", Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := followed.Read(make([]byte, 10)); err != nil {
		t.Error(err)
	}
	_ = followed.Close()
	// More readers of a quiet log than an agent serves at once, one after another: an
	// agent that did not hear of their leaving would refuse the last ones.
	for range 20 {
		quiet, err := w.hub.Logs(ctx, "n1", protocol.LogsArgs{Shard: "m-1.0", Tail: 1, Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := quiet.Read(make([]byte, 1000)); err != nil {
			t.Error(err)
		}
		_ = quiet.Close()
		until(t, func() bool { return readersOf(dir) == 0 })
	}
	order(replica("m-1", reconciler.Stop, "n1"))
	until(t, func() bool { return w.reg.shard("n1", "m-1.0").State == inventory.ShardStopped })
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// readersOf counts how often this process has logs of engines below a folder open.
// Where there is no /proc, it sees none.
func readersOf(dir string) (n int) {
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, l := range links {
		if at, err := os.Readlink(l); err == nil && strings.HasPrefix(at, dir) && filepath.Base(at) == "engine.log" {
			n++
		}
	}
	return n
}

func TestJoinRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hub.Limits{Joins: 1000})
	dir := t.TempDir()
	w.join(dir, "n1")
	info, err := os.Stat(filepath.Join(dir, "identity.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the identity: %v, %v", info, err)
	}
	foreign, err := pki.NewCA("test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	used := w.enr.token(t, w.ca)
	w.enr.mu.Lock()
	w.enr.tokens[used.ID()] = "used"
	w.enr.mu.Unlock()
	good := w.enr.token(t, w.ca).Reveal()
	tests := map[string]struct {
		cfg  uplink.JoinConfig
		says string
	}{
		"joined already":  {uplink.JoinConfig{Control: []string{w.addr}, Token: good, Node: "n2", DataDir: dir}, "has joined a cluster already"},
		"used token":      {uplink.JoinConfig{Control: []string{w.addr}, Token: used.Reveal(), Node: "n2", DataDir: t.TempDir()}, "used already"},
		"foreign cluster": {uplink.JoinConfig{Control: []string{w.addr}, Token: w.enr.token(t, foreign).Reveal(), Node: "n2", DataDir: t.TempDir()}, "check the address"},
		"nobody there":    {uplink.JoinConfig{Control: []string{"https://127.0.0.1:1"}, Token: good, Node: "n2", DataDir: t.TempDir()}, "no control plane"},
		"no https":        {uplink.JoinConfig{Control: []string{"http://h"}, Token: good, Node: "n2", DataDir: t.TempDir()}, "https://host:7443"},
		"half a token":    {uplink.JoinConfig{Control: []string{w.addr}, Token: good[:30], Node: "n2", DataDir: t.TempDir()}, "copy the whole line"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := uplink.Join(t.Context(), tt.cfg)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q in it", err, tt.says)
			}
			if tt.cfg.DataDir != dir {
				if _, err := uplink.New(uplink.Config{DataDir: tt.cfg.DataDir}); !errors.Is(err, uplink.ErrNotJoined) {
					t.Errorf("something was kept: %v", err)
				}
			}
		})
	}
}

// TestClientRenews begins with a certificate that is near its end: it must be
// another one soon, with another key, and the client must go on.
func TestClientRenews(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hub.Limits{})
	dir := t.TempDir()
	w.join(dir, "n1")
	path := filepath.Join(dir, "identity.json")
	var id map[string]any
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &id) != nil {
		t.Fatal(err)
	}
	key, csr, err := pki.NewRequest("n1")
	if err != nil {
		t.Fatal(err)
	}
	old, _, err := w.ca.SignNode(csr, "n1", time.Now().Add(-30*time.Hour), 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	// The hub has seen a later join of n1, which put older certificates out.
	w2 := newWorldWith(t, w.ca)
	id["certificate"], id["key"] = string(old), string(key)
	data, err = json.Marshal(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := uplink.New(uplink.Config{DataDir: dir, Control: []string{"https://127.0.0.1:1", w2.addr}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Beat(t.Context(), protocol.Beat{Node: "n1"}); err == nil {
		t.Error("nobody listens at the first address")
	}
	var refusal *protocol.Error
	if _, err := c.Beat(t.Context(), protocol.Beat{Node: "n1"}); !errors.As(err, &refusal) || refusal.Code != protocol.CodeExpired {
		t.Errorf("an ended certificate: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _ = c.Run(ctx) }()
	until(t, func() bool {
		_, err := c.Beat(t.Context(), protocol.Beat{Node: "n1"})
		return err == nil
	})
	fresh, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(fresh), strings.TrimSpace(strings.ReplaceAll(string(key), "\n", `\n`))) {
		t.Errorf("the old key is kept: %v", err)
	}
}

// TestClientFollowsTheLeader knows one control plane, which does not lead.
func TestClientFollowsTheLeader(t *testing.T) {
	t.Parallel()
	follower := newWorld(t, hub.Limits{})
	leader := newWorldWith(t, follower.ca)
	dir := t.TempDir()
	leader.join(dir, "n1")
	if err := leader.hub.Dispatch(t.Context(), 5, nil); err != nil {
		t.Fatal(err)
	}
	follower.leader.Store(leader.addr)
	c, err := uplink.New(uplink.Config{DataDir: dir, Control: []string{follower.addr}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		d, err := c.Sync(t.Context(), protocol.Sync{Node: "n1"})
		if err != nil || d.Epoch != 5 {
			t.Errorf("got %+v, %v", d, err)
		}
	}
	follower.reg.mu.Lock()
	defer follower.reg.mu.Unlock()
	if len(follower.reg.reports) != 0 {
		t.Error("a control plane that does not lead took a poll")
	}
}
