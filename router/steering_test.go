package router_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/openai"
	"llmgw.io/llmgw/router/routertest"
)

// steered makes the router choose as it does when nobody says otherwise.
func steered(c *router.Config) { c.Picker = nil }

// chatOf is a streamed chat whose messages begin with so many bytes of their own.
func chatOf(who string, bytes int, turns ...string) string {
	m := []string{`{"role":"system","content":"` + strings.Repeat(who+" ", bytes/(len(who)+1)) + `"}`}
	for _, t := range turns {
		m = append(m, `{"role":"user","content":"`+t+`"}`)
	}
	return `{"model":"m","stream":true,"messages":[` + strings.Join(m, ",") + `]}`
}

// reader is an engine that keeps every prompt in its cache, reads 8,000 tokens a
// second of what is new, and counts four bytes for a token.
type reader struct {
	mu   sync.Mutex
	kept []string
	// hang, where it is not nil, holds up prompts that say so.
	hang chan struct{}
}

func (e *reader) answer(rw http.ResponseWriter, c routertest.Call) {
	_, prompt, _ := strings.Cut(string(c.Body), `"messages"`)
	e.mu.Lock()
	cached := 0
	for _, k := range e.kept {
		n := 0
		for n < min(len(k), len(prompt)) && k[n] == prompt[n] {
			n++
		}
		cached = max(cached, n)
	}
	e.kept = append(e.kept, prompt)
	e.mu.Unlock()
	time.Sleep(time.Duration(len(prompt)-cached) * time.Second / 4 / 8000)
	if e.hang != nil && strings.Contains(prompt, "hang") {
		<-e.hang
	}
	write := openai.Writer{ID: "x", Model: "m"}
	b := write.ChatFinish(write.ChatText(write.ChatRole(nil, 0), 0, "yes"), 0, "stop")
	b = write.ChatUsage(b, openai.Usage{
		PromptTokens: int64(len(prompt) / 4), CompletionTokens: 1, CachedTokens: int64(cached / 4), CachedKnown: true,
	})
	routertest.Stream(string(openai.AppendDone(b)))(rw, c)
}

// readers makes so many of them, and says where each request went.
func (w *world) readers(n int, hang chan struct{}) (asked func(body string) string) {
	w.t.Helper()
	var list []router.Backend
	for i := range n {
		list = append(list, w.serve(fmt.Sprintf("r%d", i+1), &routertest.Engine{Answer: (&reader{hang: hang}).answer}))
	}
	w.fleet.Set("m", list...)
	return func(body string) string {
		w.t.Helper()
		if a := w.post(chatPath, body); a.status != http.StatusOK {
			w.t.Errorf("answered %d %s", a.status, a.body)
		}
		synctest.Wait()
		rows := w.rows()
		return rows[len(rows)-1].Replica
	}
}

// A conversation goes on where its beginning is cached, through tools and
// adapters that keep caches apart.
func TestConversationsStayWhereTheyAreCached(t *testing.T) {
	t.Parallel()
	inWorld(t, steered, func(w *world) {
		asked := w.readers(4, nil)
		homes := map[string]string{}
		for _, turns := range [][]string{{"a"}, {"a", "b"}, {"a", "b", "c"}, {"a", "b", "c", "d"}} {
			for _, who := range []string{"ann", "bob", "cyd", "dan", "eve"} {
				at := asked(chatOf(who, 40<<10, turns...))
				if homes[who] == "" {
					homes[who] = at
				}
				if at != homes[who] {
					t.Errorf("turn %d of %s went to %s, the ones before to %s", len(turns), who, at, homes[who])
				}
				wait(t, time.Second)
			}
		}
	})
}

// One that is far away from its cache by what is queued there goes elsewhere,
// and nothing is held against a replica once all has ended.
func TestFullQueuesAreLeft(t *testing.T) {
	t.Parallel()
	inWorld(t, steered, func(w *world) {
		release := make(chan struct{})
		asked := w.readers(2, release)
		home := asked(chatOf("ann", 40<<10, "a"))
		if at := asked(chatOf("ann", 40<<10, "a", "b")); at != home {
			t.Fatalf("the conversation moved from %s to %s", home, at)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.post(chatPath, chatOf("ann", 40<<10, "a", "b", "hang"))
		}()
		wait(t, time.Minute) // a hung one looks worse with every second
		if at := asked(chatOf("ann", 40<<10, "a", "b", "c")); at == home {
			t.Errorf("a request was sent behind one that hangs, to %s", at)
		}
		if w.look(home).Wait < time.Minute {
			t.Errorf("a request hangs for a minute, and %+v is expected of its replica", w.look(home))
		}
		close(release)
		<-done
		synctest.Wait()
		asked(chatOf("bob", 40<<10, "a"))
		rows := w.rows()
		for _, o := range w.router.Decisions(rows[len(rows)-1].ID)[0].Options {
			if o.Outstanding != 0 || o.Wait != 0 {
				t.Errorf("nothing is in flight, and of %s is left %+v", o.Replica, o.Candidate)
			}
		}
	})
}

// look is what a request that is made now finds at a replica, by its id.
func (w *world) look(id string) router.Candidate {
	w.t.Helper()
	a := w.post(chatPath, chatBody)
	for _, o := range w.router.Decisions(a.header.Get("X-Request-Id"))[0].Options {
		if o.Replica == id {
			return o.Candidate
		}
	}
	w.t.Errorf("%s could not be chosen", id)
	return router.Candidate{}
}

// A stream that has begun is waited for no more, and counts until it ends; a
// retry that is not allowed counts for nothing.
func TestWhatIsWaitedFor(t *testing.T) {
	t.Parallel()
	inWorld(t, steered, func(w *world) {
		long := routertest.Paced(time.Second, event(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}`),
			event(`{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}`), event("[DONE]"))
		w.fleet.Set("m", w.serve("r1", &routertest.Engine{Answer: func(rw http.ResponseWriter, c routertest.Call) {
			if strings.Contains(string(c.Body), "long") {
				long(rw, c)
				return
			}
			routertest.Hello(rw, c)
		}}))
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.post(chatPath, chatOf("long", 40<<10))
		}()
		time.Sleep(time.Second / 2)
		if c := w.look("r1"); c.Outstanding != 1 || c.Wait == 0 {
			t.Errorf("before a stream begins its replica is %+v", c)
		}
		time.Sleep(time.Second)
		if c := w.look("r1"); c.Outstanding != 1 || c.Wait != 0 {
			t.Errorf("once a stream has begun its replica is %+v", c)
		}
		<-done

		refuses := &routertest.Engine{Answer: routertest.JSON(503, `{"error":{"message":"no"}}`)}
		w.fleet.Set("m", w.serve("bad", refuses), w.serve("worse", refuses))
		for range 40 { // more than the budget for retries has
			w.post(chatPath, chatBody)
		}
		w.fleet.Set("m", w.serve("bad", &routertest.Engine{}), w.serve("worse", &routertest.Engine{}))
		for _, id := range []string{"bad", "worse"} {
			if c := w.look(id); c.Outstanding != 0 || c.Wait != 0 {
				t.Errorf("all has ended, and %s is %+v", id, c)
			}
		}
	})
}

// A replica that is sent what is long is not slow: what its peer holds in its
// cache comes a hundred times as quickly there, and neither is put out.
func TestLongPromptsAreNotSlowReplicas(t *testing.T) {
	t.Parallel()
	inWorld(t, steered, func(w *world) {
		asked := w.readers(2, nil)
		home := asked(chatOf("ann", 100<<10, "a"))
		away := 0
		for i := range 120 {
			w.post(chatPath, chatOf("ann", 100<<10, "a"))
			if i%2 == 0 {
				done := make(chan struct{})
				go func() { // while home is busy with it, what is new goes elsewhere
					defer close(done)
					w.post(chatPath, chatOf("ann", 100<<10, fmt.Sprint(i), strings.Repeat("b", 9000)))
				}()
				synctest.Wait()
				a := w.post(chatPath, chatOf(fmt.Sprintf("bob %d", i), 40<<10))
				if w.router.Decisions(a.header.Get("X-Request-Id"))[0].Options[0].Replica != home {
					away++
				}
				<-done
			}
		}
		if away < 50 {
			t.Errorf("of 60 long prompts %d went away from %s; the test shows nothing", away, home)
		}
		if s := w.logs.String(); strings.Contains(s, "gives its first token") {
			t.Errorf("a replica was put out for being sent what is long: %s", s[strings.Index(s, "gives its first token"):][:80])
		}
	})
}

// Many at once, while replicas come and go, leave nothing behind and are each
// explained by a choice of their own.
func TestManyChoicesAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, steered, func(w *world) {
		w.readers(4, nil)
		all := w.fleet.Backends("m")
		var wg sync.WaitGroup
		for n := range 40 {
			wg.Go(func() {
				for turn := range 8 {
					if n == 0 {
						w.fleet.Set("m", all[turn%3:]...)
					}
					a := w.post(chatPath, chatOf(fmt.Sprint("who", n%7), 8<<10, strings.Repeat("t", 100*turn)))
					made := w.router.Decisions(a.header.Get("X-Request-Id"))
					if a.status != http.StatusOK || len(made) != 1 || len(made[0].Options) < 2 {
						t.Errorf("answered %d, explained by %+v", a.status, made)
					}
				}
			})
		}
		wg.Wait()
		w.fleet.Set("m", all...)
		for _, b := range all {
			if c := w.look(b.ID); c.Outstanding != 0 || c.Wait != 0 {
				t.Errorf("all has ended, and %s is %+v", b.ID, c)
			}
		}
	})
}

// What is known of a replica that is gone is forgotten.
func TestReplicasThatAreGoneAreForgotten(t *testing.T) {
	t.Parallel()
	inWorld(t, steered, func(w *world) {
		there := w.serve("r1", &routertest.Engine{Answer: new(reader).answer})
		cached := func() int64 {
			w.fleet.Set("m", there)
			a := w.post(chatPath, chatOf("ann", 20<<10))
			return w.router.Decisions(a.header.Get("X-Request-Id"))[0].Options[0].Cached
		}
		cached()
		wait(t, 30*time.Second)
		if cached() == 0 {
			t.Error("what a replica holds was forgotten while it was there")
		}
		w.fleet.Set("m")
		wait(t, 30*time.Second)
		if n := cached(); n != 0 {
			t.Errorf("a replica that was gone is believed to hold %d tokens", n)
		}
	})
}

// A decision says what it was made by, a retry makes another, and only the
// newest are kept.
func TestDecisions(t *testing.T) {
	t.Parallel()
	inWorld(t, steered, func(w *world) {
		asked := w.readers(3, nil)
		home := asked(chatOf("ann", 40<<10, "a"))
		asked(chatOf("ann", 40<<10, "a", "b"))
		rows := w.rows()
		made := w.router.Decisions(rows[len(rows)-1].ID)
		if len(made) != 1 || len(made[0].Options) != 3 || made[0].Model != "m" || made[0].More != 0 || !made[0].At.Equal(rows[len(rows)-1].At) {
			t.Fatalf("a choice among three is explained by %+v", made)
		}
		for i, o := range made[0].Options {
			if (o.Cached > 9_000) != (o.Replica == home) || (i == 0) != (o.Replica == home) || o.Work <= 0 || o.Cost <= 0 {
				t.Errorf("option %d is %+v; the prompt's beginning is at %s", i, o, home)
			}
		}
		made[0].Options[0].Replica = "changed"
		if w.router.Decisions(made[0].Request)[0].Options[0].Replica != home {
			t.Error("who changes an answer changes what is kept")
		}

		bad := w.serve("bad", &routertest.Engine{Answer: routertest.JSON(503, `{"error":{"message":"no"}}`)})
		w.fleet.Set("m", bad, w.serve("good", &routertest.Engine{Answer: new(reader).answer}))
		for i := range 200 { // until chance asks the bad one first
			a := w.post(chatPath, chatOf("bob", 100+i))
			made := w.router.Decisions(a.header.Get("X-Request-Id"))
			if len(made) == 2 {
				if made[0].Options[0].Replica != "bad" || made[1].Options[0].Replica != "good" || len(made[1].Options) != 1 {
					t.Errorf("a retry is explained by %+v", made)
				}
				break
			}
			if i == 199 {
				t.Error("the bad replica was never asked")
			}
		}
		if made := w.router.Decisions("req_none"); made != nil {
			t.Errorf("a request that never was is explained by %+v", made)
		}
	})
}

// The pool of prompts and the ring of decisions mix nothing up: each request is
// weighed by its own prompt, also with another adapter.
func TestPromptsAreTheirOwn(t *testing.T) {
	t.Parallel()
	inWorld(t, steered, func(w *world) {
		w.catalog.Set(catalog.Model{Name: "m", Adapters: []catalog.Adapter{{Name: "fruit"}}, Profiles: managed()})
		b := w.serve("r1", &routertest.Engine{Answer: new(reader).answer})
		b.Adapters = []catalog.Name{"fruit"}
		w.fleet.Set("m", b)
		cached := func(body string) int64 {
			a := w.post(chatPath, body)
			return w.router.Decisions(a.header.Get("X-Request-Id"))[0].Options[0].Cached
		}
		body := chatOf("ann", 20<<10, "a")
		if n := cached(body); n != 0 {
			t.Errorf("%d tokens are cached before anything was asked", n)
		}
		if n := cached(body); n < 4000 {
			t.Errorf("%d tokens of a prompt that was asked before are cached", n)
		}
		if n := cached(strings.Replace(body, `"m"`, `"fruit"`, 1)); n != 0 {
			t.Errorf("%d tokens are cached under an adapter that was never asked for", n)
		}
		if n := cached(strings.Replace(body, `"stream"`, `"tools":[{"type":"function"}],"stream"`, 1)); n != 0 {
			t.Errorf("%d tokens are cached behind other tools", n)
		}
		if n := cached(chatOf("bob", 20<<10, "a")); n != 0 {
			t.Errorf("%d tokens of another prompt are cached", n)
		}
	})
}
