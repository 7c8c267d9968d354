package agent_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/agenttest"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

func TestMain(m *testing.M) {
	agenttest.RunToy()
	agenttest.RunGate()
	playVLLM()
	runAgentProcess()
	os.Exit(m.Run())
}

// plane is a control plane in memory.
type plane struct {
	mu      sync.Mutex
	desired protocol.Desired
	facts   *inventory.Facts // the newest
	seen    map[string]inventory.ShardStatus
	history map[string][]inventory.ShardState
	away    bool
	run     string
	rev     uint64
	changed chan struct{}
	answers chan string
}

func newPlane() *plane {
	return &plane{
		desired: protocol.Desired{Epoch: 1, Version: 1}, seen: map[string]inventory.ShardStatus{},
		history: map[string][]inventory.ShardState{}, changed: make(chan struct{}), answers: make(chan string, 16),
	}
}

var errAway = errors.New("nobody is there")

func (p *plane) control() *agenttest.Control {
	return &agenttest.Control{
		BeatFunc: func(_ context.Context, b protocol.Beat) (protocol.BeatAnswer, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.away {
				return protocol.BeatAnswer{}, errAway
			}
			if p.fresh(b.Run, b.Rev) {
				p.take(b.Shards)
			}
			return protocol.BeatAnswer{SeenSeq: b.Seq}, nil
		},
		SyncFunc: p.sync,
		AnswerFunc: func(_ context.Context, a protocol.Answer, r io.Reader) error {
			text := a.Error + string(a.Result)
			if r != nil {
				data, err := io.ReadAll(r)
				if err != nil {
					return err
				}
				text = string(data)
			}
			p.answers <- text
			return nil
		},
	}
}

func (p *plane) sync(ctx context.Context, s protocol.Sync) (protocol.Desired, error) {
	over := time.After(100 * time.Millisecond)
	for first := true; ; first = false {
		p.mu.Lock()
		if p.away {
			p.mu.Unlock()
			return protocol.Desired{}, errAway
		}
		if first && p.fresh(s.Run, s.Rev) {
			for id := range p.seen {
				if !contains(s.Shards, id) {
					delete(p.seen, id)
				}
			}
			p.take(s.Shards)
		}
		if s.Facts != nil {
			p.facts = s.Facts
		}
		d, changed := p.desired, p.changed
		p.desired.Asks = nil
		p.mu.Unlock()
		if d.Version != s.Version || d.Epoch != s.Epoch || len(d.Asks) > 0 {
			return d, nil
		}
		select {
		case <-changed:
		case <-over:
			return d, nil
		case <-ctx.Done():
			return d, ctx.Err()
		}
	}
}

func contains(list []inventory.ShardStatus, id string) bool {
	for _, s := range list {
		if s.ID == id {
			return true
		}
	}
	return false
}

// fresh reports whether a list was not overtaken. It is called with the lock held.
func (p *plane) fresh(run string, rev uint64) bool {
	if run == p.run && rev < p.rev {
		return false
	}
	p.run, p.rev = run, rev
	return true
}

// take is called with the lock held.
func (p *plane) take(list []inventory.ShardStatus) {
	for _, s := range list {
		if p.seen[s.ID].State != s.State {
			p.history[s.ID] = append(p.history[s.ID], s.State)
		}
		p.seen[s.ID] = s
	}
}

func (p *plane) order(shards ...protocol.DesiredShard) {
	p.edit(func(d *protocol.Desired) { d.Shards = shards; d.Version++ })
}

func (p *plane) edit(edit func(*protocol.Desired)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	edit(&p.desired)
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *plane) setAway(away bool) {
	p.mu.Lock()
	p.away = away
	p.mu.Unlock()
	p.edit(func(*protocol.Desired) {})
}

func (p *plane) status(id string) inventory.ShardStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[id]
}

// until waits for what must come; a test that waits for what does not fails.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("did not come: %s", what)
		}
	}
}

func (p *plane) wait(t *testing.T, id string, state inventory.ShardState) inventory.ShardStatus {
	t.Helper()
	until(t, id+" "+string(state), func() bool { return p.status(id).State == state })
	return p.status(id)
}

// fast are times for tests with real processes.
var fast = agent.Times{
	Beat: 20 * time.Millisecond, Sample: 50 * time.Millisecond, Away: 100 * time.Millisecond,
	Retry: 20 * time.Millisecond, RetryMax: 100 * time.Millisecond, Ready: 10 * time.Millisecond,
	Use: 20 * time.Millisecond, TermAgain: 100 * time.Millisecond, Kill: 2 * time.Second,
	Look: 5 * time.Millisecond, DiskRetry: 20 * time.Millisecond,
}

// ports keeps the agents of tests that run at once apart.
var ports atomic.Int64

func config(t *testing.T, p *plane) agent.Config {
	t.Helper()
	base := 20000 + 100*int(ports.Add(1))
	dir := t.TempDir()
	leavesNothing(t, dir)
	return agent.Config{
		PortMin: base, PortMax: base + 99,
		Node: "n1", Control: p.control(), Prober: &agenttest.Prober{}, Engines: []agent.Engine{&agenttest.Toy{}},
		DataDir: dir, MgmtAddr: "127.0.0.1", CgroupParent: "none", Times: fast,
	}
}

// leavesNothing fails a test that ends while an engine of its agent runs, and
// ends the engine: one that is left behind outlives the machine's other tests.
func leavesNothing(t *testing.T, dir string) {
	t.Helper()
	t.Cleanup(func() {
		links, err := filepath.Glob("/proc/[0-9]*/cwd")
		if err != nil {
			t.Error(err)
		}
		for _, link := range links {
			at, err := os.Readlink(link)
			if err != nil || !strings.HasPrefix(at, dir+"/") {
				continue // it is gone, or another's
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			if err != nil || pid == os.Getpid() {
				continue
			}
			t.Errorf("the test leaves an engine behind, process %d; call clear after the last run", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone by now
		}
	})
}

// run starts an agent and returns what ends it and waits for that.
func run(t *testing.T, cfg agent.Config) (stop func()) {
	t.Helper()
	a, err := agent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

// clear stops what a test leaves running, as a last order would. It is called
// after the last run.
func (p *plane) clear(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		p.setAway(false)
		p.order()
		until(t, "an empty node", func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.seen) == 0
		})
	})
}

func shardOf(id string, env map[string]string) protocol.DesiredShard {
	return protocol.DesiredShard{
		Shard: id, Replica: id, Model: "m", Profile: "p", Want: protocol.WantRun, Of: 1, Engine: catalog.EngineSim,
		Env: env, EngineKey: "key-of-" + id, TensorParallel: 1, PipelineParallel: 1, DataParallel: 1,
		StartTimeout: 20 * time.Second, DrainTimeout: time.Second,
	}
}

func answers(t *testing.T, address, key string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/ready", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
