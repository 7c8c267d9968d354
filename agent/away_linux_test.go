package agent_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"llmgw.io/llmgw/inventory"
)

// TestCutOffAndHealed cuts an agent off for longer than it takes to act alone
// (gpustack/gpustack#88): its engines run on, also one that dies meanwhile. When the
// network is back, what is still wanted is as it was, what was given up is stopped,
// and new work starts.
func TestCutOffAndHealed(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := config(t, p)
	run(t, cfg)
	p.clear(t)
	words := map[string]string{}
	for _, id := range []string{"kept-1.0", "given-1.0", "new-1.0"} {
		words[id] = id + t.TempDir()
	}
	kept := shardOf("kept-1.0", map[string]string{"TOY_SAY": words["kept-1.0"]})
	given := shardOf("given-1.0", map[string]string{"TOY_SAY": words["given-1.0"], "TOY_CHILDREN": "2"})
	p.order(kept, given)
	address := p.wait(t, kept.Shard, inventory.ShardReady).Address
	p.wait(t, given.Shard, inventory.ShardReady)
	pids := processes(words[kept.Shard])

	p.setAway(true)
	p.order(kept, shardOf("new-1.0", map[string]string{"TOY_SAY": words["new-1.0"]})) // nobody hears it
	for range 100 {
		if !answers(t, address, kept.EngineKey) {
			t.Fatal("an engine does not answer while its agent is cut off")
		}
	}
	if len(processes(words[given.Shard])) != 3 || len(processes(words["new-1.0"])) != 0 {
		t.Error("something changed though nobody said so")
	}

	p.setAway(false)
	p.wait(t, "new-1.0", inventory.ShardReady)
	until(t, "what was given up is gone", func() bool { return len(processes(words[given.Shard])) == 0 })
	if st := p.wait(t, kept.Shard, inventory.ShardReady); st.Starts != 1 || !slices.Equal(processes(words[kept.Shard]), pids) {
		t.Errorf("what is wanted still was %v and is %v: %+v", pids, processes(words[kept.Shard]), st)
	}
}

// TestRestartUnderLoad ends and starts an agent again and again while its engine
// answers (kubernetes/kubernetes#118559).
func TestRestartUnderLoad(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := config(t, p)
	word := "load-" + t.TempDir()
	s := shardOf("m-1.0", map[string]string{"TOY_SAY": word})
	p.order(s)
	stop := run(t, cfg)
	address := p.wait(t, s.Shard, inventory.ShardReady).Address
	pids := processes(word)
	var failed, asked atomic.Int64
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			default:
			}
			if asked.Add(1); !answers(t, address, s.EngineKey) {
				failed.Add(1)
			}
		}
	}()
	for range 5 {
		stop()
		p.forgetSeen()
		stop = run(t, cfg)
		if st := p.wait(t, s.Shard, inventory.ShardReady); !st.Adopted {
			t.Errorf("got %+v", st)
		}
		n := asked.Load()
		until(t, "requests", func() bool { return asked.Load() > n+5 })
	}
	close(over)
	<-done
	p.clear(t)
	if failed.Load() > 0 || !slices.Equal(processes(word), pids) {
		t.Errorf("%d of %d requests failed; the engine was %v and is %v", failed.Load(), asked.Load(), pids, processes(word))
	}
}
