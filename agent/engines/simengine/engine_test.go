package simengine_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/agent/engines/simengine"
)

const (
	chatPath = "/v1/chat/completions"
	second   = simengine.Duration(time.Second)
)

func TestLoading(t *testing.T) {
	inWorld(t, simengine.Config{APIKey: "k", Temper: simengine.Temper{StartupDuration: 30 * second}}, func(t *testing.T, w *world) {
		time.Sleep(30*time.Second - 1)
		w.get("/health").want(t, 503, "Loading model")
		w.get("/v1/models").want(t, 503, "Loading model")
		time.Sleep(time.Nanosecond)
		w.get("/health").want(t, 200, `"ok"`)
		w.get("/v1/models", "X-Api-Key", "k").want(t, 200, `"id":"m"`, `"owned_by":"simulated"`, `"max_model_len":4096`, `"n_ctx":4096`)
	})
}

func TestListensLate(t *testing.T) {
	inWorld(t, simengine.Config{Temper: simengine.Temper{StartupDuration: 30 * second, ListenLate: true}}, func(t *testing.T, w *world) {
		ctx, cancel := context.WithTimeout(t.Context(), 29*time.Second)
		defer cancel()
		if r := w.do(ctx, http.MethodGet, "/health", ""); !errors.Is(r.err, context.DeadlineExceeded) {
			t.Errorf("an engine that has not loaded answers %+v", r)
		}
		time.Sleep(time.Second)
		w.get("/health").want(t, 200)
	})
}

func TestKeyIsNeededEverywhereButForHealth(t *testing.T) {
	inWorld(t, simengine.Config{APIKey: "secret"}, func(t *testing.T, w *world) {
		w.get("/health").want(t, 200)
		for _, path := range []string{"/v1/models", "/metrics", "/version", "/admin/config", "/nothing"} {
			w.get(path).want(t, 401, "authentication_error")
			w.get(path, "Authorization", "Bearer secre").want(t, 401)
			w.get(path, "Authorization", "secret").want(t, 401)
		}
		w.post(chatPath, chatBody("x", "")).want(t, 401)
		w.get("/v1/models", "Authorization", "Bearer secret").want(t, 200)
		w.get("/nothing", "X-Api-Key", "secret").want(t, 404, "NotFoundError")
	})
}

// A stream keeps the times of the temper to the nanosecond, since the bubble's clock moves only when all wait.
func TestTimes(t *testing.T) {
	temper := simengine.Temper{TimeToFirstToken: second, PrefillTimePerToken: second / 100, InterTokenLatency: second / 10, Say: "tok", OutputTokens: 4}
	inWorld(t, simengine.Config{Temper: temper}, func(t *testing.T, w *world) {
		began := time.Now()
		body := chatBody("one two three four", `,"stream":true,"stream_options":{"include_usage":true}`)
		resp, err := w.client.Post("http://engine"+chatPath, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var at []time.Duration
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if strings.Contains(lines.Text(), "tok") && strings.Contains(lines.Text(), `"content"`) {
				at = append(at, time.Since(began))
			}
		}
		first := time.Second + 60*time.Millisecond // four words and two marks
		for i, d := range at {
			if want := first + time.Duration(i)*100*time.Millisecond; d != want {
				t.Errorf("token %d came after %v, want %v", i, d, want)
			}
		}
		if len(at) != 4 {
			t.Errorf("%d tokens came, want 4", len(at))
		}
	})
}

func TestPrefixCache(t *testing.T) {
	long := strings.Repeat(" word", 40)
	ask := func(w *world, text string) (cached int64, took time.Duration) {
		began := time.Now()
		r := w.post(chatPath, chatBody(text, ""))
		r.want(t, 200)
		return r.facts().Usage.CachedTokens, time.Since(began)
	}
	inWorld(t, simengine.Config{Temper: simengine.Temper{PrefillTimePerToken: second}}, func(t *testing.T, w *world) {
		if cached, took := ask(w, long); cached != 0 || took != 42*time.Second {
			t.Errorf("first: %d cached after %v, want 0 after 42s", cached, took)
		}
		if cached, took := ask(w, long); cached != 32 || took != 10*time.Second {
			t.Errorf("again: %d cached after %v, want two blocks after 10s", cached, took)
		}
		if cached, _ := ask(w, "other"+long); cached != 0 {
			t.Errorf("another beginning: %d cached, want none", cached)
		}
		w.get("/metrics").want(t, 200, `vllm:prefix_cache_queries_total{model_name="m",engine="0"} 127`, `vllm:prefix_cache_hits_total{model_name="m",engine="0"} 32`)
	})
}

func TestQueueAndCancel(t *testing.T) {
	temper := simengine.Temper{MaxNumSeqs: 1, MaxWaiting: 1, TimeToFirstToken: 60 * second}
	inWorld(t, simengine.Config{Temper: temper}, func(t *testing.T, w *world) {
		counts := func(running, waiting int) {
			t.Helper()
			synctest.Wait()
			if c := w.engine.Counts(); c.Running != running || c.Waiting != waiting {
				t.Errorf("%d run and %d wait, want %d and %d", c.Running, c.Waiting, running, waiting)
			}
		}
		ctx, leave := context.WithCancel(t.Context())
		first := w.later(ctx, chatBody("a", ""))
		next := w.later(t.Context(), chatBody("b", ""))
		counts(1, 1)
		w.get("/metrics").want(t, 200, `num_requests_running{model_name="m",engine="0"} 1`, `num_requests_waiting{model_name="m",engine="0"} 1`)
		third := w.post(chatPath, chatBody("c", ""))
		third.want(t, 429, "queue is full")
		if third.header.Get("Retry-After") == "" {
			t.Error("429 without Retry-After")
		}
		began := time.Now()
		leave()
		<-first
		counts(1, 0) // the slot was free at once
		(<-next).want(t, 200)
		if took := time.Since(began); took != time.Minute {
			t.Errorf("the next one took %v after the first left, want 1m0s", took)
		}
		counts(0, 0)
		if c := w.engine.Counts(); c.Aborted != 1 || c.Finished != 1 {
			t.Errorf("counts are %+v, want one aborted and one finished", c)
		}
		// One that leaves while it waits leaves no trace.
		ctx, leave = context.WithCancel(t.Context())
		running := w.later(t.Context(), chatBody("d", ""))
		waiting := w.later(ctx, chatBody("e", ""))
		leave()
		<-waiting
		counts(1, 0)
		(<-running).want(t, 200)
	})
}

func TestRefusals(t *testing.T) {
	inWorld(t, simengine.Config{Temper: simengine.Temper{MaxModelLen: 20}}, func(t *testing.T, w *world) {
		w.post(chatPath, `{"model":"other","messages":[{"role":"user","content":"x"}]}`).want(t, 404, "The model `other` does not exist.", "NotFoundError")
		w.post(chatPath, chatBody(strings.Repeat("a ", 17), "")).want(t, 400, "maximum context length is 20 tokens", "20 input tokens", "BadRequestError")
		w.post(chatPath, chatBody("a", `,"max_tokens":18`)).want(t, 400, "3 input tokens plus 18 'max_tokens'")
		w.post(chatPath, chatBody("a", `,"max_tokens":17`)).want(t, 200)
		w.post(chatPath, `{"model":"m"}`).want(t, 400, "messages")
		w.post(chatPath, `{"model":`).want(t, 400, "ends in the middle")
		w.post("/v1/completions", `{"model":"m","prompt":{}}`).want(t, 400, "prompt")
		w.post("/v1/embeddings", `{"model":"m","input":"`+strings.Repeat("a ", 21)+`"}`).want(t, 400, "maximum context length")
		w.post(chatPath, chatBody("a", ""), "X-Return-Error", "418").want(t, 418, "418")
	})
}

func TestFailuresAtOnce(t *testing.T) {
	inWorld(t, simengine.Config{}, func(t *testing.T, w *world) {
		for kind, status := range map[simengine.Failure]int{
			simengine.FailRateLimit: 429, simengine.FailServerError: 500, simengine.FailInvalidKey: 401,
			simengine.FailContextLength: 400, simengine.FailInvalid: 400, simengine.FailModelNotFound: 404,
		} {
			w.post("/admin/config", `{"failure_injection_rate":100,"failure_types":["`+string(kind)+`"]}`).want(t, 200)
			w.post(chatPath, chatBody("x", "")).want(t, status)
			w.post("/v1/embeddings", `{"model":"m","input":"x"}`).want(t, status)
		}
		w.post("/admin/config", `{"failure_injection_rate":0}`).want(t, 200)
		w.post(chatPath, chatBody("x", "")).want(t, 200)
		w.post("/admin/config", `{"failure_types":["nonsense"]}`).want(t, 400, "no way to fail")
		w.post("/admin/config", `{"nonsense":1}`).want(t, 400, "nonsense")
	})
}

func TestFailureRate(t *testing.T) {
	inWorld(t, simengine.Config{Seed: 7, Temper: simengine.Temper{FailureRate: 30}}, func(t *testing.T, w *world) {
		failed := 0
		for range 200 {
			if w.post(chatPath, chatBody("x", "")).status != 200 {
				failed++
			}
		}
		if failed < 40 || failed > 80 {
			t.Errorf("%d of 200 failed, want about 60", failed)
		}
	})
}

func TestFailuresInTheMiddle(t *testing.T) {
	stream := chatBody("x", `,"stream":true`)
	temper := simengine.Temper{FailureRate: 100, FailAfter: 2, Say: "tok", OutputTokens: 5}
	with := func(f simengine.Failure) simengine.Config {
		temper.Failures = []simengine.Failure{f}
		return simengine.Config{Temper: temper}
	}
	t.Run("cut", func(t *testing.T) {
		inWorld(t, with(simengine.FailCut), func(t *testing.T, w *world) {
			r := w.post(chatPath, stream)
			if all := r.tally(); r.err == nil || all.ContentEvents != 2 || all.Done || all.Failed {
				t.Errorf("the stream ends with %v after %+v, want it cut after 2 tokens", r.err, all)
			}
			if r := w.post(chatPath, chatBody("x", "")); !errors.Is(r.err, io.ErrUnexpectedEOF) || r.status != 200 || r.body == "" {
				t.Errorf("the answer is %d %q (%v), want half of it", r.status, r.body, r.err)
			}
		})
	})
	t.Run("in band", func(t *testing.T) {
		inWorld(t, with(simengine.FailInBand), func(t *testing.T, w *world) {
			r := w.post(chatPath, stream)
			if all := r.tally(); r.err != nil || r.status != 200 || all.ContentEvents != 2 || !all.Failed || all.Done {
				t.Errorf("the stream is %+v (%v), want an error after 2 tokens and no end mark", all, r.err)
			}
			if r := w.post(chatPath, chatBody("x", "")); r.status != 200 || !r.facts().Failed {
				t.Errorf("the answer is %d %s", r.status, r.body)
			}
		})
	})
	t.Run("hang", func(t *testing.T) {
		inWorld(t, with(simengine.FailHang), func(t *testing.T, w *world) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			c := w.later(ctx, stream)
			w.get("/health").want(t, 200)
			w.get("/metrics").want(t, 200, `num_requests_running{model_name="m",engine="0"} 1`)
			if r := <-c; !errors.Is(r.err, context.DeadlineExceeded) {
				t.Errorf("a request that hangs ends with %v", r.err)
			}
		})
	})
}

func TestDie(t *testing.T) {
	codes := make(chan int, 1)
	cfg := simengine.Config{
		OnExit: func(code int) { codes <- code },
		Temper: simengine.Temper{FailureRate: 100, Failures: []simengine.Failure{simengine.FailDie}, DieExit: 0, Say: "tok"},
	}
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		codes = make(chan int, 1)
		p := newPipes()
		cfg.Listener, cfg.Models = p, []string{"m"}
		e, err := simengine.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{DialContext: p.dial}
		w := &world{t: t, engine: e, client: &http.Client{Transport: transport}}
		c := w.later(t.Context(), chatBody("x", `,"stream":true`))
		exit, ok := errors.AsType[*simengine.ExitError](e.Run(t.Context()))
		if !ok || exit.Code != 0 {
			t.Errorf("Run returns %v, want an exit with code 0, which is no success", exit)
		}
		if code := <-codes; code != 0 {
			t.Errorf("OnExit got %d", code)
		}
		if r := <-c; r.err == nil {
			t.Errorf("the request ends well: %+v", r)
		}
		if r := w.get("/health"); r.err == nil {
			t.Errorf("a dead engine answers %+v", r)
		}
		transport.CloseIdleConnections()
	})
}
