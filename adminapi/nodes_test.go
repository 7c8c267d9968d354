package adminapi_test

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

	"llmgw.io/llmgw/adminapi"
	"llmgw.io/llmgw/adminapi/adminclient"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

func TestNodeStates(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.node("a1")
	for _, c := range []struct{ word, want string }{
		{"cordon", "cordoned"}, {"drain", "draining"}, {"uncordon", "ready"}, {"cordoned", "cordoned"}, {"draining", "draining"}, {"ready", "ready"},
	} {
		w := h.ask(http.MethodPost, "/api/v1/nodes/a1/state", `{"state":"`+c.word+`","reason":"PDU swap"}`)
		if want := `{"id":"a1","state":"` + c.want + `"}`; w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s: want %s, got %d %s", c.word, want, w.Code, w.Body)
		}
	}
	w := h.ask(http.MethodPost, "/api/v1/nodes/a1/state", `{"state":"lost"}`)
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "ready, cordoned, draining") {
		t.Errorf("want 400 that names the three, got %d %s", w.Code, w.Body)
	}
	if w := h.ask(http.MethodPost, "/api/v1/nodes/zz/state", `{"state":"ready"}`); w.Code != http.StatusNotFound {
		t.Errorf("want 404, got %d %s", w.Code, w.Body)
	}
	events, err := h.store.ListAudit(t.Context(), storage.AuditQuery{Object: "node:a1", Limit: 1})
	if err != nil || len(events) != 1 || events[0].Principal != "token:owner" || events[0].Reason != "PDU swap" || events[0].Action != "nodes.state" {
		t.Errorf("want the change in the log with who and why, got %+v, %v", events, err)
	}
}

func TestRemovingANode(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.node("a1")
	w := h.ask(http.MethodDelete, "/api/v1/nodes/a1", "")
	if w.Code != http.StatusConflict {
		t.Fatalf("a node that is heard stays: want 409, got %d %s", w.Code, w.Body)
	}
	for _, s := range []string{`node \"a1\" is ready`, "systemctl stop llmgw-agent", "a minute later"} {
		if !strings.Contains(w.Body.String(), s) {
			t.Errorf("want it to say %s, got %s", s, w.Body)
		}
	}
	for s, now := 0, time.Now(); s < 120; s++ {
		h.registry.Tick(now.Add(time.Duration(s) * time.Second))
	}
	if w := h.ask(http.MethodDelete, "/api/v1/nodes/a1", ""); w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != `{"id":"a1","removed":"true"}` {
		t.Errorf("a lost one goes: got %d %s", w.Code, w.Body)
	}
	if w := h.ask(http.MethodDelete, "/api/v1/nodes/a1", ""); w.Code != http.StatusNotFound {
		t.Errorf("then it is unknown: want 404, got %d %s", w.Code, w.Body)
	}
}

func TestListsGoOnPageByPage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, id := range []inventory.NodeID{"c", "a", "e", "b", "d"} {
		h.node(id)
	}
	c := h.client(t, storage.RoleViewer)
	pages := 0
	nodes, err := adminclient.All(func(cursor string) ([]view.Node, string, error) {
		pages++
		return c.Nodes(t.Context(), adminclient.List{Limit: 2, Cursor: cursor})
	})
	var ids []string
	for _, n := range nodes {
		ids = append(ids, n.ID)
	}
	if got := strings.Join(ids, ""); err != nil || got != "abcde" || pages != 3 {
		t.Errorf("want abcde in 3 pages, got %s in %d, %v", got, pages, err)
	}
	for _, q := range []string{"limit=0", "limit=x", "cursor=%21"} {
		if w := h.ask(http.MethodGet, "/api/v1/nodes?"+q, ""); w.Code != http.StatusBadRequest {
			t.Errorf("%s: want 400, got %d", q, w.Code)
		}
	}
	if link := h.ask(http.MethodGet, "/api/v1/nodes?limit=5", "").Header().Get("Link"); link != "" {
		t.Errorf("the last page has no next, got %q", link)
	}
	events, err := adminclient.All(func(cursor string) ([]view.AuditEvent, string, error) {
		return c.Audit(t.Context(), adminclient.AuditList{List: adminclient.List{Limit: 1, Cursor: cursor}})
	})
	if err != nil || len(events) != 3 || events[0].Seq < events[1].Seq {
		t.Errorf("want three events, the newest first, got %+v, %v", events, err)
	}
}

func TestEmptyListsAreLists(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *adminapi.Config) { c.Models = nil })
	for _, path := range []string{"nodes", "models", "replicas", "usage", "keys", "tokens/join"} {
		if w := h.ask(http.MethodGet, "/api/v1/"+path, ""); w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != "[]" {
			t.Errorf("%s: want [], got %d %s", path, w.Code, w.Body)
		}
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.node("a1")
	c := h.client(t, storage.RoleViewer)
	type asked struct {
		node, shard string
		tail        int
		follow      bool
	}
	got := make(chan asked, 1)
	pr, pw := io.Pipe()
	h.agents.logs = func(_ context.Context, node, shard string, tail int, follow bool) (io.ReadCloser, error) {
		got <- asked{node, shard, tail, follow}
		return pr, nil
	}
	ten := 10
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	log, err := c.NodeLogs(ctx, "a1", adminclient.LogRequest{Shard: "tiny-1.0", Tail: &ten, Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if a := <-got; a != (asked{"a1", "tiny-1.0", 10, true}) {
		t.Errorf("the agent was asked %+v", a)
	}
	lines := bufio.NewReader(log)
	for _, line := range []string{"one\n", "two\n"} {
		io.WriteString(pw, line)
		if s, err := lines.ReadString('\n'); err != nil || s != line {
			t.Errorf("want %q as soon as it is there, got %q, %v", line, s, err)
		}
	}
	pw.CloseWithError(errors.New("the agent went away"))
	if _, err := lines.ReadString('\n'); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a log that broke off must not look whole, got %v", err)
	}
	if _, err := c.NodeLogs(t.Context(), "zz", adminclient.LogRequest{}); err == nil {
		t.Error("want no such node")
	}
	for _, q := range []string{"tail=x", "tail=-1", "follow=perhaps"} {
		if w := h.ask(http.MethodGet, "/api/v1/nodes/a1/logs?"+q, ""); w.Code != http.StatusBadRequest {
			t.Errorf("%s: want 400, got %d", q, w.Code)
		}
	}
}

func TestAgentsThatCannot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{errors.New("hub: the log is gone"), 502, "agent_failed"},
		{adminapi.ErrAgentFailed, 502, "agent_failed"},
		{adminapi.ErrUnsupported, 409, "unsupported"},
		{adminapi.ErrBusy, 429, "rate_limited"},
		{adminapi.ErrNoLog, 404, "not_found"},
		{context.DeadlineExceeded, 504, "timeout"},
		{inventory.ErrNotFound, 404, "not_found"},
	} {
		h := newHouse(t)
		h.node("a1")
		h.agents.logs = func(context.Context, string, string, int, bool) (io.ReadCloser, error) { return nil, c.err }
		w := h.ask(http.MethodGet, "/api/v1/nodes/a1/logs", "")
		if e := refusalOf(t, w); w.Code != c.status || e.Code != c.code || strings.Contains(e.Error, "hub:") {
			t.Errorf("%v: want %d %s, got %d %+v", c.err, c.status, c.code, w.Code, e)
		}
	}
}

func TestAnAgentThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.node("a1")
		h.agents.logs = func(ctx context.Context, _, _ string, _ int, _ bool) (io.ReadCloser, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		w := h.ask(http.MethodGet, "/api/v1/nodes/a1/logs", "")
		if e := refusalOf(t, w); w.Code != http.StatusGatewayTimeout || e.Code != "timeout" {
			t.Errorf("want 504, got %d %+v", w.Code, e)
		}
	})
}

// TestChosenBuilds holds the choice of an engine's build to its answers.
func TestChosenBuilds(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.node("a1")
	for _, c := range []struct {
		node, body string
		status     int
		want       string
	}{
		{"a1", `{"engine":"vllm","build":"cu129"}`, http.StatusOK, `"build":"cu129"`},
		{"a1", `{"engine":"vllm","build":"auto"}`, http.StatusOK, `"build":"auto"`},
		{"a1", `{"engine":"vllm","build":"latest"}`, http.StatusBadRequest, "cu130, cu129, cpu"},
		{"a1", `{"engine":"tgi","build":"auto"}`, http.StatusBadRequest, "llamacpp, vllm"},
		{"zz", `{"engine":"vllm","build":"auto"}`, http.StatusNotFound, "there is no node"},
	} {
		w := h.ask(http.MethodPost, "/api/v1/nodes/"+c.node+"/engines", c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: got %d %s", c.node, c.body, w.Code, w.Body)
		}
	}
}
