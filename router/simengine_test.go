package router_test

import (
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/agent/engines/simengine"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/storage"
)

// Every route works with an engine that behaves like a real one, and what the
// rows say is what the engine counted.
func TestWithAnEngine(t *testing.T) {
	t.Parallel()
	inWorld(t, func(c *router.Config) { c.Limits.Heartbeat = time.Hour }, func(w *world) {
		e, err := simengine.New(simengine.Config{Models: []string{"m"}, APIKey: "engine-secret-r1"})
		if err != nil {
			t.Fatal(err)
		}
		w.t.Cleanup(func() { e.Stop(); e.Stop(); <-e.Exited() })
		w.fleet.Set("m", w.serve("r1", e))
		for path, bodies := range map[string][]string{
			chatPath: {chatBody, streamBody, usageBody}, completionPath: {`{"model":"m","prompt":"p"}`, `{"model":"m","prompt":"p","stream":true}`},
			embeddingPath: {`{"model":"m","input":"some words"}`},
		} {
			for _, body := range bodies {
				a := w.post(path, strings.Replace(body, "{", `{"max_tokens":5,`, 1))
				if a.status != 200 || a.err != nil {
					t.Errorf("%s %s: %d %s %v", path, body, a.status, a.body, a.err)
				}
				if strings.Contains(body, `"stream":true`) && (!strings.HasSuffix(a.body, doneEvent) || strings.Contains(a.body, `"choices":[],`) != strings.Contains(body, "include_usage")) {
					t.Errorf("%s %s: the client got\n%s", path, body, a.body)
				}
			}
		}
		rows := w.rows()
		if len(rows) != 6 {
			t.Errorf("there are %d rows", len(rows))
		}
		for _, row := range rows {
			if row.Outcome != storage.OutcomeOK || row.Estimated || row.PromptTokens == 0 || (row.CompletionTokens == 0) != (row.Endpoint == "embeddings") {
				t.Errorf("a row is %+v", row)
			}
		}
		w.key = "sk-llmgw-none"
		if n := e.Counts(); w.post(chatPath, chatBody).status != 401 {
			t.Errorf("a stranger came in: %+v", n)
		}
	})
}
