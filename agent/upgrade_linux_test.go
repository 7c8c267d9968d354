package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/agent/upgrade"
	"llmgw.io/llmgw/inventory"
)

// upgrader takes one version and refuses the others.
type upgrader struct {
	mu      sync.Mutex
	takes   string
	fails   int // how often Healthy fails
	healthy chan struct{}
}

func (u *upgrader) Upgrade(_ context.Context, version string) error {
	if version != u.takes {
		return errors.New(version + " is not newer; take another")
	}
	return nil
}

func (u *upgrader) Healthy() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.fails--; u.fails >= 0 {
		return errors.New("the disk is full")
	}
	close(u.healthy)
	return nil
}

func (u *upgrader) Status() *inventory.Upgrade {
	return &inventory.Upgrade{From: "v0.0.0", To: "v0.0.1", State: inventory.UpgradeFailed, Error: "it ended"}
}

func ask(p *plane, version string) {
	args, _ := json.Marshal(protocol.UpgradeArgs{Version: version})
	p.edit(func(d *protocol.Desired) {
		d.Asks = []protocol.Ask{{ID: "ask-" + version, Kind: protocol.AskUpgrade, Args: args}}
	})
}

// TestUpgradeLeavesEngines has an agent that would stop its engines at its end
// take another version: it answers, ends, and its engine is adopted as it was.
func TestUpgradeLeavesEngines(t *testing.T) {
	t.Parallel()
	p := newPlane()
	u := &upgrader{takes: "v0.0.2", fails: 2, healthy: make(chan struct{})}
	cfg := config(t, p)
	cfg.Upgrader, cfg.StopEngines, cfg.Version = u, true, "v0.0.1"
	a, err := agent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.Run(t.Context()) }()
	<-u.healthy // the control plane has answered, and what failed was tried again
	word := "upgraded-" + cfg.DataDir
	s := shardOf("m-1.0", map[string]string{"TOY_SAY": word, "TOY_CHILDREN": "1"})
	p.order(s)
	p.wait(t, s.Shard, inventory.ShardReady)
	until(t, "facts that say how the last one went", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.facts != nil && p.facts.Upgrade != nil && p.facts.Upgrade.Error == "it ended" && slices.Contains(p.facts.Features, "upgrade")
	})
	pids := processes(word)
	ask(p, "v0.0.0")
	if got := <-p.answers; got != "v0.0.0 is not newer; take another" {
		t.Errorf("a refusal: %q", got)
	}
	ask(p, "v0.0.2")
	if got := <-p.answers; !strings.Contains(got, `"from":"v0.0.1","to":"v0.0.2","last":{"from":"v0.0.0","to":"v0.0.1","state":"failed","error":"it ended"`) {
		t.Errorf("the answer: %q", got)
	}
	if err := <-ended; !errors.Is(err, upgrade.ErrTaken) {
		t.Errorf("Run: %v", err)
	}
	if got := processes(word); !slices.Equal(got, pids) || len(got) != 2 {
		t.Errorf("processes of the engine: %v before, %v after", pids, got)
	}
	cfg.StopEngines = false
	cfg.Upgrader = nil
	run(t, cfg)
	p.clear(t)
	until(t, "the engine is adopted", func() bool { return p.status(s.Shard).Adopted })
	if got := processes(word); !slices.Equal(got, pids) {
		t.Errorf("processes of the engine: %v before, %v adopted", pids, got)
	}
	ask(p, "v0.0.3")
	if got := <-p.answers; !strings.Contains(got, "does not upgrade itself") {
		t.Errorf("without an upgrader: %q", got)
	}
}
