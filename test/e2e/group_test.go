//go:build linux

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/agenttest"
	"llmgw.io/llmgw/agent/engines"
	"llmgw.io/llmgw/agent/uplink"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// startCards joins a machine that says it has a card, and a vLLM, which the simulated
// engine plays: the agent is the real one, in this process, so that it can be told.
func (p *plane) startCards(name string) (dir string) {
	p.t.Helper()
	dir = p.t.TempDir()
	if out, code := p.join(name, dir, p.joinToken()); code != 0 {
		p.t.Fatalf("join: %s", out)
	}
	program := filepath.Join(p.t.TempDir(), "vllm")
	if err := os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\nexec %s sim-engine --as vllm@0.24.0 \"$@\"\n", agentBin), 0o700); err != nil {
		p.t.Fatal(err)
	}
	client, err := uplink.New(uplink.Config{DataDir: dir})
	if err != nil {
		p.t.Fatal(err)
	}
	set := engines.New(engines.Config{VLLM: []string{program}})
	var from, to int
	if _, err := fmt.Sscanf(ports(), "ports: {min: %d, max: %d}", &from, &to); err != nil {
		p.t.Fatal(err)
	}
	a, err := agent.New(agent.Config{
		Node: client.Node(), Control: client, Engines: []agent.Engine{set.VLLM}, DataDir: dir, MgmtAddr: "127.0.0.1", CgroupParent: "none",
		PortMin: from, PortMax: to, StopEngines: true,
		Prober: &agenttest.Prober{FactsFunc: func(ctx context.Context) inventory.Facts {
			f := agenttest.DefaultFacts()
			f.Devices = []inventory.Device{{Index: 0, Card: 0, Class: "H100-80", MemoryMB: 81559, UUID: "GPU-" + name}}
			f.Engines = set.VLLM.Installed(ctx)
			return f
		}},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	p.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			p.t.Errorf("agent %s: %v", name, err)
		}
	})
	p.untilNode(name, "ready")
	return dir
}

// TestGroupRestartsWhole kills one rank of a model on two machines: the other ends
// with it, people are told one reason, and both come back together.
func TestGroupRestartsWhole(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	dirs := map[string]string{"g0": p.startCards("g0"), "g1": p.startCards("g1")}
	weights := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(weights, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.add(catalog.Model{
		Name: "big", Source: "file://" + weights, Scaling: scaling(1, 1),
		Profiles: []catalog.Profile{{Name: "two", Engine: catalog.EngineVLLM, Shards: 2, PipelineParallel: 2, GPU: &catalog.GPU{Count: 1}}},
	})
	p.untilReady("big", 1)
	if r := p.client().chat(t, "big"); r.status != http.StatusOK {
		t.Fatalf("before: %s", r)
	}
	first := p.replicas("big")[0]
	follower := slices.IndexFunc(first.Shards, func(s view.Shard) bool { return s.Rank == 1 })
	if len(first.Shards) != 2 || follower < 0 || first.Shards[0].Node == first.Shards[1].Node {
		t.Fatalf("want a rank on each machine, got %+v", first)
	}
	before := map[int]bool{}
	killed := 0
	for node, dir := range dirs {
		for pid, command := range enginesIn(dir) {
			before[pid] = true
			if node == first.Shards[follower].Node && strings.Contains(command, "--headless") {
				if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
					killed++
				}
			}
		}
	}
	if killed == 0 || len(before) < 2 {
		t.Fatalf("of %v there was no second rank to kill", before)
	}
	var reasons []string
	until(t, "another replica is ready", 2*soon, func() (bool, any) {
		m, _ := p.model("big")
		if m.Reason != "" && !slices.Contains(reasons, m.Reason) {
			reasons = append(reasons, m.Reason)
		}
		rs := p.replicas("big")
		return m.ReadyReplicas == 1 && len(rs) == 1 && rs[0].ID != first.ID, fmt.Sprint(m, rs)
	})
	if len(reasons) != 1 {
		t.Errorf("people are told %d reasons: %q", len(reasons), reasons)
	} else {
		t.Log(reasons[0])
	}
	for node, dir := range dirs {
		now := enginesIn(dir)
		for pid := range now {
			if before[pid] {
				t.Errorf("process %d of %s outlived its group", pid, node)
			}
		}
		if len(now) == 0 {
			t.Errorf("node %s has no rank", node)
		}
	}
	if r := p.client().chat(t, "big"); r.status != http.StatusOK {
		t.Errorf("afterwards: %s", r)
	}
}
