//go:build unix

package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/adminapi/adminclient"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/internal/tinygguf"
)

// TestSpine goes the whole way with a real engine: from nothing to an answer,
// through all that people look at and change, and back to nothing.
func TestSpine(t *testing.T) {
	t.Parallel()
	needLlamaServer(t)
	dir := t.TempDir()
	p := startDev(t, dir, "--log-level", "debug")
	p.untilNode("here", "ready")
	p.add(catalog.Model{
		Name: "team/tiny", Aliases: []catalog.Name{"tiny"}, Source: "file://" + gguf(t, tinygguf.Options{}),
		Profiles: []catalog.Profile{{Name: "cpu", Engine: catalog.EngineLlamaCPP, Context: 512, Slots: 2}},
	})
	p.add(catalog.Model{
		Name: "vectors", Source: "file://" + gguf(t, tinygguf.Options{Pooling: "mean"}),
		Profiles: []catalog.Profile{{Name: "cpu", Engine: catalog.EngineLlamaCPP, Context: 512, Args: []string{"--embeddings"}}},
	})
	p.untilReady("team/tiny", 1)
	p.untilReady("vectors", 1)

	p.checkAnswers()
	p.checkEmbeddings()
	p.checkModels()
	p.checkStream()
	p.checkViews(dir)
	p.checkKeys()

	if _, err := p.admin.ScaleModel(t.Context(), "team/tiny", view.ScaleRequest{Min: 2}); err != nil {
		t.Fatal(err)
	}
	p.untilReady("team/tiny", 2)
	if _, err := p.admin.ScaleModel(t.Context(), "team/tiny", view.ScaleRequest{Min: 1}); err != nil {
		t.Fatal(err)
	}
	p.untilReady("team/tiny", 1)
	p.checkRestart()
	p.checkSecrets(dir)

	p.end(syscall.SIGTERM)
	if left := processesIn(dir); len(left) > 0 || len(enginesIn(dir)) > 0 {
		t.Fatalf("dev has ended and left processes: %+v %v", left, enginesIn(dir))
	}
	p.start()
	p.untilReady("team/tiny", 1)
	if r := p.client().chat(t, "tiny"); r.status != http.StatusOK {
		t.Fatalf("after a second start of dev: %s", r)
	}
	p.checkRemoval(dir)
}

func (p *plane) checkAnswers() {
	p.t.Helper()
	c := p.client()
	for _, name := range []string{"team/tiny", "tiny"} {
		if r := c.chat(p.t, name); r.status != http.StatusOK {
			p.t.Fatalf("chat with %s: %s", name, r)
		}
	}
	r := c.must(p.t, http.MethodPost, "/v1/completions", map[string]any{"model": "tiny", "prompt": "once upon", "max_tokens": 8})
	var text struct {
		Choices []struct{ Text string } `json:"choices"`
	}
	if err := json.Unmarshal(r.body, &text); err != nil || r.status != http.StatusOK || len(text.Choices) != 1 {
		p.t.Fatalf("completion: %s", r)
	}
	if r := c.chat(p.t, "nobody"); r.status != http.StatusNotFound || r.code() != "model_not_found" {
		p.t.Fatalf("a model that is not there: %s", r)
	}
}

// checkEmbeddings asks a model that makes vectors, and one that does not.
func (p *plane) checkEmbeddings() {
	p.t.Helper()
	ask := func(model string) reply {
		return p.client().must(p.t, http.MethodPost, "/v1/embeddings", map[string]any{"model": model, "input": []string{"a word", "two words"}})
	}
	r := ask("vectors")
	var got struct {
		Data []struct{ Embedding []float64 } `json:"data"`
	}
	if err := json.Unmarshal(r.body, &got); err != nil || r.status != http.StatusOK || len(got.Data) != 2 || len(got.Data[0].Embedding) == 0 {
		p.t.Fatalf("embeddings: %s", r)
	}
	if r := ask("tiny"); r.status < 400 || r.status >= 600 || r.code() == "" {
		p.t.Fatalf("embeddings of a model that chats are to be refused: %s", r)
	}
	if r := p.client().chat(p.t, "tiny"); r.status != http.StatusOK {
		p.t.Fatalf("a refused embedding must not cost the replica its place: %s", r)
	}
}

func (p *plane) checkModels() {
	p.t.Helper()
	type named struct {
		ID string `json:"id"`
	}
	var list struct {
		Data []named `json:"data"`
	}
	r := p.client().must(p.t, http.MethodGet, "/v1/models", nil)
	if err := json.Unmarshal(r.body, &list); err != nil {
		p.t.Fatalf("%v in %s", err, r)
	}
	if diff := cmp.Diff([]named{{"team/tiny"}, {"tiny"}, {"vectors"}}, list.Data); diff != "" {
		p.t.Errorf("models (-want +got):\n%s", diff)
	}
	for _, name := range []string{"team/tiny", "tiny"} {
		var one named
		r := p.client().must(p.t, http.MethodGet, "/v1/models/"+name, nil)
		if err := json.Unmarshal(r.body, &one); err != nil || r.status != http.StatusOK || one.ID != name {
			p.t.Errorf("the model %s: %s", name, r)
		}
	}
	if r := p.client().must(p.t, http.MethodGet, "/v1/models/nobody", nil); r.status != http.StatusNotFound {
		p.t.Errorf("a model that is not there: %s", r)
	}
}

// checkStream holds a stream against what the engine itself says, and against
// the row that is kept of it.
func (p *plane) checkStream() {
	p.t.Helper()
	rs := p.replicas("team/tiny")
	if len(rs) != 1 || rs[0].Endpoint == "" || rs[0].EngineKey == "" {
		p.t.Fatalf("want one replica with its endpoint and key, got %+v", rs)
	}
	body := say("team/tiny", "tell me about apples")
	body.MaxTokens, body.Seed = 40, 7
	// The first time fills the engine's cache, so that both below begin alike.
	if err := p.client().mustStream(p.t, body).rest(); err != nil {
		p.t.Fatal(err)
	}
	body.Options = map[string]bool{"include_usage": true}
	through := p.client().mustStream(p.t, body)
	if err := through.rest(); err != nil {
		p.t.Fatal(err)
	}
	direct := client{base: "http://" + strings.TrimPrefix(rs[0].Endpoint, "http://"), key: rs[0].EngineKey}.mustStream(p.t, body)
	if err := direct.rest(); err != nil {
		p.t.Fatal(err)
	}
	if through.text.String() != direct.text.String() || through.text.Len() == 0 {
		p.t.Errorf("the router says %q, the engine %q", through.text.String(), direct.text.String())
	}
	if through.usage == nil {
		p.t.Fatal("a stream with include_usage ended without usage")
	}
	row := p.untilRow(through.resp.Header.Get("X-Request-Id"))
	counted := tokens{Prompt: through.usage.Prompt, Completion: through.usage.Completion}
	if diff := cmp.Diff(counted, tokens{Prompt: row.PromptTokens, Completion: row.CompletionTokens}); diff != "" {
		p.t.Errorf("the row counts other tokens than the stream (-stream +row):\n%s", diff)
	}
	want := view.Request{Model: "team/tiny", ServedModel: "team/tiny", Replica: rs[0].ID, Status: 200, Outcome: "ok", ProjectID: "default"}
	got := view.Request{Model: row.Model, ServedModel: row.ServedModel, Replica: row.Replica, Status: row.Status, Outcome: row.Outcome, ProjectID: row.ProjectID}
	if diff := cmp.Diff(want, got); diff != "" {
		p.t.Errorf("row (-want +got):\n%s", diff)
	}

	body.Options = nil
	quiet := p.client().mustStream(p.t, body)
	if err := quiet.rest(); err != nil || quiet.usage != nil {
		p.t.Errorf("a stream without include_usage: err %v, usage %v", err, quiet.usage)
	}
	row = p.untilRow(quiet.resp.Header.Get("X-Request-Id"))
	if row.CompletionTokens != through.usage.Completion || row.Estimated {
		p.t.Errorf("a stream whose client wants no usage is counted all the same: %+v", row)
	}
}

// untilRow waits until a request is on record.
func (p *plane) untilRow(id string) view.Request {
	p.t.Helper()
	var row view.Request
	until(p.t, "the request "+id+" is on record", soon, func() (bool, any) {
		var err error
		row, err = p.admin.Request(p.t.Context(), id)
		return err == nil, err
	})
	return row
}

// checkViews looks at everything that people look at.
func (p *plane) checkViews(dir string) {
	p.t.Helper()
	ctx := p.t.Context()
	use, err := p.admin.Usage(ctx, "project", time.Hour)
	if err != nil || len(use) != 1 || use[0].Requests < 5 || use[0].CompletionTokens == 0 {
		p.t.Errorf("usage: %+v, %v", use, err)
	}
	ex, err := p.admin.Explain(ctx, "team/tiny")
	if err != nil || !ex.Placed {
		p.t.Errorf("explain: %+v, %v", ex, err)
	}
	room, err := p.admin.Headroom(ctx, "team/tiny", 3)
	if err != nil || room.More != 3 || !room.Limited || room.Current != 1 {
		p.t.Errorf("headroom: %+v, %v", room, err)
	}
	target, err := p.admin.Target(ctx, "team/tiny")
	if err != nil || target.Desired != 1 || target.Why != "min" {
		p.t.Errorf("target: %+v, %v", target, err)
	}
	sum, err := p.admin.Summary(ctx)
	if err != nil || sum.Nodes["ready"] != 1 || sum.Models.Ready != 2 || sum.Replicas["ready"] != 2 {
		p.t.Errorf("summary: %+v, %v", sum, err)
	}
	check, err := p.admin.VerifyAudit(ctx)
	if err != nil || !check.OK {
		p.t.Errorf("audit: %+v, %v", check, err)
	}
	for _, r := range p.replicas("") {
		if len(r.Shards) != 1 || r.State != "ready" {
			p.t.Errorf("replica: %+v", r)
			continue
		}
		log := p.logText("here", r.Shards[0].ID)
		if !strings.Contains(log, "llama") {
			p.t.Errorf("the log of %s does not look like llama-server's: %q", r.ID, log)
		}
		if strings.Contains(log, r.EngineKey) {
			p.t.Errorf("the log of %s holds the engine's key", r.ID)
		}
	}
	if log := p.logText("here", ""); !strings.Contains(log, "engine started") {
		p.t.Errorf("the agent's own log: %q", log)
	}
	if n := len(enginesIn(dir)); n != 2 {
		p.t.Errorf("want 2 engine processes, got %v", enginesIn(dir))
	}
}

// logText is a log as the control plane hands it on; of no shard, the agent's.
func (p *plane) logText(node, shard string) string {
	p.t.Helper()
	lines := 1000
	r, err := p.admin.NodeLogs(p.t.Context(), node, adminclient.LogRequest{Shard: shard, Tail: &lines})
	if err != nil {
		p.t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// checkKeys: a key for other models does not open this one, and a revoked key
// opens nothing from that moment on.
func (p *plane) checkKeys() {
	p.t.Helper()
	narrow := p.newKey(view.KeyRequest{Name: "narrow", Models: []string{"vectors"}})
	c := client{p.Client, narrow.Secret}
	if r := c.chat(p.t, "tiny"); r.status < 400 || r.status >= 500 {
		p.t.Errorf("a key for another model: %s", r)
	}
	wide := p.newKey(view.KeyRequest{Name: "wide"})
	c = client{p.Client, wide.Secret}
	if r := c.chat(p.t, "tiny"); r.status != http.StatusOK {
		p.t.Fatalf("a new key: %s", r)
	}
	if _, err := p.admin.RevokeKey(p.t.Context(), wide.ID); err != nil {
		p.t.Fatal(err)
	}
	if r := c.chat(p.t, "tiny"); r.status != http.StatusUnauthorized {
		p.t.Errorf("a revoked key: %s", r)
	}
}

// checkRestart replaces a replica while requests come in.
func (p *plane) checkRestart() {
	p.t.Helper()
	old := p.replicas("team/tiny")[0].ID
	stop, failures := make(chan struct{}), make(chan string, 1)
	asked := 0
	go func() {
		defer close(failures)
		for {
			select {
			case <-stop:
				return
			default:
			}
			asked++
			r, err := p.client().ask(p.t.Context(), http.MethodPost, "/v1/chat/completions", say("tiny", "hello"))
			if err != nil || r.status != http.StatusOK {
				failures <- brief(r) + brief(err)
				return
			}
		}
	}()
	if _, err := p.admin.Restart(p.t.Context(), view.RestartRequest{Models: []string{"team/tiny"}}); err != nil {
		p.t.Fatal(err)
	}
	until(p.t, "another replica stands in the place of "+old, 3*soon, func() (bool, any) {
		rs := p.replicas("team/tiny")
		return len(rs) == 1 && rs[0].ID != old && rs[0].State == "ready" && rs[0].Restart == "", rs
	})
	close(stop)
	if f, bad := <-failures; bad {
		p.t.Errorf("a request failed during the restart: %s", f)
	}
	if asked < 3 {
		p.t.Errorf("only %d requests were made during the restart, which show nothing", asked)
	}
}

// checkSecrets looks for what no log and no file but its own may hold: keys,
// tokens, prompts.
func (p *plane) checkSecrets(dir string) {
	p.t.Helper()
	secrets := map[string]string{"a client's key": p.key, "the owner's token": p.token, "a prompt": "tell me about apples"}
	for _, r := range p.replicas("") {
		secrets["the engine key of "+r.ID] = r.EngineKey
	}
	texts := map[string]string{"the log of dev": p.output()}
	for _, path := range filesNamed(p.t, dir, "") {
		info, err := os.Stat(path)
		if err != nil {
			continue // it may be gone meanwhile
		}
		if info.Mode().Perm()&0o077 != 0 && filepath.Ext(path) != ".gguf" {
			p.t.Errorf("%s can be read by others: %s", path, info.Mode())
		}
		if b, err := os.ReadFile(path); err == nil {
			texts[path] = string(b)
		}
	}
	own := map[string]string{"admin.token": "the owner's token", "state.json": "the engine key of "}
	for path, text := range texts {
		for what, secret := range secrets {
			if mine := own[filepath.Base(path)]; mine != "" && strings.HasPrefix(what, mine) {
				continue
			}
			if strings.Contains(text, secret) {
				p.t.Errorf("%s holds %s", path, what)
			}
		}
	}
}

func (p *plane) checkRemoval(dir string) {
	p.t.Helper()
	for _, name := range []string{"team/tiny", "vectors"} {
		if _, err := p.admin.RemoveModel(p.t.Context(), name); err != nil {
			p.t.Fatal(err)
		}
	}
	if r := p.client().chat(p.t, "tiny"); r.status != http.StatusNotFound {
		p.t.Errorf("a model that was removed: %s", r)
	}
	until(p.t, "the engines are gone", soon, func() (bool, any) {
		left := enginesIn(dir)
		return len(left) == 0 && len(p.replicas("")) == 0, left
	})
}
