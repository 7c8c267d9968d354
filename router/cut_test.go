package router_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/routertest"
	"llmgw.io/llmgw/storage"
)

// onNode is a replica of a node.
func onNode(b router.Backend, node string) router.Backend {
	b.Node = node
	return b
}

// What a removed node was asked ends with its removal: in the middle of an answer
// with an error, and before one on another replica, which no budget of retries is
// spent on. Nobody asks it afterwards, and what others are asked goes on.
func TestCut(t *testing.T) {
	t.Parallel()
	half := func(rw httpWriter, c routertest.Call) {
		routertest.Stream(roleEvent, content("a"), content("b"))(rw, c)
		routertest.Hang(rw, c)
	}
	for _, c := range []struct {
		name, body string
		answer     func(httpWriter, routertest.Call)
		requests   int
		again      bool // another replica answers
	}{
		{"in the middle of a stream", streamBody, half, 1, false},
		{"before a stream's content", streamBody, routertest.Hang, 1, true},
		{"before an answer", chatBody, routertest.Hang, 1, true},
		{"more than there are retries for", chatBody, routertest.Hang, 40, true},
	} {
		inWorld(t, nil, func(w *world) {
			old, other := &routertest.Engine{Answer: c.answer}, &routertest.Engine{}
			gone := onNode(w.serve("old", old), "n1")
			w.fleet.Set("m", gone)
			answers := make(chan answered, c.requests)
			for range c.requests {
				go func() { answers <- w.post(chatPath, c.body) }()
			}
			synctest.Wait()
			w.router.Cut("n2")
			w.router.Cut("")
			if synctest.Wait(); len(answers) > 0 {
				t.Errorf("%s: it ended for another node's sake: %+v", c.name, <-answers)
			}
			w.fleet.Set("m", onNode(w.serve("other", other), "n2"))
			began := time.Now()
			w.router.Cut("n1")
			if took := time.Since(began); took > 0 {
				t.Errorf("%s: it took %s", c.name, took)
			}
			if synctest.Wait(); old.Cancelled() != c.requests {
				t.Errorf("%s: %d of %d requests were ended at the replica", c.name, old.Cancelled(), c.requests)
			}
			for range c.requests {
				a := <-answers
				if a.status != 200 || a.err != nil || strings.Contains(a.body, "removed") == c.again {
					t.Errorf("%s: the client got %+v", c.name, a)
				}
			}
			for _, row := range w.rows() {
				first := storage.Attempt{Replica: "old", Error: "removed"}
				if !c.again {
					first.Status = 200
				}
				if row.Attempts[0] != first || (row.Outcome == storage.OutcomeOK) != c.again ||
					!c.again && (row.Outcome != storage.OutcomeUpstreamAborted || row.CompletionTokens == 0) {
					t.Errorf("%s: the row is %+v", c.name, row)
				}
			}
			if a := w.post(chatPath, chatBody); a.status != 200 || len(old.Calls()) != c.requests {
				t.Errorf("%s: afterwards %+v, and the old one was asked %d times", c.name, a, len(old.Calls()))
			}
		})
	}
}

// A replica that was chosen just before its node was removed is not asked, and one
// of a member of that name that came later is; connections of before are not used.
func TestCutBetween(t *testing.T) {
	t.Parallel()
	late := &lateList{}
	inWorld(t, func(c *router.Config) {
		late.from = c.Backends
		c.Backends = late
	}, func(w *world) {
		old := &routertest.Engine{}
		here := onNode(w.serve("old", old), "n1")
		w.fleet.Set("m", here)
		if a := w.post(chatPath, chatBody); a.status != 200 {
			t.Fatalf("%+v", a)
		}
		late.then = func() { // it is chosen, and not asked yet
			w.fleet.Set("m", onNode(w.serve("other", &routertest.Engine{}), "n2"))
			w.router.Cut("n1")
		}
		if a := w.post(chatPath, chatBody); a.status != 200 || len(old.Calls()) != 1 {
			t.Errorf("%+v, and the removed one was asked %d times", a, len(old.Calls()))
		}
		dialled := w.net.Dialled("old:1")
		w.fleet.Set("m", here)
		if a := w.post(chatPath, chatBody); a.status != 200 || len(old.Calls()) != 2 || w.net.Dialled("old:1") != dialled+1 {
			t.Errorf("a node that is back: %+v, asked %d times over %d new connections", a, len(old.Calls()), w.net.Dialled("old:1")-dialled)
		}
	})
}

// lateList does something once, after it has listed the replicas.
type lateList struct {
	from router.Backends
	then func()
}

func (l *lateList) Changed() <-chan struct{} { return l.from.Changed() }

func (l *lateList) Backends(model catalog.Name) []router.Backend {
	list := l.from.Backends(model)
	if then := l.then; then != nil {
		l.then = nil
		then()
	}
	return list
}

// A client that takes nothing holds up no removal.
func TestCutDoesNotWaitForClients(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		w.fleet.Set("m", onNode(w.serve("old", &routertest.Engine{Answer: func(rw httpWriter, c routertest.Call) {
			routertest.Stream(roleEvent, content(strings.Repeat("x", 1<<20)))(rw, c)
			routertest.Hang(rw, c)
		}}), "n1"))
		res, err := w.client.Do(w.request("POST", chatPath, streamBody))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		synctest.Wait()
		began := time.Now()
		w.router.Cut("n1")
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}
