package hub_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/agent/agenttest"
	"llmgw.io/llmgw/agent/hub"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/internal/pki"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

func inMemory(t *testing.T, cfg hub.Config) (*hub.Hub, *registry) {
	t.Helper()
	ca, err := pki.NewCA("test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	reg := &registry{}
	cfg.Registry, cfg.Enrolment, cfg.CA = reg, &enrolment{}, ca
	cfg.EngineKey = func(replica string) string { return "key-of-" + replica }
	h, err := hub.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h, reg
}

func replica(id string, phase reconciler.Phase, nodes ...inventory.NodeID) reconciler.Replica {
	r := reconciler.Replica{
		ID: reconciler.ReplicaID(id), Model: "m", Phase: phase, Source: "https://h/m/w.gguf",
		Profile: catalog.Profile{Name: "p", Engine: catalog.EngineSim, GPU: &catalog.GPU{Count: 2}},
	}
	for i, n := range nodes {
		sid := id + "." + string(rune('0'+i))
		r.Shards = append(r.Shards, reconciler.Shard{ID: reconciler.ShardID(sid), Rank: i, Spot: inventory.Allocation{
			Shard: sid, Replica: id, Node: n, Devices: []inventory.DeviceShare{{Index: i}}, MemoryMB: 1024,
		}})
	}
	return r
}

func TestPollsAreHeldUntilTheFirstDispatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _ := inMemory(t, hub.Config{})
		begun := time.Now()
		_, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1"})
		var refusal *protocol.Error
		if !errors.As(err, &refusal) || refusal.Code != protocol.CodeNotReady || time.Since(begun) != protocol.PollAfter {
			t.Errorf("after %s: %v; an empty list would empty the node", time.Since(begun), err)
		}
		time.AfterFunc(3*time.Second, func() { _ = h.Dispatch(t.Context(), 4, nil) })
		begun = time.Now()
		d, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1", Epoch: 3, Version: 8})
		if err != nil || d.Epoch != 4 || d.Version != 1 || d.Shards == nil || time.Since(begun) != 3*time.Second {
			t.Errorf("after %s: %+v, %v", time.Since(begun), d, err)
		}
	})
}

func TestVersions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _ := inMemory(t, hub.Config{})
		ask := func(node inventory.NodeID) protocol.Desired {
			d, err := h.Sync(t.Context(), node, protocol.Sync{Node: string(node)})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		one, two := replica("m-1", reconciler.Run, "n1"), replica("m-2", reconciler.Run, "n2")
		steps := []struct {
			epoch    int64
			replicas []reconciler.Replica
			n1, n2   uint64
		}{
			{1, nil, 1, 1},
			{1, []reconciler.Replica{one}, 2, 1},
			{1, []reconciler.Replica{one}, 2, 1},
			{1, []reconciler.Replica{one, two}, 2, 2},
			{1, []reconciler.Replica{replica("m-1", reconciler.Drain, "n1"), two}, 3, 2},
			{1, []reconciler.Replica{two}, 4, 2},
			{1, []reconciler.Replica{two}, 4, 2},
			{1, []reconciler.Replica{one, two}, 5, 2},
			{2, []reconciler.Replica{one, two}, 1, 1},
		}
		for i, s := range steps {
			if err := h.Dispatch(t.Context(), s.epoch, s.replicas); err != nil {
				t.Fatal(err)
			}
			d1, d2 := ask("n1"), ask("n2")
			if d1.Version != s.n1 || d2.Version != s.n2 || d1.Epoch != s.epoch {
				t.Errorf("step %d: versions %d and %d in epoch %d, want %d and %d in %d", i, d1.Version, d2.Version, d1.Epoch, s.n1, s.n2, s.epoch)
			}
		}
		if err := h.Dispatch(t.Context(), 1, nil); !errors.Is(err, hub.ErrStale) {
			t.Errorf("an older leader dispatches: %v", err)
		}
	})
}

func TestDesiredShard(t *testing.T) {
	t.Parallel()
	h, reg := inMemory(t, hub.Config{})
	reg.Apply("n1", inventory.Report{Facts: &inventory.Facts{MgmtAddr: "10.0.0.1"}}, time.Now())
	reg.nodes["n2"] = &inventory.Node{ID: "n2", Settings: inventory.NodeSettings{EngineBuilds: map[string]string{"sim": "cu129"}}}
	r := replica("m-1", reconciler.Drain, "n1", "n2")
	r.Files = []catalog.File{{Path: "w.gguf", SHA256: "ab", Bytes: 5}, {Path: "mmproj.gguf"}}
	r.Adapters = []catalog.Adapter{{Name: "a", Source: "https://h/a/lora.gguf"}}
	if err := h.Dispatch(t.Context(), 1, []reconciler.Replica{r}); err != nil {
		t.Fatal(err)
	}
	d, err := h.Sync(t.Context(), "n2", protocol.Sync{Node: "n2"})
	if err != nil || len(d.Shards) != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	s := d.Shards[0]
	if s.Shard != "m-1.1" || s.Rank != 1 || s.Of != 2 || s.Want != protocol.WantDrain || s.LeaderAddr != "10.0.0.1" ||
		s.Build != "cu129" || s.TensorParallel != 2 || s.PipelineParallel != 1 || s.EngineKey != "key-of-m-1" ||
		s.MemoryMB != 1024 || s.StartTimeout != 10*time.Minute || s.DrainTimeout != 5*time.Minute || d.Engines["sim"] != "cu129" {
		t.Errorf("got %+v", s)
	}
	for source, want := range map[string]string{
		"hf://org/name@v1": "hf://org/name@v1/w.gguf", "file:///srv/models/chat": "file:///srv/models/chat/w.gguf",
		"hf://org/name@v1/q4/x.gguf": "hf://org/name@v1/q4/w.gguf", "mirror://sha256:abcd": "mirror://sha256:abcd",
	} {
		r.Source = source
		if err := h.Dispatch(t.Context(), 1, []reconciler.Replica{r}); err != nil {
			t.Fatal(err)
		}
		d, err := h.Sync(t.Context(), "n2", protocol.Sync{Node: "n2"})
		if err != nil || d.Shards[0].Files[0].From[0] != want {
			t.Errorf("of %s the file is at %s, want %s, %v", source, d.Shards[0].Files[0].From[0], want, err)
		}
	}
	if s.Files[0].From[0] != "https://h/m/w.gguf" || s.Files[1].From[0] != "https://h/m/mmproj.gguf" || s.Adapters[0].From[0] != "https://h/a/lora.gguf" {
		t.Errorf("files come from %+v, adapters from %+v", s.Files, s.Adapters)
	}
}

// TestWantedBuilds holds that a node is told which engines it should have before
// anything is placed there, and that a choice left to it is no build of a shard.
func TestWantedBuilds(t *testing.T) {
	t.Parallel()
	h, reg := inMemory(t, hub.Config{})
	reg.Apply("n1", inventory.Report{Facts: &inventory.Facts{Devices: []inventory.Device{{Label: "0", Class: "H100-80"}}}}, time.Now())
	reg.nodes["n2"] = &inventory.Node{ID: "n2", Settings: inventory.NodeSettings{EngineBuilds: map[string]string{"sim": "auto", "vllm": "none"}}}
	if err := h.Dispatch(t.Context(), 1, []reconciler.Replica{replica("m-1", reconciler.Run, "n2")}); err != nil {
		t.Fatal(err)
	}
	d, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1"})
	if err != nil || len(d.Shards) != 0 || !maps.Equal(d.Engines, map[string]string{"vllm": "auto"}) {
		t.Errorf("a node with devices and no replica is told %+v, %v", d, err)
	}
	d, err = h.Sync(t.Context(), "n2", protocol.Sync{Node: "n2"})
	if err != nil || len(d.Shards) != 1 || d.Shards[0].Build != "" || d.Engines["sim"] != "auto" {
		t.Errorf("a node that may choose is told %+v, %v", d, err)
	}
}

func TestNewerPollEndsOlder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _ := inMemory(t, hub.Config{})
		if err := h.Dispatch(t.Context(), 1, nil); err != nil {
			t.Fatal(err)
		}
		old := make(chan error, 1)
		go func() {
			_, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1", Epoch: 1, Version: 1})
			old <- err
		}()
		synctest.Wait()
		go func() { _, _ = h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1", Epoch: 1, Version: 1}) }()
		synctest.Wait()
		select {
		case err := <-old:
			if err == nil {
				t.Error("the older poll was answered")
			}
		default:
			t.Error("the older poll is still open")
		}
		time.Sleep(time.Minute)
	})
}

func TestWants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, reg := inMemory(t, hub.Config{})
		if err := h.Dispatch(t.Context(), 1, nil); err != nil {
			t.Fatal(err)
		}
		want := func(hash string, w protocol.Want) {
			t.Helper()
			ans, err := h.Beat(t.Context(), "n1", protocol.Beat{Node: "n1", FactsHash: hash})
			if err != nil || ans.Want != w {
				t.Errorf("wants %q, %v; want %q", ans.Want, err, w)
			}
		}
		want("a", protocol.WantAll)
		_, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1", Facts: &inventory.Facts{}, FactsHash: "a"})
		if err != nil {
			t.Fatal(err)
		}
		want("a", protocol.WantNothing)
		want("b", protocol.WantFacts)
		reg.doubt("n1")
		want("a", protocol.WantAll)
	})
}

func TestHostileReports(t *testing.T) {
	t.Parallel()
	h, reg := inMemory(t, hub.Config{})
	long := strings.Repeat("é", 5000)
	shards := []inventory.ShardStatus{
		{ID: "a", State: inventory.ShardReady, Address: "169.254.169.254:80", Error: "\x1b[2J" + long},
		{ID: "b", State: inventory.ShardReady, Address: "10.0.0.1:9"},
		{ID: "c", State: inventory.ShardLost},
		{ID: "d", State: "levitating"},
		{ID: "e", State: inventory.ShardReady, Address: "engine.internal:80"},
		{ID: "f", State: inventory.ShardReady, Address: "127.0.0.1:20000"},
	}
	facts := &inventory.Facts{MgmtAddr: "10.0.0.1", Hostname: "a\nb\u202e", Labels: map[string]string{"k\x00": "v\r"}}
	if err := h.Dispatch(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1", Facts: facts, Shards: shards}); err != nil {
		t.Fatal(err)
	}
	n := reg.Snapshot().Node("n1")
	got := map[string]string{}
	for _, s := range n.Shards {
		got[s.ID] = s.Address
		if strings.ContainsAny(s.Error, "\x1b\n") || len(s.Error) > 1024 {
			t.Errorf("an error of %d bytes: %.20q", len(s.Error), s.Error)
		}
	}
	want := map[string]string{"a": "", "b": "10.0.0.1:9", "e": "", "f": "127.0.0.1:20000"}
	for id, addr := range want {
		if a, ok := got[id]; !ok || a != addr {
			t.Errorf("shard %s is at %q, want %q", id, a, addr)
		}
	}
	if len(got) != len(want) || n.Facts.Hostname != "ab" || n.Facts.Labels["k"] != "v" {
		t.Errorf("kept %v, %+v", got, n.Facts)
	}
}

// Numbers that no machine could mean spoil no sum and no answer about the fleet.
func TestHostileNumbers(t *testing.T) {
	t.Parallel()
	h, reg := inMemory(t, hub.Config{})
	if err := h.Dispatch(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	watts := math.MaxFloat64
	facts := &inventory.Facts{CPUs: math.MinInt, MemoryMB: math.MaxInt64, Devices: []inventory.Device{{MemoryMB: math.MaxInt64}}}
	if _, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1", Facts: facts}); err != nil {
		t.Fatal(err)
	}
	load := &inventory.Sample{Load1: math.MaxFloat64, CPUPowerW: &watts, MemoryUsedBytes: math.MaxInt64}
	shards := []inventory.ShardStatus{{ID: "a", State: inventory.ShardReady, Use: &inventory.ShardUse{Running: math.MaxInt}}}
	if _, err := h.Beat(t.Context(), "n1", protocol.Beat{Node: "n1", Sample: load, Shards: shards}); err != nil {
		t.Fatal(err)
	}
	const most = 1 << 50
	n := reg.Snapshot().Node("n1")
	if n.Facts.CPUs < -most || n.Facts.MemoryMB > most || n.Facts.Devices[0].MemoryMB > most {
		t.Errorf("kept the facts %+v", n.Facts)
	}
	s := reg.reports[len(reg.reports)-1].Sample
	if s.Load1 > most || *s.CPUPowerW > most || s.MemoryUsedBytes > most || n.Shards[0].Use.Running > most {
		t.Errorf("kept the sample %+v and the shard %+v", s, n.Shards[0])
	}
	if watts != math.MaxFloat64 || facts.Devices[0].MemoryMB != math.MaxInt64 {
		t.Error("what belongs to the agent was changed")
	}
}

func TestOvertakenLists(t *testing.T) {
	t.Parallel()
	h, reg := inMemory(t, hub.Config{})
	if err := h.Dispatch(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	ready := []inventory.ShardStatus{{ID: "a", State: inventory.ShardReady}}
	starting := []inventory.ShardStatus{{ID: "a", State: inventory.ShardStarting}}
	if _, err := h.Beat(t.Context(), "n1", protocol.Beat{Node: "n1", Run: "r", Rev: 5, Shards: ready}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1", Run: "r", Rev: 4, Shards: starting}); err != nil {
		t.Fatal(err)
	}
	if s := reg.shard("n1", "a"); s.State != inventory.ShardReady {
		t.Errorf("an older poll made it %s", s.State)
	}
	if _, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1", Run: "next", Rev: 1, Shards: starting}); err != nil {
		t.Fatal(err)
	}
	if s := reg.shard("n1", "a"); s.State != inventory.ShardStarting {
		t.Errorf("a new run's first list was left out: %s", s.State)
	}
}

func TestFollower(t *testing.T) {
	t.Parallel()
	h, _ := inMemory(t, hub.Config{Leader: func() (string, bool) { return "https://leader:7443", false }})
	_, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1"})
	var refusal *protocol.Error
	if !errors.As(err, &refusal) || refusal.Leader != "https://leader:7443" || refusal.Code != protocol.CodeNotLeader {
		t.Errorf("got %v", err)
	}
	if ans, err := h.Beat(t.Context(), "n1", protocol.Beat{Node: "n1"}); err != nil || ans.Leader != "https://leader:7443" {
		t.Errorf("got %+v, %v", ans, err)
	}
}

func TestNodeInMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, reg := inMemory(t, hub.Config{})
		n := agenttest.NewNode(agenttest.NodeConfig{ID: "n1", Control: agenttest.Direct(h, "n1"), Log: "one\x1b[2Jtwo\u009b2J é\u0085\n"})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- n.Run(ctx) }()
		if err := h.Dispatch(ctx, 1, []reconciler.Replica{replica("m-1", reconciler.Run, "n1")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if s := reg.shard("n1", "m-1.0"); s.State != inventory.ShardReady || s.Address == "" {
			t.Errorf("got %+v", s)
		}
		log, err := h.Logs(ctx, "n1", protocol.LogsArgs{Shard: "m-1.0"})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(iotest.OneByteReader(log)); err != nil || string(got) != "one [2Jtwo\u00a02J é\u00a0\n" {
			t.Errorf("log %q, %v", got, err)
		}
		_ = log.Close()
		n.Fail("m-1.0", agenttest.Failure{Cause: protocol.CauseMemory, Text: "out of memory"})
		time.Sleep(time.Second)
		if s := reg.shard("n1", "m-1.0"); s.State != inventory.ShardFailed || s.Cause != "memory" {
			t.Errorf("got %+v", s)
		}
		if err := h.Dispatch(ctx, 1, []reconciler.Replica{replica("m-1", reconciler.Stop, "n1")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if s := reg.shard("n1", "m-1.0"); s.State != inventory.ShardStopped {
			t.Errorf("got %+v", s)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestLogsRefuse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, reg := inMemory(t, hub.Config{})
		ask := func(want error) {
			t.Helper()
			if _, err := h.Logs(t.Context(), "n1", protocol.LogsArgs{}); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		ask(hub.ErrNoNode)
		reg.Apply("n1", inventory.Report{}, time.Now())
		ask(hub.ErrAway)
		if err := h.Dispatch(t.Context(), 1, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1"}); err != nil {
			t.Fatal(err)
		}
		ask(hub.ErrRefused) // it never said that it knows logs
		if _, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1", Facts: &inventory.Facts{Features: protocol.Features}}); err != nil {
			t.Fatal(err)
		}
		ask(hub.ErrTimeout) // nobody polls
		if _, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1"}); err != nil {
			t.Fatal(err)
		}
		refused := make(chan error, 1)
		go func() {
			_, err := h.Logs(t.Context(), "n1", protocol.LogsArgs{})
			refused <- err
		}()
		synctest.Wait()
		d, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1", Epoch: 1, Version: 1})
		if err != nil || len(d.Asks) != 1 {
			t.Fatalf("%+v, %v", d, err)
		}
		if err := h.Answer(t.Context(), "n2", protocol.Answer{ID: d.Asks[0].ID, OK: true}, nil); err == nil {
			t.Error("another node answers")
		}
		if err := h.Answer(t.Context(), "n1", protocol.Answer{ID: d.Asks[0].ID, Error: "no such log"}, nil); err != nil {
			t.Error(err)
		}
		if err := <-refused; !errors.Is(err, hub.ErrRefused) || !strings.Contains(err.Error(), "no such log") {
			t.Errorf("got %v", err)
		}
		for code, want := range map[string]error{protocol.CodeNoLog: hub.ErrNoLog, protocol.CodeLimited: hub.ErrBusy, "news": hub.ErrRefused} {
			go func() {
				_, err := h.Logs(t.Context(), "n1", protocol.LogsArgs{})
				refused <- err
			}()
			synctest.Wait()
			d, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1", Epoch: 1, Version: 1})
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Answer(t.Context(), "n1", protocol.Answer{ID: d.Asks[0].ID, Error: "why", Code: code}, nil); err != nil {
				t.Error(err)
			}
			if err := <-refused; !errors.Is(err, want) || !strings.Contains(err.Error(), "why") {
				t.Errorf("%s: want %v, got %v", code, want, err)
			}
		}
	})
}

// Weights that are to be fetched ahead are part of what a node is told, and a change
// of them is told at once.
func TestPrefetchesAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var list []reconciler.Prefetch
		h, _ := inMemory(t, hub.Config{Prefetches: func(*inventory.Snapshot) []reconciler.Prefetch { return list }})
		if err := h.Dispatch(t.Context(), 1, nil); err != nil {
			t.Fatal(err)
		}
		list = []reconciler.Prefetch{{
			Node: "n1", Model: "m", Engine: catalog.EngineVLLM, Source: "https://h/m/w.safetensors",
			Files: []catalog.File{{Path: "config.json"}}, Adapters: []catalog.Adapter{{Name: "law", Source: "https://h/law"}},
		}}
		time.AfterFunc(time.Second, func() { _ = h.Dispatch(t.Context(), 1, nil) })
		begun := time.Now()
		d, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1", Epoch: 1, Version: 1})
		if err != nil || time.Since(begun) != time.Second || d.Version != 2 || len(d.Fetch) != 1 {
			t.Fatalf("after %s: %+v, %v", time.Since(begun), d, err)
		}
		if f := d.Fetch[0]; f.Model != "m" || f.Files[0].From[0] != "https://h/m/config.json" || f.Adapters[0].From[0] != "https://h/law" {
			t.Errorf("got %+v", f)
		}
		if err := h.Dispatch(t.Context(), 1, nil); err != nil {
			t.Fatal(err)
		}
		if d, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1"}); err != nil || d.Version != 2 {
			t.Errorf("the same is told as new: %+v, %v", d, err)
		}
		list = []reconciler.Prefetch{{Node: "n1", Model: "other", Engine: catalog.EngineVLLM, Source: "https://h/o"}}
		if err := h.Dispatch(t.Context(), 1, nil); err != nil {
			t.Fatal(err)
		}
		if d, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1"}); err != nil || d.Version != 3 || d.Fetch[0].Model != "other" {
			t.Errorf("another list is not told as new: %+v, %v", d, err)
		}
		list = nil
		if err := h.Dispatch(t.Context(), 1, nil); err != nil {
			t.Fatal(err)
		}
		if d, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1"}); err != nil || d.Version != 4 || len(d.Fetch) != 0 {
			t.Errorf("what is gone is told: %+v, %v", d, err)
		}
	})
}
