package engines_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/agent"
	"llmgw.io/llmgw/agent/engines"
	"llmgw.io/llmgw/agent/engines/simengine"
	"llmgw.io/llmgw/agent/protocol"
)

const testModel = "team/chat"

// fake is an engine whose answers can be changed path by path.
type fake struct {
	key string
	on  map[string]http.HandlerFunc
}

func newFake() *fake {
	say := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }
	}
	return &fake{key: testKey, on: map[string]http.HandlerFunc{
		"/health":         say(`{"status":"ok"}`),
		"/v1/models":      say(`{"object":"list","data":[{"id":"team/chat"}]}`),
		"/v1/completions": say(`{"choices":[{"text":" a"}]}`),
		"/metrics":        say("llamacpp:requests_processing 2\nllamacpp:requests_deferred 3\nllamacpp:requests_processing_total 99\nllamacpp:n_decode_total 41\n"),
	}}
}

// ServeHTTP asks for the key everywhere but on /health.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.key != "" && r.URL.Path != "/health" && r.Header.Get("Authorization") != "Bearer "+f.key {
		http.Error(w, `{"error":{"message":"Invalid API Key"}}`, http.StatusUnauthorized)
		return
	}
	if h := f.on[r.URL.Path]; h != nil {
		h(w, r)
		return
	}
	http.Error(w, `{"error":{"message":"File Not Found"}}`, http.StatusNotFound)
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, body, code) }
}

// serve puts a handler on a real port, as an engine is.
func serve(t *testing.T, h http.Handler) protocol.Endpoint {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return protocol.Endpoint{Address: strings.TrimPrefix(s.URL, "http://"), Key: testKey, Model: testModel}
}

func TestReadyTellsOursFromOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		change  func(*fake)
		foreign bool
		want    string // of the error; empty: ready
	}{
		{"ours", func(*fake) {}, false, ""},
		{"loading", func(f *fake) {
			f.on["/health"] = status(503, `{"error":{"message":"Loading model"}}`)
		}, false, "503, Loading model"},
		{"loading again", func(f *fake) { f.on["/v1/models"] = status(503, "x") }, false, "/v1/models with 503"},
		{"a web site", func(f *fake) { f.on["/health"] = status(404, "<html>") }, true, "which no engine does"},
		{"a redirect", func(f *fake) { f.on["/health"] = http.RedirectHandler("/login", http.StatusFound).ServeHTTP }, true, "302"},
		{"without a key", func(f *fake) { f.key = "" }, true, "takes a key that is not the engine's"},
		{"a site that likes everything", func(f *fake) {
			f.key = ""
			f.on["/v1/models"] = status(404, "<html>")
		}, true, "would have refused the key"},
		{"another key", func(f *fake) { f.key = "other" }, true, "refuses the engine's key"},
		{"another model", func(f *fake) {
			f.on["/v1/models"] = status(200, `{"data":[{"id":"team/chat-2"}]}`)
		}, true, "serves team/chat-2 instead of team/chat"},
		{"one of several names", func(f *fake) {
			f.on["/v1/models"] = status(200, `{"data":[{"id":"a"},{"id":"team/chat"}]}`)
		}, false, ""},
		{"no list", func(f *fake) { f.on["/v1/models"] = status(200, "<html>hello</html>") }, true, "are no models"},
		{"broken", func(f *fake) {
			f.on["/v1/completions"] = status(500, `{"error":{"message":"decode failed"}}`)
		}, false, "500, decode failed"},
		{"empty answer", func(f *fake) { f.on["/v1/completions"] = status(200, "{}") }, false, "/v1/completions with 200"},
		{"embeddings only", func(f *fake) {
			f.on["/v1/completions"] = status(501, `{"error":{"message":"no completions"}}`)
			f.on["/v1/embeddings"] = status(200, `{"data":[{"embedding":[1]}]}`)
		}, false, ""},
		{"ranking only", func(f *fake) {
			f.on["/v1/completions"] = status(400, "x")
			f.on["/v1/rerank"] = status(200, `{"results":[{"index":0}]}`)
		}, false, ""},
		{"embeddings that fail", func(f *fake) {
			f.on["/v1/completions"] = status(501, "x")
			f.on["/v1/embeddings"] = status(500, "y")
		}, false, "/v1/embeddings with 500"},
		{"nothing works", func(f *fake) {
			f.on["/v1/completions"] = status(501, `{"error":{"message":"no completions"}}`)
		}, false, "no completions"},
		{"endless answer", func(f *fake) {
			f.on["/v1/completions"] = func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, strings.Repeat(" ", 5<<20))
			}
		}, false, "too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			c.change(f)
			err := engines.New(engines.Config{}).LlamaCPP.Ready(t.Context(), serve(t, f))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Fatalf("want %q, got %v", c.want, err)
			}
			if errors.Is(err, protocol.ErrForeign) != c.foreign {
				t.Errorf("foreign: want %v, got %v", c.foreign, err)
			}
		})
	}
}

func TestOurKeyIsShownOnlyToAListenerThatRefusedAnother(t *testing.T) {
	t.Parallel()
	var shown bool
	e := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown = shown || strings.Contains(r.Header.Get("Authorization"), testKey)
		fmt.Fprint(w, `{"data":[{"id":"team/chat"}]}`)
	}))
	if err := engines.New(engines.Config{}).LlamaCPP.Ready(t.Context(), e); !errors.Is(err, protocol.ErrForeign) {
		t.Errorf("want a foreign listener, got %v", err)
	}
	if shown {
		t.Error("the key was shown to a listener that takes any")
	}
}

func TestReadyOfNobodyAndOfOtherProtocols(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := protocol.Endpoint{Address: l.Addr().String(), Key: testKey, Model: testModel}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if c, err := l.Accept(); err == nil {
			fmt.Fprint(c, "SSH-2.0-other\r\n")
			c.Close()
		}
	}()
	llama := engines.New(engines.Config{}).LlamaCPP
	if err := llama.Ready(t.Context(), e); !errors.Is(err, protocol.ErrForeign) {
		t.Errorf("another protocol: want a foreign listener, got %v", err)
	}
	<-served
	l.Close()
	if err := llama.Ready(t.Context(), e); err == nil || errors.Is(err, protocol.ErrForeign) {
		t.Errorf("nobody listens: want it not ready yet, got %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := llama.Ready(ended, e); !errors.Is(err, context.Canceled) {
		t.Errorf("want the context's end, got %v", err)
	}
}

// A program that changes the protocol would keep its caller for ever, beyond the
// context's end, and its shard could never be stopped.
func TestReadyOfWhatChangesTheProtocol(t *testing.T) {
	t.Parallel()
	e := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		_, _ = conn.Read(make([]byte, 1)) // until it is closed
	}))
	if err := engines.New(engines.Config{}).LlamaCPP.Ready(t.Context(), e); !errors.Is(err, protocol.ErrForeign) {
		t.Errorf("want a foreign listener, got %v", err)
	}
}

func TestReadyNeedsAKeyToTellByIt(t *testing.T) {
	t.Parallel()
	e := serve(t, newFake())
	e.Key = ""
	if err := engines.New(engines.Config{}).LlamaCPP.Ready(t.Context(), e); err == nil || errors.Is(err, protocol.ErrForeign) {
		t.Errorf("want an error that blames nobody, got %v", err)
	}
}

func TestUseMatchesWholeNamesAndAddsLabels(t *testing.T) {
	t.Parallel()
	set := engines.New(engines.Config{})
	f := newFake()
	e := serve(t, f)
	if u, err := set.LlamaCPP.Use(t.Context(), e); u.Running != 2 || u.Waiting != 3 || err != nil {
		t.Errorf("want 2 running and 3 waiting, got %+v, %v", u, err)
	}
	if n, err := set.LlamaCPP.Generated(t.Context(), e); n != 41 || err != nil {
		t.Errorf("want 41 decodings, got %d, %v", n, err)
	}
	if u, err := set.Sim.Use(t.Context(), e); u != (protocol.Use{Running: -1, Waiting: -1}) || err != nil {
		t.Errorf("metrics of another engine: want nothing said, got %+v, %v", u, err)
	}
	if _, err := set.Sim.Generated(t.Context(), e); err == nil {
		t.Error("metrics of another engine: want an error for a count that is not there")
	}
	f.on["/metrics"] = status(200, "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine=\"0\"} 4\nvllm:num_requests_running{engine=\"1\"} 5\n")
	if u, err := set.Sim.Use(t.Context(), e); u.Running != 9 || u.Waiting != -1 || err != nil {
		t.Errorf("two ranks: want 9 running and nothing on waiting, got %+v, %v", u, err)
	}
	for name, h := range map[string]http.HandlerFunc{"off": status(501, "x"), "no metrics": status(200, "<html>\n")} {
		f.on["/metrics"] = h
		if u, err := set.LlamaCPP.Use(t.Context(), e); u.Running != -1 || u.Waiting != -1 || err == nil {
			t.Errorf("%s: want an error, got %+v, %v", name, u, err)
		}
	}
}

// Every engine says its load in one shape, in the names of each of its versions.
func TestUseHasOneShape(t *testing.T) {
	t.Parallel()
	num := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		name, engine, metrics, slots string
		want                         protocol.Use
		moved                        int64
	}{
		{
			"vLLM, two ranks", "vllm", `# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3
vllm:num_requests_running{engine="1",model_name="m"} 1
vllm:num_requests_waiting{engine="0",model_name="m"} 2
# TYPE vllm:num_requests_waiting_by_reason gauge
vllm:num_requests_waiting_by_reason{engine="0",model_name="m",reason="capacity"} 90
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.5
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.25
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 800
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 200
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="m"} 7
# TYPE vllm:iteration_tokens_total histogram
vllm:iteration_tokens_total_bucket{engine="0",model_name="m",le="+Inf"} 5
vllm:iteration_tokens_total_sum{engine="0",model_name="m"} 900
vllm:iteration_tokens_total_count{engine="0",model_name="m"} 5
`, "", protocol.Use{Running: 4, Waiting: 2, KVUse: num(0.375), PrefixHits: num(0.25)}, 12,
		},
		{
			"vLLM before 0.10, and no prompt yet", "vllm", "vllm:num_requests_running 0\nvllm:num_requests_waiting 0\nvllm:gpu_cache_usage_perc 0\nvllm:prefix_cache_queries_total 0\nvllm:prefix_cache_hits_total 0\nvllm:generation_tokens_total 0\n", "",
			protocol.Use{KVUse: num(0)},
			0,
		},
		{
			"vLLM without a prefix cache", "vllm", "vllm:num_requests_running 1\nvllm:kv_cache_usage_perc NaN\nvllm:generation_tokens_total 3\n", "",
			protocol.Use{Running: 1, Waiting: -1},
			3,
		},
		{
			"llama-server", "llamacpp", "llamacpp:requests_processing 1\nllamacpp:requests_deferred 0\nllamacpp:n_decode_total 9\nllamacpp:prompt_tokens_total 30\nllamacpp:prompt_tokens_cached_total 10\n",
			`[{"n_ctx":1000,"is_processing":true,"n_prompt_tokens":500},{"n_ctx":1000,"is_processing":false,"n_prompt_tokens":900}]`,
			protocol.Use{Running: 1, KVUse: num(0.25), PrefixHits: num(0.25)},
			9,
		},
		{
			"llama-server whose slots do not count tokens", "llamacpp", "llamacpp:requests_processing 1\nllamacpp:requests_deferred 0\nllamacpp:n_decode_total 9\n",
			`[{"n_ctx":1000,"is_processing":true}]`,
			protocol.Use{Running: 1},
			9,
		},
		{
			"llama-server without slots", "llamacpp", "llamacpp:requests_processing 1\nllamacpp:requests_deferred 0\nllamacpp:n_decode_total 9\n", "",
			protocol.Use{Running: 1},
			9,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.on["/metrics"] = status(200, c.metrics)
			if c.slots != "" {
				f.on["/slots"] = status(200, c.slots)
			}
			set, at := engines.New(engines.Config{}), serve(t, f)
			engine := map[string]interface {
				agent.Health
				agent.Progress
			}{"vllm": set.VLLM, "llamacpp": set.LlamaCPP}[c.engine]
			got, err := engine.Use(t.Context(), at)
			if d := cmp.Diff(c.want, got); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
			if n, err := engine.Generated(t.Context(), at); n != c.moved || err != nil {
				t.Errorf("want it to have come to %d, got %d, %v", c.moved, n, err)
			}
		})
	}
}

// A token that nobody needs costs a prompt that somebody kept.
func TestATokenIsAskedForWhereNothingElseShowsWork(t *testing.T) {
	t.Parallel()
	var tokens int
	f := newFake()
	whole := f.on["/v1/completions"]
	f.on["/v1/completions"] = func(w http.ResponseWriter, r *http.Request) {
		tokens++
		whole(w, r)
	}
	e := serve(t, f)
	llama := engines.New(engines.Config{}).LlamaCPP
	for _, c := range []struct {
		name                      string
		decoded, running, waiting int
		asked                     bool
	}{
		{"it never generated", 0, 0, 0, true},
		{"it is idle", 1, 0, 0, false},
		{"it is idle still", 1, 0, 0, false},
		{"it has work and stands still", 1, 1, 0, true},
		{"it came further", 7, 1, 3, false},
		{"it stands still", 7, 1, 3, true},
		{"it lets others wait", 7, 0, 3, true},
		{"it was started anew", 2, 1, 0, false},
	} {
		f.on["/metrics"] = status(200, fmt.Sprintf("llamacpp:n_decode_total %d\nllamacpp:requests_processing %d\nllamacpp:requests_deferred %d\n", c.decoded, c.running, c.waiting))
		tokens = 0
		if err := llama.Ready(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if got := tokens > 0; got != c.asked {
			t.Errorf("%s: asked for a token: want %v, got %v", c.name, c.asked, got)
		}
	}
	f.on["/metrics"] = status(501, "x")
	tokens = 0
	if err := llama.Ready(t.Context(), e); err != nil || tokens != 1 {
		t.Errorf("without metrics: want a token asked for, got %d, %v", tokens, err)
	}
}

// The simulated engine is the second real counterpart.
func TestTheSimulatedEngineIsReadyAndCounts(t *testing.T) {
	t.Parallel()
	e, err := simengine.New(simengine.Config{Models: []string{testModel}, APIKey: testKey, Temper: simengine.Temper{
		StartupDuration: simengine.Duration(50 * time.Millisecond),
	}})
	if err != nil {
		t.Fatal(err)
	}
	at := serve(t, e)
	sim := engines.New(engines.Config{}).Sim
	for {
		err := sim.Ready(t.Context(), at)
		if err == nil {
			break
		}
		if errors.Is(err, protocol.ErrForeign) {
			t.Fatalf("while it loads it is not foreign: %v", err)
		}
	}
	if n, err := sim.Generated(t.Context(), at); n < 1 || err != nil {
		t.Errorf("want the probe's token counted, got %d, %v", n, err)
	}
	if u, err := sim.Use(t.Context(), at); u.Running != 0 || u.Waiting != 0 || u.KVUse == nil || *u.KVUse != 0 || err != nil {
		t.Errorf("want it idle, got %+v, %v", u, err)
	}
	at.Model = "team/other"
	if err := sim.Ready(t.Context(), at); !errors.Is(err, protocol.ErrForeign) {
		t.Errorf("another name: want a foreign engine, got %v", err)
	}
}
