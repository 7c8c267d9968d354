//go:build unix

package engines_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/engines"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/internal/tinygguf"
)

// realLlama is the driver of a real llama-server, for the tests that show that
// what is written here about it is so.
func realLlama(t *testing.T) *engines.LlamaCPP {
	t.Helper()
	path := os.Getenv("LLMGW_LLAMA_SERVER")
	if path == "" {
		found, err := exec.LookPath("llama-server")
		if err != nil {
			t.Skip("no llama-server: LLMGW_LLAMA_SERVER names none and none is on the PATH; make test sets it after make llama")
		}
		path = found
	}
	l := engines.New(engines.Config{LlamaServer: path}).LlamaCPP
	builds := l.Installed(t.Context())
	if len(builds) == 0 || builds[0].Version == "" {
		t.Fatalf("the llama-server at %s counts as not installed: %v", path, builds)
	}
	return l
}

// world is a shard to start and where.
type world struct {
	d  protocol.DesiredShard
	at protocol.Launch
}

// newWorld writes a tiny model and picks a port. One core and passive waiting
// are what keeps a test machine usable.
func newWorld(t *testing.T, o tinygguf.Options) *world {
	t.Helper()
	dir := t.TempDir()
	model := filepath.Join(dir, "m.gguf")
	if err := tinygguf.Write(model, o); err != nil {
		t.Fatal(err)
	}
	w := &world{d: shardOf(catalog.EngineLlamaCPP)}
	w.d.Cores, w.d.Context, w.d.Slots = 1, 512, 2
	w.at = protocol.Launch{Weights: []string{model}, Host: "127.0.0.1", Port: freePort(t), Dir: dir}
	return w
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (w *world) endpoint() protocol.Endpoint {
	return protocol.Endpoint{
		Address: net.JoinHostPort(w.at.Host, strconv.Itoa(w.at.Port)),
		Key:     w.d.EngineKey, Model: string(w.d.Model),
	}
}

// running is a started engine.
type running struct {
	cmd  *exec.Cmd
	done chan struct{}

	mu  sync.Mutex
	log bytes.Buffer
}

// Write takes the engine's log.
func (r *running) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(b)
}

func (r *running) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Split(strings.TrimSpace(r.log.String()), "\n")
}

// start starts it as the agent does: by the driver's command and nothing else.
func (w *world) start(t *testing.T, l *engines.LlamaCPP) *running {
	t.Helper()
	c, err := l.Command(w.d, w.at)
	if err != nil {
		t.Fatal(err)
	}
	return startCommand(t, c, w.at.Dir)
}

// startCommand starts a command in a process group of its own, which is gone when
// the test is over.
func startCommand(t *testing.T, c protocol.Command, dir string) *running {
	t.Helper()
	r := &running{done: make(chan struct{})}
	r.cmd = exec.CommandContext(t.Context(), c.Path, c.Args...)
	r.cmd.Env, r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = c.Env, dir, r, r
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.done)
		_ = r.cmd.Wait()
	}()
	t.Cleanup(func() { <-r.done })
	return r
}

// says waits until it has said something, or has ended. False: it does neither.
func (r *running) says(what string) bool {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	late := time.After(time.Minute)
	for !strings.Contains(strings.Join(r.lines(), "\n"), what) {
		select {
		case <-r.done:
			return true
		case <-late:
			return false
		case <-look.C:
		}
	}
	return true
}

// exit is how it ended, as the agent would report it.
func (r *running) exit() protocol.Exit {
	<-r.done
	e := protocol.Exit{Code: r.cmd.ProcessState.ExitCode(), LastLines: r.lines()}
	if ws, ok := r.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Code, e.Signal = -1, int(ws.Signal())
	}
	return e
}

// ready waits until the engine is.
func (r *running) ready(t *testing.T, l agent.Engine, e protocol.Endpoint) {
	t.Helper()
	for {
		err := l.Ready(t.Context(), e)
		if err == nil {
			return
		}
		select {
		case <-r.done:
			t.Fatalf("it ended: %v\n%s", l.Explain(r.exit()), strings.Join(r.lines(), "\n"))
		default:
		}
		if errors.Is(err, protocol.ErrForeign) || t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

func TestARealEngineIsReadyUnderItsKeyAndName(t *testing.T) {
	t.Parallel()
	l := realLlama(t)
	w := newWorld(t, tinygguf.Options{})
	adapter := filepath.Join(w.at.Dir, "law.gguf")
	if err := tinygguf.WriteAdapter(adapter, tinygguf.Options{}, tinygguf.Adapter{Say: []string{"cherry"}}); err != nil {
		t.Fatal(err)
	}
	w.at.Adapters = []protocol.NamedFile{{Name: "law", Path: adapter}}
	r := w.start(t, l)
	e := w.endpoint()
	r.ready(t, l, e)
	for name, change := range map[string]func(*protocol.Endpoint){
		"another key":   func(e *protocol.Endpoint) { e.Key += "x" },
		"another model": func(e *protocol.Endpoint) { e.Model = "team/other" },
	} {
		other := e
		change(&other)
		if err := l.Ready(t.Context(), other); !errors.Is(err, protocol.ErrForeign) {
			t.Errorf("%s: want the engine to count as foreign, got %v", name, err)
		}
	}
	if u, err := l.Use(t.Context(), e); u.Running != 0 || u.Waiting != 0 || u.KVUse == nil || *u.KVUse != 0 || err != nil {
		t.Errorf("want it idle, got %+v, %v", u, err)
	}
	n, err := l.Generated(t.Context(), e)
	if n < 1 || err != nil {
		t.Errorf("want the probe's token counted, got %d, %v", n, err)
	}
	if err := l.Ready(t.Context(), e); err != nil {
		t.Errorf("asked again: want it ready, got %v", err)
	}
	if again, err := l.Generated(t.Context(), e); again != n || err != nil {
		t.Errorf("want an idle engine left alone, got %d decodings after %d, %v", again, n, err)
	}
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := r.exit(); got.Code != 0 {
		t.Errorf("idle: want one TERM to end it with 0, got %+v", got)
	}
	if got := l.Explain(r.exit()); got.Cause != protocol.CauseExited {
		t.Errorf("want an end nobody asked for to be a failure in spite of its code, got %+v", got)
	}
}

// One TERM with a request in flight leaves an engine that generates nothing and
// still answers /health; the second one ends it.
func TestARealEngineInFlightNeedsTwoTERMs(t *testing.T) {
	t.Parallel()
	l := realLlama(t)
	w := newWorld(t, tinygguf.Options{MB: 50, End: -30})
	w.d.Context, w.d.Slots = 2048, 1
	r := w.start(t, l)
	e := w.endpoint()
	r.ready(t, l, e)
	gone, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		body := strings.NewReader(`{"prompt":"x","max_tokens":100000}`)
		req, err := http.NewRequestWithContext(gone, http.MethodPost, "http://"+e.Address+"/v1/completions", body)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+e.Key)
		if res, err := http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
		}
	}()
	for u := (protocol.Use{}); u.Running < 1 || u.KVUse == nil || *u.KVUse == 0; {
		if u, _ = l.Use(t.Context(), e); t.Context().Err() != nil {
			t.Fatalf("want it to work and to say how full it is, got %+v", u)
		}
	}
	first, err := l.Generated(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	for n := first; n == first && err == nil; {
		n, err = l.Generated(t.Context(), e)
	}
	if err != nil {
		t.Fatalf("want the count to move in the middle of a request, got %v", err)
	}
	for _, said := range []string{"cleaning up before exit", "Received second interrupt"} {
		if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if !r.says(said) {
			_ = r.cmd.Process.Kill()
			t.Skipf("it never said %q: now and then a llama-server is caught in its own handler of signals, where nothing but KILL ends it, as the agent does", said)
		}
	}
	// It exits with 1, or is caught by its own threads while it does and aborts.
	if got := r.exit(); got.Code != 1 && got.Signal != int(syscall.SIGABRT) {
		t.Errorf("want the second TERM to end it, got %+v", got)
	}
	<-answered
}

func TestARealEnginesFailuresAreClassified(t *testing.T) {
	t.Parallel()
	l := realLlama(t)
	for _, c := range []struct {
		name  string
		o     tinygguf.Options
		spoil func(*testing.T, *world)
		cause protocol.Cause
	}{
		{"truncated", tinygguf.Options{Cut: 100_000}, nil, protocol.CauseModel},
		{"no GGUF", tinygguf.Options{}, func(t *testing.T, w *world) {
			if err := os.WriteFile(w.at.Weights[0], []byte("this is text"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, protocol.CauseModel},
		{"missing", tinygguf.Options{}, func(_ *testing.T, w *world) { w.at.Weights[0] += ".gone" }, protocol.CauseFile},
		{"part missing", tinygguf.Options{MB: 2, Split: 2}, func(t *testing.T, w *world) {
			w.at.Weights[0] = filepath.Join(w.at.Dir, "m-00001-of-00002.gguf")
			if err := os.Remove(filepath.Join(w.at.Dir, "m-00002-of-00002.gguf")); err != nil {
				t.Fatal(err)
			}
		}, protocol.CauseFile},
		{"bad flag", tinygguf.Options{}, func(_ *testing.T, w *world) { w.d.Args = []string{"--nope"} }, protocol.CauseFlag},
		{"bad value", tinygguf.Options{}, func(_ *testing.T, w *world) { w.d.Args = []string{"--pooling", "some"} }, protocol.CauseFlag},
		{"removed flag", tinygguf.Options{}, func(_ *testing.T, w *world) { w.d.Args = []string{"--draft", "3"} }, protocol.CauseFlag},
		{"model as adapter", tinygguf.Options{}, func(_ *testing.T, w *world) {
			w.at.Adapters = []protocol.NamedFile{{Name: "a", Path: w.at.Weights[0]}}
		}, protocol.CauseModel},
		{"port in use", tinygguf.Options{}, func(t *testing.T, w *world) {
			held, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { held.Close() })
			w.at.Port = held.Addr().(*net.TCPAddr).Port
		}, protocol.CausePort},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.o)
			if c.spoil != nil {
				c.spoil(t, w)
			}
			e := w.start(t, l).exit()
			if got := l.Explain(e); got.Cause != c.cause {
				t.Errorf("want %s, got %+v (code %d) from\n%s", c.cause, got, e.Code, strings.Join(e.LastLines, "\n"))
			}
		})
	}
}

func TestARealEngineThatEmbedsIsReady(t *testing.T) {
	t.Parallel()
	l := realLlama(t)
	w := newWorld(t, tinygguf.Options{Pooling: "mean"})
	w.d.Args = []string{"--embeddings"}
	w.start(t, l).ready(t, l, w.endpoint())
}
