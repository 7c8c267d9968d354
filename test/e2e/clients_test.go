//go:build e2e && unix

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/internal/tinygguf"
)

// TestClientGone: a client that leaves in the middle of a stream frees the
// engine, which would otherwise go on for nobody.
func TestClientGone(t *testing.T) {
	t.Parallel()
	needLlamaServer(t)
	p := startServe(t)
	p.startNode("n1", "")
	p.add(catalog.Model{
		Name: "m", Source: "file://" + gguf(t, tinygguf.Options{End: -30, Context: 1 << 17}),
		Profiles: []catalog.Profile{{Name: "cpu", Engine: catalog.EngineLlamaCPP, Context: 1 << 17, Slots: 1, Args: []string{"--no-context-shift"}}},
	})
	p.untilReady("m", 1)
	r := p.replicas("m")[0]
	engine := client{"http://" + strings.TrimPrefix(r.Endpoint, "http://"), r.EngineKey}
	processing := func() string {
		a := engine.must(t, http.MethodGet, "/metrics", nil)
		for line := range strings.Lines(string(a.body)) {
			if rest, ok := strings.CutPrefix(line, "llamacpp:requests_processing "); ok {
				return strings.TrimSpace(rest)
			}
		}
		return a.String()
	}
	body := say("m", "hello")
	body.MaxTokens = 1 << 16
	for _, streamed := range []bool{true, false} {
		var leave func()
		if streamed {
			st := p.client().mustStream(t, body)
			for range 5 {
				st.next()
			}
			leave = st.close
		} else {
			leave = leaving(t, p.client(), body)
		}
		until(t, "the engine works", soon, func() (bool, any) { return processing() == "1", processing() })
		leave()
		// Of a request without a stream, llama-server looks for its client only in
		// a second in which nobody else is answered, us included.
		until(t, fmt.Sprintf("the engine has nothing to do (stream: %t)", streamed), 20*time.Second, func() (bool, any) {
			time.Sleep(1500 * time.Millisecond)
			return processing() == "0", processing()
		})
	}
	body.MaxTokens = 4
	if a := p.client().must(t, http.MethodPost, "/v1/chat/completions", body); a.status != http.StatusOK {
		t.Errorf("the next request: %s", a)
	}
}

// TestManyEmbeddings asks a thousand times for short embeddings, from sixteen
// sides: every one is answered, whole, and every one is on record.
func TestManyEmbeddings(t *testing.T) {
	t.Parallel()
	needLlamaServer(t)
	p := startServe(t)
	n := p.startNode("n1", "")
	p.add(catalog.Model{
		Name: "vectors", Source: "file://" + gguf(t, tinygguf.Options{Pooling: "mean"}),
		Profiles: []catalog.Profile{{Name: "cpu", Engine: catalog.EngineLlamaCPP, Context: 512, Slots: 4, Args: []string{"--embeddings"}}},
	})
	p.untilReady("vectors", 1)
	pid := n.theEngine()
	const all, sides = 1000, 16
	var wg sync.WaitGroup
	ids := make(chan string, all)
	for side := range sides {
		wg.Go(func() {
			for i := side; i < all; i += sides {
				r, err := p.client().ask(t.Context(), http.MethodPost, "/v1/embeddings", map[string]any{"model": "vectors", "input": "word " + itoa(i)})
				var got struct {
					Data []struct{ Embedding []float64 } `json:"data"`
				}
				if err != nil || r.status != http.StatusOK || json.Unmarshal(r.body, &got) != nil || len(got.Data) != 1 || len(got.Data[0].Embedding) != 64 {
					t.Errorf("embedding %d: %v %.300s", i, err, r)
					return
				}
				ids <- r.id()
			}
		})
	}
	wg.Wait()
	close(ids)
	for id := range ids {
		if row := p.untilRow(id); row.PromptTokens == 0 || row.Outcome != "ok" {
			t.Fatalf("row %+v", row)
		}
	}
	use, err := p.admin.Usage(t.Context(), "project", time.Hour)
	if err != nil || len(use) != 1 || use[0].Requests != all {
		t.Errorf("usage: %+v, %v", use, err)
	}
	if n.theEngine() != pid {
		t.Error("the engine was replaced")
	}
}

// leaving asks for a whole answer and hangs up when it is told to.
func leaving(t *testing.T, c client, body chat) func() {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if r, err := c.ask(ctx, http.MethodPost, "/v1/chat/completions", body); err == nil {
			t.Errorf("want no answer, got %.300s", r)
		}
	}()
	return func() {
		cancel()
		<-gone
	}
}

// TestRowsOutliveKills kills a router while many ask: each answer that was
// whole is on record once it is back, and none twice.
func TestRowsOutliveKills(t *testing.T) {
	t.Parallel()
	r := startRouter(t)
	var mu sync.Mutex
	answered := map[string]bool{}
	for round := range 5 {
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if a, err := r.ask(t.Context(), http.MethodPost, "/v1/chat/completions", say("static", "hello")); err == nil && a.status == http.StatusOK {
						mu.Lock()
						answered[a.id()] = true
						mu.Unlock()
					}
				}
			})
		}
		until(t, "many are answered", soon, func() (bool, any) {
			mu.Lock()
			defer mu.Unlock()
			return len(answered) > 200*(round+1), len(answered)
		})
		r.kill()
		close(stop)
		wg.Wait()
		r.start()
	}
	r.end(syscall.SIGTERM)
	p := &plane{t: t, dir: r.dir, args: []string{
		"serve", "--data", r.dir, "--client", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--agents", "127.0.0.1:0",
	}}
	p.start()
	for id := range answered {
		p.untilRow(id)
	}
}
