package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/agenttest"
	"llmgw.io/llmgw/agent/engines"
	"llmgw.io/llmgw/agent/engines/simengine"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// playVLLM makes this program the engine that plays vLLM, where it was started so.
func playVLLM() {
	if len(os.Args) < 2 || os.Args[1] != "--as" {
		return
	}
	err := simengine.Main(os.Args[1:])
	if exit, ok := errors.AsType[*simengine.ExitError](err); ok {
		os.Exit(exit.Code)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// vllmConfig is an agent with vLLM's real driver and a program that plays it, on a
// machine that says it has one card.
func vllmConfig(t *testing.T, p *plane) agent.Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "vllm")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexec "+self+" --as vllm@0.24.0 \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cfg := config(t, p)
	cfg.Engines = []agent.Engine{engines.New(engines.Config{VLLM: []string{program}}).VLLM}
	cfg.Prober = &agenttest.Prober{FactsFunc: func(context.Context) inventory.Facts {
		f := agenttest.DefaultFacts()
		f.Devices = []inventory.Device{{Index: 0, Card: 0, Class: "H100-80", MemoryMB: 81559, UUID: "GPU-0"}}
		return f
	}}
	return cfg
}

// vllmShard is a shard of weights that are on the disk.
func vllmShard(t *testing.T, id string, args ...string) protocol.DesiredShard {
	t.Helper()
	s := shardOf(id, nil)
	s.Engine, s.Args, s.Devices = catalog.EngineVLLM, args, []inventory.DeviceShare{{Index: 0}}
	s.Source = "file://" + fileIn(t, "config.json")
	return s
}

// adapterNamed is an adapter on the disk.
func adapterNamed(t *testing.T, name string) protocol.DesiredFile {
	t.Helper()
	weights := fileIn(t, "adapter_model.safetensors")
	if err := os.WriteFile(filepath.Join(filepath.Dir(weights), "adapter_config.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	return protocol.DesiredFile{Name: name, Path: "adapter_model.safetensors", From: []string{"file://" + weights}}
}

func fileIn(t *testing.T, name string) string {
	t.Helper()
	path, text := filepath.Join(t.TempDir(), name), "{}"
	if filepath.Ext(name) == ".safetensors" {
		text = "\x02\x00\x00\x00\x00\x00\x00\x00" + text // a header without tensors
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// says asks an engine for an answer of a model or an adapter.
func says(t *testing.T, st inventory.ShardStatus, key, model string, tokens int) string {
	t.Helper()
	body := fmt.Sprintf(`{"model":%q,"prompt":"a","ignore_eos":true,"max_tokens":%d}`, model, tokens)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+st.Address+"/v1/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestAdaptersChangeWhileAVLLMRuns(t *testing.T) {
	t.Parallel()
	p := newPlane()
	run(t, vllmConfig(t, p))
	p.clear(t)
	s := vllmShard(t, "m-1.0")
	law, tax := adapterNamed(t, "law"), adapterNamed(t, "tax")
	s.Adapters = []protocol.DesiredFile{law}
	p.order(s)
	st := p.wait(t, s.Shard, inventory.ShardReady)
	loaded := func(names ...string) {
		t.Helper()
		until(t, fmt.Sprintf("adapters %v", names), func() bool {
			st = p.status(s.Shard)
			return st.Error == "" && slices.Equal(slices.Sorted(slices.Values(st.Adapters)), names)
		})
	}
	loaded("law")
	s.Adapters = []protocol.DesiredFile{law, tax}
	p.order(s)
	loaded("law", "tax")
	if said := says(t, st, s.EngineKey, "tax", 2); !strings.Contains(said, "tax tax") {
		t.Errorf("want the new adapter to answer, got %s", said)
	}

	missing := tax
	missing.Name, missing.From = "gone", []string{"file:///nowhere/adapter_model.safetensors"}
	s.Adapters = []protocol.DesiredFile{tax, missing}
	p.order(s)
	until(t, "the trouble is told", func() bool { return strings.Contains(p.status(s.Shard).Error, "/nowhere/") })
	if st = p.status(s.Shard); st.State != inventory.ShardReady || !slices.Equal(st.Adapters, []string{"tax"}) {
		t.Errorf("want it to serve what it has, got %+v", st)
	}
	s.Adapters = []protocol.DesiredFile{tax}
	p.order(s)
	until(t, "the trouble is over", func() bool { return p.status(s.Shard).Error == "" })
	if said := says(t, st, s.EngineKey, "law", 2); !strings.Contains(said, "does not exist") {
		t.Errorf("want the one that was taken out to be gone, got %s", said)
	}
	if st = p.status(s.Shard); st.Starts != 1 {
		t.Errorf("want one start for all of it, got %d", st.Starts)
	}
}

// An adapter that is elsewhere comes with its configuration, whether its source
// names the weights or the folder; without one it is not loaded, and that is said.
func TestAdaptersOfAVLLMAreFetched(t *testing.T) {
	t.Parallel()
	dir := filepath.Dir(strings.TrimPrefix(adapterNamed(t, "").From[0], "file://"))
	alone := filepath.Dir(fileIn(t, "adapter_model.safetensors"))
	mux := http.NewServeMux()
	mux.Handle("/law/", http.StripPrefix("/law/", http.FileServer(http.Dir(dir))))
	mux.Handle("/alone/", http.StripPrefix("/alone/", http.FileServer(http.Dir(alone))))
	files := httptest.NewServer(mux)
	t.Cleanup(files.Close)
	p := newPlane()
	cfg := vllmConfig(t, p)
	cfg.HTTP, cfg.LowWaterBytes = files.Client(), 1
	run(t, cfg)
	p.clear(t)
	from := func(name, path string) protocol.DesiredFile {
		return protocol.DesiredFile{Name: name, Path: "x", From: []string{files.URL + path}}
	}
	s := vllmShard(t, "m-1.0")
	s.Adapters = []protocol.DesiredFile{from("law", "/law/adapter_model.safetensors")}
	p.order(s)
	p.wait(t, s.Shard, inventory.ShardReady)
	loaded := func(names ...string) bool {
		return slices.Equal(slices.Sorted(slices.Values(p.status(s.Shard).Adapters)), names)
	}
	until(t, "the first adapter", func() bool { return loaded("law") })
	s.Adapters = append(s.Adapters, from("tax", "/law"))
	p.order(s)
	until(t, "the second adapter", func() bool { return loaded("law", "tax") })
	if said := says(t, p.status(s.Shard), s.EngineKey, "tax", 2); !strings.Contains(said, "tax tax") {
		t.Errorf("got %s", said)
	}
	s.Adapters = append(s.Adapters, from("alone", "/alone/adapter_model.safetensors"))
	p.order(s)
	until(t, "what is missing is named", func() bool {
		return strings.Contains(p.status(s.Shard).Error, "adapter_config.json is missing at its source")
	})
}

// It is adopted with the adapters that it has, and stopped as it wants it: the
// request that it is at is finished, though the next agent tells it to stop.
func TestAVLLMIsAdoptedWithItsAdaptersAndStopped(t *testing.T) {
	t.Parallel()
	p := newPlane()
	cfg := vllmConfig(t, p)
	stop := run(t, cfg)
	s := vllmShard(t, "m-1.0", "--max-loras", "2", "--inter-token-latency", "20ms")
	s.DrainTimeout = time.Nanosecond // the agent waits for nothing; the engine does
	p.order(s)
	was := p.wait(t, s.Shard, inventory.ShardReady)
	s.Adapters = []protocol.DesiredFile{adapterNamed(t, "law")}
	p.order(s)
	until(t, "the adapter is loaded", func() bool { return len(p.status(s.Shard).Adapters) == 1 })
	stop()
	p.mu.Lock()
	clear(p.seen)
	p.mu.Unlock()
	run(t, cfg)
	p.clear(t)
	is := p.wait(t, s.Shard, inventory.ShardReady)
	if !is.Adopted || is.Address != was.Address || !slices.Equal(is.Adapters, []string{"law"}) {
		t.Errorf("not adopted: was %+v, is %+v", was, is)
	}
	answered := make(chan string, 1)
	go func() { answered <- says(t, is, s.EngineKey, "m", 100) }()
	until(t, "it is at work", func() bool { u := p.status(s.Shard).Use; return u != nil && u.Running > 0 && u.KVUse != nil })
	s.Want = protocol.WantStop
	p.order(s)
	if said := <-answered; !strings.Contains(said, `"finish_reason"`) {
		t.Errorf("want the answer whole, got %s", said)
	}
	p.wait(t, s.Shard, inventory.ShardStopped)
}

func TestAVLLMThatFailsIsExplained(t *testing.T) {
	t.Parallel()
	for how, cause := range map[string]protocol.Cause{"memory": protocol.CauseMemory, "driver": protocol.CauseCUDA, "silent": protocol.CauseUnknown} {
		p := newPlane()
		run(t, vllmConfig(t, p))
		s := vllmShard(t, "m-1.0", "--start-failure", how)
		p.order(s)
		st := p.wait(t, s.Shard, inventory.ShardFailed)
		if st.Cause != string(cause) || !strings.Contains(strings.Join(st.LastLines, "\n"), "Engine core initialization failed") {
			t.Errorf("%s: got %+v", how, st)
		}
	}
}

// Two agents run the two ranks of one replica; when one rank dies, so does the
// other, and both agents say so: that is what has all of it started anew.
func TestRanksOfAVLLMOnTwoNodes(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	meet := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	planes := []*plane{newPlane(), newPlane()}
	var shards []protocol.DesiredShard
	for rank, p := range planes {
		run(t, vllmConfig(t, p))
		s := vllmShard(t, fmt.Sprintf("m-1.%d", rank))
		s.Rank, s.Of, s.PipelineParallel, s.LeaderAddr, s.LeaderPort = rank, 2, 2, "127.0.0.1", meet
		shards = append(shards, s)
		p.order(s)
	}
	lead := planes[0].wait(t, "m-1.0", inventory.ShardReady)
	follow := planes[1].wait(t, "m-1.1", inventory.ShardReady)
	if lead.Address == "" || follow.Address != "" {
		t.Errorf("want the leader to serve and nobody else, got %q and %q", lead.Address, follow.Address)
	}
	if said := says(t, lead, shards[0].EngineKey, "m", 2); !strings.Contains(said, "finish_reason") {
		t.Errorf("want an answer, got %s", said)
	}
	if n := killRank(t, "--headless", meet); n == 0 {
		t.Fatal("there is no second rank to kill")
	}
	for rank, p := range planes {
		st := p.wait(t, shards[rank].Shard, inventory.ShardFailed)
		if rank == 0 && st.Cause != string(protocol.CauseDriver) {
			t.Errorf("want the leader to say that the other went, got %+v", st)
		}
	}
}

// killRank kills the processes that were started with a word and a port.
func killRank(t *testing.T, word string, port int) (killed int) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range lines {
		b, _ := os.ReadFile(file)
		args := strings.Split(string(b), "\x00")
		if !slices.Contains(args, word) || !slices.Contains(args, fmt.Sprint(port)) {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/cmdline", &pid); err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}
