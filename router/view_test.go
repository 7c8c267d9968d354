package router_test

import (
	"testing"
	"testing/synctest"

	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/routertest"
)

// A router that has not heard for a while that a replica drains, or has stopped,
// sends requests to it still. The replica refuses them, and its clients see
// nothing of that.
func TestOldView(t *testing.T) {
	t.Parallel()
	const refuses = `{"error":{"message":"this replica takes no new requests","type":"unavailable_error","code":503}}`
	inWorld(t, nil, func(w *world) {
		draining, stays := false, &routertest.Engine{}
		leaves := &routertest.Engine{Answer: func(rw httpWriter, c routertest.Call) {
			if draining {
				routertest.JSON(503, refuses)(rw, c)
				return
			}
			routertest.Hello(rw, c)
		}}
		stop := w.net.Serve("leaves:1", leaves)
		w.fleet.Set("m", router.Backend{ID: "leaves", Address: "leaves:1"}, w.serve("stays", stays))
		for i := range 60 {
			switch i {
			case 20:
				draining = true
			case 40:
				stop()
			}
			body := chatBody
			if i%2 == 0 {
				body = streamBody
			}
			if a := w.post(chatPath, body); a.status != 200 {
				t.Errorf("request %d is answered %d %s", i, a.status, a.body)
			}
			synctest.Wait()
		}
		if n := len(leaves.Calls()); n < 11 {
			t.Errorf("want it asked while it drains, got %d calls", n)
		}
	})
}

// A gate that refuses because its replica is being stopped says so. That costs no
// retry, and is nothing that the replica is blamed for.
func TestDrainingGate(t *testing.T) {
	t.Parallel()
	const refuses = `{"error":{"message":"this replica takes no new requests","type":"unavailable_error"}}`
	few := func(c *router.Config) { c.Limits.Retries = 1 }
	inWorld(t, few, func(w *world) {
		var list []router.Backend
		for _, id := range []string{"a", "b", "c"} {
			list = append(list, w.serve(id, &routertest.Engine{Answer: func(rw httpWriter, c routertest.Call) {
				rw.Header().Set(router.HeaderDraining, "1")
				routertest.JSON(503, refuses)(rw, c)
			}}))
		}
		w.fleet.Set("m", append(list, w.serve("stays", &routertest.Engine{}))...)
		for i := range 60 { // many more than there are retries
			if a := w.post(chatPath, chatBody); a.status != 200 {
				t.Fatalf("request %d is answered %d %s", i, a.status, a.body)
			}
			synctest.Wait()
		}
	})
}
