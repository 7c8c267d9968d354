//go:build unix

package engines_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/engines"
	"llmgw.io/llmgw/agent/engines/simengine"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/inventory"
)

// TestMain makes this program the simulated engine where it is started as one: the
// tests here start it as "vllm", by the driver of the real one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "--as" {
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
	os.Exit(m.Run())
}

// played is a vLLM that is played: a program of that name, its driver, and a shard
// to start.
type played struct {
	world
	v *engines.VLLM
}

func playVLLM(t *testing.T, version string) *played {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "vllm")
	script(t, program, fmt.Sprintf("exec %s --as vllm@%s \"$@\"", self, version))
	p := &played{v: engines.New(engines.Config{VLLM: []string{program}}).VLLM}
	builds := p.v.Installed(t.Context())
	if len(builds) != 1 || builds[0].Version != version {
		t.Fatalf("want vLLM %s installed, got %v", version, builds)
	}
	p.d, p.at = vllmShard(1), vllmLaunch(version, 1)
	p.at.Build, p.at.Port, p.at.Dir = builds[0], freePort(t), dir
	return p
}

// start starts it as the agent does.
func (p *played) start(t *testing.T) *running {
	t.Helper()
	c, err := p.v.Command(p.d, p.at)
	if err != nil {
		t.Fatal(err)
	}
	return startCommand(t, c, p.at.Dir)
}

// completion sends a request and gives what came of it.
func (p *played) completion(ctx context.Context, model string, tokens int) (string, error) {
	body := fmt.Sprintf(`{"model":%q,"prompt":"a b c d","max_tokens":%d,"ignore_eos":true}`, model, tokens)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.endpoint().Address+"/v1/completions", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+p.d.EngineKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%d: %s", res.StatusCode, b)
	}
	return string(b), err
}

// Each recorded command line is one that its version takes: the table of the one
// that is played was written apart from the driver's.
func TestEachVersionTakesItsFlags(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, c := range vllmCases() {
		cmd, err := drivers()[c.d.Engine].Command(c.d, c.at)
		if err != nil {
			t.Fatal(err)
		}
		version := c.at.Build.Version
		if version == "" {
			version = "0.10.0" // the driver knows none, and tells it only what each takes
		}
		if slices.Contains(c.d.Args, "--kv-cache-memory-bytes=1073741824") {
			version = "0.24.0" // this one people say
		}
		if err := simengine.CheckVLLM(version, cmd.Args); err != nil {
			t.Errorf("%s: vLLM %s refuses %q: %v", c.name, version, cmd.Args, err)
		}
		tried++
	}
	if tried < 15 {
		t.Errorf("only %d command lines were tried", tried)
	}
}

func TestAPlayedVLLMServesUnderTheRealDriver(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10.1", "0.16.0", "0.24.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := playVLLM(t, version)
			p.d.Args = []string{"--startup-duration", "200ms"}
			p.at.Adapters = []protocol.NamedFile{{Name: "law", Path: "/w/law/adapter_model.safetensors"}}
			r := p.start(t)
			// Until it is up nobody can connect, which is no failure and nobody else.
			if err := p.v.Ready(t.Context(), p.endpoint()); err == nil || errors.Is(err, protocol.ErrForeign) {
				t.Errorf("while it loads: want it not ready yet, got %v", err)
			}
			r.ready(t, p.v, p.endpoint())
			u, err := p.v.Use(t.Context(), p.endpoint())
			if u.Running != 0 || u.Waiting != 0 || u.KVUse == nil || err != nil {
				t.Errorf("want it idle, got %+v, %v", u, err)
			}
			if n, err := p.v.Generated(t.Context(), p.endpoint()); n < 1 || err != nil {
				t.Errorf("want the probe's token counted, got %d, %v", n, err)
			}
			p.adapters(t)
			for name, change := range map[string]func(*protocol.Endpoint){
				"another key":   func(e *protocol.Endpoint) { e.Key += "x" },
				"another model": func(e *protocol.Endpoint) { e.Model = "team/other" },
			} {
				other := p.endpoint()
				change(&other)
				if err := p.v.Ready(t.Context(), other); !errors.Is(err, protocol.ErrForeign) {
					t.Errorf("%s: want it foreign, got %v", name, err)
				}
			}
			if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if got := r.exit(); got.Code != 0 || p.v.Explain(got).Cause != protocol.CauseExited {
				t.Errorf("idle: want one TERM to end it with 0, and an end that nobody asked for to be a failure, got %+v", got)
			}
		})
	}
}

// adapters loads one, asks it, and takes it out, each twice.
func (p *played) adapters(t *testing.T) {
	t.Helper()
	ctx, e := t.Context(), p.endpoint()
	tax := protocol.NamedFile{Name: "tax", Path: "/w/tax/adapter_model.safetensors"}
	for range 2 {
		if err := p.v.Load(ctx, e, tax); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"law", "tax"} {
		if said, err := p.completion(ctx, name, 2); err != nil || !strings.Contains(said, name+" "+name) {
			t.Errorf("adapter %s: want its answer, got %q, %v", name, said, err)
		}
	}
	for range 2 {
		if err := p.v.Unload(ctx, e, "tax"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.completion(ctx, "tax", 2); err == nil {
		t.Error("an adapter that was taken out still answers")
	}
	if err := p.v.Unload(ctx, e, e.Model); err == nil {
		t.Error("the model itself was taken out")
	}
}

func TestAVLLMWithoutRoomForAdaptersSaysSo(t *testing.T) {
	t.Parallel()
	p := playVLLM(t, "0.24.0")
	r := p.start(t)
	r.ready(t, p.v, p.endpoint())
	err := p.v.Load(t.Context(), p.endpoint(), protocol.NamedFile{Name: "law", Path: "/w/law"})
	if err == nil || !strings.Contains(err.Error(), "--max-loras") {
		t.Errorf("want to hear what makes room, got %v", err)
	}
}

func TestAPlayedVLLMsFailuresAreClassified(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		how   string
		args  []string
		spoil func(*testing.T, *played)
		cause protocol.Cause
	}{
		{"memory", []string{"--start-failure", "memory"}, nil, protocol.CauseMemory},
		{"utilization", []string{"--start-failure", "utilization"}, nil, protocol.CauseMemory},
		{"context", []string{"--start-failure", "context"}, nil, protocol.CauseMemory},
		{"driver", []string{"--start-failure", "driver"}, nil, protocol.CauseCUDA},
		{"kernel", []string{"--start-failure", "kernel"}, nil, protocol.CauseCUDA},
		{"device", []string{"--start-failure", "device"}, nil, protocol.CauseDriver},
		{"nccl", []string{"--start-failure", "nccl"}, nil, protocol.CauseDriver},
		{"architecture", []string{"--start-failure", "architecture"}, nil, protocol.CauseModel},
		{"files", []string{"--start-failure", "files"}, nil, protocol.CauseFile},
		{"silent", []string{"--start-failure", "silent"}, nil, protocol.CauseUnknown},
		{"bad flag", []string{"--nope"}, nil, protocol.CauseFlag},
		{"bad value", []string{"--output-tokens", "many"}, nil, protocol.CauseFlag},
		{"port in use", nil, func(t *testing.T, p *played) {
			held := serve(t, newFake())
			if _, err := fmt.Sscanf(held.Address, "127.0.0.1:%d", &p.at.Port); err != nil {
				t.Fatal(err)
			}
		}, protocol.CausePort},
		{"an instance, and a version that nobody knew to be too old", nil, func(t *testing.T, p *played) {
			old := playVLLM(t, "0.20.1")
			p.v, p.at.Build.Build = old.v, old.at.Build.Build
			p.d, p.at.Devices = func() (protocol.DesiredShard, []inventory.Device) {
				d, at := vllmInstance("")
				d.Args = []string{"--kv-cache-memory-bytes", "1000000"}
				return d, at.Devices
			}()
			p.at.Build.Version = ""
		}, protocol.CauseEngine},
	} {
		t.Run(c.how, func(t *testing.T) {
			t.Parallel()
			p := playVLLM(t, "0.24.0")
			p.d.Args = c.args
			if c.spoil != nil {
				c.spoil(t, p)
			}
			e := p.start(t).exit()
			if got := p.v.Explain(e); got.Cause != c.cause || e.Code == 0 {
				t.Errorf("want %s, got %+v (code %d) from\n%s", c.cause, got, e.Code, strings.Join(e.LastLines, "\n"))
			}
		})
	}
}

// It hangs while /health says that all is well; and it ends with 0 though it died.
func TestAVLLMThatHangsOrDiesIsSeen(t *testing.T) {
	t.Parallel()
	p := playVLLM(t, "0.24.0")
	r := p.start(t)
	r.ready(t, p.v, p.endpoint())
	temper := func(body string) {
		res, err := http.Post("http://"+p.endpoint().Address+"/admin/config", "application/json", strings.NewReader(body))
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", res, err)
		}
		_ = res.Body.Close()
	}
	before, err := p.v.Generated(t.Context(), p.endpoint())
	if err != nil {
		t.Fatal(err)
	}
	temper(`{"failure_injection_rate":100,"failure_types":["hang"]}`)
	hung, leave := context.WithCancel(t.Context())
	defer leave()
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = p.completion(hung, p.endpoint().Model, 4)
	}()
	for u := (protocol.Use{}); u.Running != 1; {
		if u, err = p.v.Use(t.Context(), p.endpoint()); err != nil {
			t.Fatal(err)
		}
	}
	res, err := http.Get("http://" + p.endpoint().Address + "/health")
	if err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("want it to call itself healthy, got %v, %v", res, err)
	}
	if err := p.v.Ready(t.Context(), p.endpoint()); err != nil {
		t.Errorf("the first look since it moved: want it ready still, got %v", err)
	}
	probe, over := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer over()
	if err := p.v.Ready(probe, p.endpoint()); err == nil || errors.Is(err, protocol.ErrForeign) {
		t.Errorf("want it not ready, got %v", err)
	}
	now, err := p.v.Generated(t.Context(), p.endpoint())
	again, err2 := p.v.Generated(t.Context(), p.endpoint())
	if now < before || again != now || err != nil || err2 != nil {
		t.Errorf("want it to stand still after %d, got %d, then %d (%v, %v)", before, now, again, err, err2)
	}
	leave()
	<-left

	temper(`{"failure_injection_rate":100,"failure_types":["die"],"die_exit":0}`)
	_, _ = p.completion(t.Context(), p.endpoint().Model, 4)
	if e := r.exit(); e.Code != 0 || p.v.Explain(e).Cause != protocol.CauseExited {
		t.Errorf("want an end with code 0 to be a failure, got %+v", e)
	}
}

// A TERM for the first process alone lets it finish what it has; one for its whole
// group kills the worker under it.
func TestAVLLMIsToldAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		version string
		group   bool
		whole   bool
	}{
		{"the first process, with time to finish", "0.24.0", false, true},
		{"the first process, of a version that cuts", "0.16.0", false, false},
		{"the whole group", "0.24.0", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := playVLLM(t, c.version)
			p.d.Args = []string{"--inter-token-latency", "20ms"}
			cmd, err := p.v.Command(p.d, p.at)
			if err != nil || !cmd.Stop.LeaderOnly || (cmd.Stop.Grace > 0) != (c.version == "0.24.0") {
				t.Fatalf("%+v, %v", cmd.Stop, err)
			}
			r := p.start(t)
			r.ready(t, p.v, p.endpoint())
			answered := make(chan error, 1)
			go func() {
				_, err := p.completion(t.Context(), p.endpoint().Model, 30)
				answered <- err
			}()
			for u := (protocol.Use{}); u.Running != 1; {
				if u, err = p.v.Use(t.Context(), p.endpoint()); err != nil {
					t.Fatal(err)
				}
			}
			to := r.cmd.Process.Pid
			if c.group {
				to = -to
			}
			if err := syscall.Kill(to, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := <-answered; (err == nil) != c.whole {
				t.Errorf("want the answer whole: %v, got %v", c.whole, err)
			}
			<-r.done
		})
	}
}

// Two ranks meet, serve as one, and end as one.
func TestARankThatDiesEndsItsGroup(t *testing.T) {
	t.Parallel()
	ranks := []*played{playVLLM(t, "0.24.0"), playVLLM(t, "0.24.0")}
	meet := freePort(t)
	for i, p := range ranks {
		p.d.Rank, p.d.Of, p.d.PipelineParallel = i, 2, 2
		p.d.LeaderAddr, p.d.LeaderPort, p.at.Addr = "127.0.0.1", meet, "127.0.0.1"
	}
	second := ranks[1].start(t)
	first := ranks[0].start(t)
	first.ready(t, ranks[0].v, ranks[0].endpoint())
	if _, err := ranks[0].completion(t.Context(), ranks[0].endpoint().Model, 3); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(second.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := first.exit(); ranks[0].v.Explain(e).Cause != protocol.CauseDriver || !strings.Contains(ranks[0].v.Explain(e).Text, "do not reach each other") {
		t.Errorf("want the leader to end for the other's sake, got %+v", ranks[0].v.Explain(e))
	}
	<-second.done

	// The other way round.
	for _, p := range ranks {
		p.at.Port, p.d.LeaderPort = freePort(t), meet
	}
	first, second = ranks[0].start(t), ranks[1].start(t)
	first.ready(t, ranks[0].v, ranks[0].endpoint())
	if err := syscall.Kill(first.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := second.exit(); e.Code == 0 || ranks[1].v.Explain(e).Cause != protocol.CauseDriver {
		t.Errorf("want the one that follows to end, too, got %+v", e)
	}
}

var _ agent.Adapters = (*engines.VLLM)(nil)
