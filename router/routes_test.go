package router_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/routertest"
	"llmgw.io/llmgw/storage"
)

// bodyOn is the least that a route takes, for the model m.
func bodyOn(t *testing.T, path string) string {
	t.Helper()
	body, ok := map[string]string{chatPath: chatBody, completionPath: `{"model":"m","prompt":"p"}`, embeddingPath: `{"model":"m","input":"i"}`}[path]
	if !ok {
		t.Fatalf("there is no body for the route %s", path)
	}
	return body
}

// carriers are the routes that carry a body to a replica.
func carriers() (paths []string) {
	for _, r := range router.Routes() {
		if r.Method == http.MethodPost {
			paths = append(paths, r.Path)
		}
	}
	return paths
}

// A client's key is ours alone: no engine and nobody else's endpoint ever sees
// it, on no route, in no place where clients put keys (BerriAI/litellm#32202).
func TestClientKeyStaysHere(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		ours, theirs, open := &routertest.Engine{Answer: routertest.JSON(503, loading)}, &routertest.Engine{Lists: []string{"n"}}, &routertest.Engine{Lists: []string{"o"}}
		w.serve("theirs", theirs)
		w.serve("open", open)
		credential := "sk-of-the-provider"
		static := func(host string, key *string) []catalog.Profile {
			return []catalog.Profile{{Name: "s", Engine: catalog.EngineStatic, Endpoints: []catalog.Endpoint{{URL: "http://" + host + ":1", Key: key}}}}
		}
		w.catalog.Set(
			catalog.Model{Name: "m", Profiles: managed(), Fallbacks: []catalog.Name{"n"}},
			catalog.Model{Name: "n", Profiles: static("theirs", &credential)}, catalog.Model{Name: "o", Profiles: static("open", nil)},
		)
		w.fleet.Set("m", w.serve("r1", ours))
		for _, path := range carriers() {
			for _, model := range []string{`"m"`, `"o"`} {
				req := w.request(http.MethodPost, path+"?api_key="+w.key, strings.Replace(bodyOn(t, path), `"m"`, model, 1))
				for _, name := range []string{"X-Api-Key", "Api-Key", "Proxy-Authorization", "Cookie", "X-Custom"} {
					req.Header.Set(name, w.key)
				}
				if a := w.do(req); a.status != 200 {
					t.Errorf("%s of %s is answered %d %s", path, model, a.status, a.body)
				}
			}
		}
		for name, want := range map[*routertest.Engine]string{ours: "Bearer engine-secret-r1", theirs: "Bearer " + credential, open: ""} {
			calls := name.Calls()
			if len(calls) != len(carriers()) {
				t.Errorf("there were %d calls", len(calls))
			}
			for _, call := range calls {
				if got := call.Header.Get("Authorization"); got != want {
					t.Errorf("%s came with the credential %q, want %q", call.Path, got, want)
				}
				if all := fmt.Sprint(call.Header, call.Request.URL, string(call.Body)); strings.Contains(all, w.key) || strings.Contains(all, w.keyID) {
					t.Errorf("%s came with the client's key: %s", call.Path, all)
				}
			}
		}
	})
}

// Either name of the limit is understood; where both are given and differ the
// newer one is sent alone, so that every engine takes it (0xzr/freellmpool#93).
// Names of engines' own for the same would beat both, and are taken out.
func TestLimitOfTokens(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		e := w.one(nil)
		for given, want := range map[string]string{
			`"max_tokens":5`: `"max_tokens":5`, `"max_completion_tokens":7`: `"max_completion_tokens":7`,
			`"max_tokens":5,"max_completion_tokens":7`: `"max_completion_tokens":7`, `"max_completion_tokens":7,"max_tokens":7`: `"max_completion_tokens":7,"max_tokens":7`,
			`"max_tokens":5,"n_predict":-1`: `"max_tokens":5`, `"n_predict":100,"max_new_tokens":3,"n_cmpl":9,"max_completion_tokens":2`: `"max_completion_tokens":2`,
		} {
			const rest = `"model":"m","messages":[{"role":"user","content":"hi"}]}`
			if a := w.post(chatPath, "{"+given+","+rest); a.status != 200 {
				t.Errorf("%s is answered %d %s", given, a.status, a.body)
				continue
			}
			calls := e.Calls()
			if got := string(calls[len(calls)-1].Body); got != "{"+want+","+rest {
				t.Errorf("%s became %s", given, got)
			}
		}
	})
}

// Embeddings keep their form both ways, to the digit; their usage is the
// prompt's (Lightning-AI/LitServe#740).
func TestEmbeddingsPassUntouched(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		e := w.one(nil)
		for _, input := range []string{`"one text"`, `["two","texts"]`, `[1,2,3]`, `[[1,2],[3]]`} {
			for _, c := range []struct{ format, vector string }{
				{`"float"`, `[0.10,-1e-07,1.0,-0]`}, {`"base64"`, `"AACAPwAAAEA\/=="`}, {`null`, `[1,2]`},
			} {
				body := `{"model":"m","input":` + input + `,"encoding_format":` + c.format + `,"dimensions":4}`
				answer := `{"object":"list","data":[{"object":"embedding","index":0,"embedding":` + c.vector + `}],"model":"m","usage":{"prompt_tokens":17,"total_tokens":17}}`
				e.Answer = routertest.JSON(200, answer)
				if a := w.post(embeddingPath, body); a.status != 200 || a.body != answer {
					t.Errorf("%s is answered %d %s", body, a.status, a.body)
				}
				calls := e.Calls()
				if got := string(calls[len(calls)-1].Body); got != body {
					t.Errorf("%s became %s", body, got)
				}
			}
		}
		rows := w.rows()
		if len(rows) != 12 {
			t.Errorf("there are %d rows", len(rows))
		}
		for _, row := range rows {
			if row.PromptTokens != 17 || row.CompletionTokens != 0 || row.Estimated {
				t.Errorf("a row is %+v", row)
			}
		}
	})
}

// A thousand streams of a minute at once all end, and the router answers others
// meanwhile (vllm-project/production-stack#448).
func TestManyStreams(t *testing.T) {
	t.Parallel()
	const streams, events = 1000, 12
	inWorld(t, func(c *router.Config) { c.AccessLog = false }, func(w *world) {
		pieces := make([]string, events)
		for i := range pieces {
			pieces[i] = content("a")
		}
		w.one(routertest.Paced(5*time.Second, append(pieces, stopEvent+usageEvent+doneEvent)...))
		want := strings.Join(pieces, "") + stopEvent + doneEvent
		var all sync.WaitGroup
		for range streams {
			all.Go(func() {
				res, err := w.client.Do(w.request(http.MethodPost, chatPath, streamBody))
				if err != nil {
					t.Error(err)
					return
				}
				defer res.Body.Close()
				if got, err := io.ReadAll(res.Body); string(got) != want || err != nil {
					t.Errorf("a stream came as %q: %v", got, err)
				}
			})
		}
		wait(t, 30*time.Second)
		synctest.Wait()
		start := time.Now()
		if a := w.do(w.request(http.MethodGet, "/healthz", "")); a.status != 200 || time.Since(start) != 0 {
			t.Errorf("healthz answers %d after %s", a.status, time.Since(start))
		}
		if n := w.router.Traffic().Replicas["r1"].InFlight; n != streams {
			t.Errorf("%d streams are in flight", n)
		}
		all.Wait()
		rows := w.rows()
		if len(rows) != streams {
			t.Errorf("there are %d rows", len(rows))
		}
		for _, row := range rows {
			if row.Outcome != storage.OutcomeOK || row.CompletionTokens != 3 || row.Latency != (events+1)*5*time.Second {
				t.Fatalf("a row is %+v", row)
			}
		}
	})
}
