package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/agenttest"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

func TestHungEngine(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := config(t, p)
	cfg.Times.Probe = 20 * time.Millisecond
	var hangs atomic.Bool
	cfg.Engines = []agent.Engine{&agenttest.Engine{ReadyFunc: func(ctx context.Context, _ protocol.Endpoint) error {
		if hangs.Load() {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}}}
	run(t, cfg)
	s := shardOf("m-1.0", nil)
	p.order(s)
	p.wait(t, s.Shard, inventory.ShardReady)
	hangs.Store(true)
	if st := p.wait(t, s.Shard, inventory.ShardFailed); st.Cause != string(protocol.CauseHung) {
		t.Errorf("got %+v", st)
	}
}

// A probe that gets no answer is over before the next one is due: else every
// second one would be left out, and a hung engine be kept twice as long.
func TestProbesDoNotOverlap(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := config(t, p)
	cfg.Times.Probe = time.Minute
	asked := make(chan time.Duration, 1)
	cfg.Engines = []agent.Engine{&agenttest.Engine{ReadyFunc: func(ctx context.Context, _ protocol.Endpoint) error {
		end, _ := ctx.Deadline()
		select {
		case asked <- time.Until(end):
		default:
		}
		return nil
	}}}
	run(t, cfg)
	p.clear(t)
	s := shardOf("m-1.0", nil)
	p.order(s)
	p.wait(t, s.Shard, inventory.ShardReady)
	// What is measured in between may keep the answer waiting for a while too.
	if limit := <-asked; limit > cfg.Times.Probe-10*time.Second {
		t.Errorf("a probe may take %s, and the next is due after %s", limit, cfg.Times.Probe)
	}
}

func TestStopWaitsForRequests(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := config(t, p)
	var running, asked atomic.Int64
	running.Store(1)
	cfg.Engines = []agent.Engine{&agenttest.Engine{UseFunc: func(context.Context, protocol.Endpoint) (protocol.Use, error) {
		asked.Add(1)
		return protocol.Use{Running: int(running.Load())}, nil
	}}}
	run(t, cfg)
	s := shardOf("m-1.0", nil)
	s.DrainTimeout = time.Hour
	p.order(s)
	p.wait(t, s.Shard, inventory.ShardReady)
	s.Want = protocol.WantStop
	p.order(s)
	p.wait(t, s.Shard, inventory.ShardDraining)
	n := asked.Load()
	until(t, "asked again and again", func() bool { return asked.Load() > n+10 })
	if st := p.status(s.Shard); st.State != inventory.ShardDraining || st.Address == "" {
		t.Errorf("with a request in it: %+v", st)
	}
	running.Store(0)
	p.wait(t, s.Shard, inventory.ShardStopped)
}

func TestStopDoesNotWaitForTheSilent(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := config(t, p)
	cfg.Engines = []agent.Engine{&agenttest.Engine{UseFunc: func(context.Context, protocol.Endpoint) (protocol.Use, error) {
		return protocol.Use{}, errors.New("connection refused")
	}}}
	run(t, cfg)
	s := shardOf("m-1.0", nil)
	s.DrainTimeout = time.Hour
	p.order(s)
	p.wait(t, s.Shard, inventory.ShardReady)
	p.order()
	until(t, "forgotten", func() bool { return p.status(s.Shard).ID == "" })
}

func TestEnginesWithoutRecordAreStopped(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := config(t, p)
	word := "stray-" + t.TempDir()
	s := shardOf("m-1.0", map[string]string{"TOY_SAY": word, "TOY_CHILDREN": "1"})
	p.order(s)
	stop := run(t, cfg)
	p.wait(t, s.Shard, inventory.ShardReady)
	stop()
	if err := os.WriteFile(filepath.Join(cfg.DataDir, "state.json"), []byte("{half"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.order()
	run(t, cfg)
	until(t, "nothing left", func() bool { return len(processes(word)) == 0 })
	if aside, _ := filepath.Glob(filepath.Join(cfg.DataDir, "state.json.unreadable-*")); len(aside) != 1 {
		t.Errorf("the unreadable state is not kept aside: %v", aside)
	}
}

func TestOneAgentAFolder(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := config(t, p)
	run(t, cfg)
	until(t, "the first one works", func() bool {
		_, err := os.Stat(filepath.Join(cfg.DataDir, "state.json"))
		return err == nil
	})
	second, err := agent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := second.Run(ctx); err == nil || !strings.Contains(err.Error(), "another agent") {
		t.Errorf("got %v", err)
	}
}

// TestBusyEngineIsAdopted has an engine whose queue is so long that a probe
// never gets through: a new agent must not take it for dead.
func TestBusyEngineIsAdopted(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := config(t, p)
	cfg.Times.Probe = 20 * time.Millisecond
	var busy atomic.Bool
	cfg.Engines = []agent.Engine{&agenttest.Engine{
		ReadyFunc: func(ctx context.Context, _ protocol.Endpoint) error {
			if busy.Load() {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		},
		UseFunc: func(context.Context, protocol.Endpoint) (protocol.Use, error) {
			if busy.Load() {
				return protocol.Use{Running: 8, Waiting: 200}, nil
			}
			return protocol.Use{}, nil
		},
	}}
	s := shardOf("m-1.0", nil)
	p.order(s)
	stop := run(t, cfg)
	p.wait(t, s.Shard, inventory.ShardReady)
	stop()
	busy.Store(true)
	p.mu.Lock()
	clear(p.seen)
	p.mu.Unlock()
	run(t, cfg)
	p.clear(t)
	t.Cleanup(func() { busy.Store(false) })
	if st := p.wait(t, s.Shard, inventory.ShardReady); !st.Adopted || st.Starts != 1 {
		t.Errorf("got %+v", st)
	}
}

// TestEnginesEndWithTheAgent is for an agent that is told to take its engines
// along: the next one starts them again.
func TestEnginesEndWithTheAgent(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := config(t, p)
	word := "along-" + t.TempDir()
	s := shardOf("m-1.0", map[string]string{"TOY_SAY": word, "TOY_CHILDREN": "2"})
	p.order(s)
	cfg.StopEngines = true
	stop := run(t, cfg)
	p.wait(t, s.Shard, inventory.ShardReady)
	stop()
	if left := processes(word); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	p.mu.Lock()
	clear(p.seen)
	p.mu.Unlock()
	run(t, cfg)
	p.clear(t)
	if st := p.wait(t, s.Shard, inventory.ShardReady); st.Adopted {
		t.Errorf("got %+v", st)
	}
}
