package router_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/routertest"
	"llmgw.io/llmgw/storage"
)

func TestAnswerAndRow(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		w.catalog.Set(catalog.Model{Name: "m", Profiles: managed(), Price: &catalog.Price{Input: 1_000_000, Output: 500_001, Request: 7}})
		e := w.one(nil)
		req := w.request(http.MethodPost, chatPath, `{"model":"m","user":"eve","messages":[{"role":"user","content":"hi"}]}`)
		req.Header.Set("X-Request-Id", "my-own.1")
		a := w.do(req)
		if a.status != 200 || !strings.Contains(a.body, `"hello"`) || a.header.Get("Content-Type") != "application/json" {
			t.Errorf("the answer is %d %v %s", a.status, a.header, a.body)
		}
		got := w.row()
		want := storage.Request{
			ID: a.header.Get("X-Request-Id"), KeyID: w.keyID, UserID: "u", ProjectID: "p", Model: "m", ServedModel: "m", Replica: "r1",
			Endpoint: "chat", Status: 200, Outcome: storage.OutcomeOK, PromptTokens: 3, CompletionTokens: 1, CostMicros: 3 + 1 + 7,
			Attempts: []storage.Attempt{{Replica: "r1", Status: 200}}, EndUser: "eve", Tags: map[string]string{"client_request_id": "my-own.1"},
		}
		if d := cmp.Diff(want, got, cmpopts.IgnoreFields(storage.Request{}, "At", "Latency", "FirstByte")); d != "" {
			t.Error(d)
		}
		call := e.Calls()[0]
		if got := call.Header.Get("Authorization"); got != "Bearer engine-secret-r1" {
			t.Errorf("the engine got the credential %q", got)
		}
		if got := call.Header.Get("X-Request-Id"); got != want.ID {
			t.Errorf("the engine got the request id %q, want %q", got, want.ID)
		}
	})
}

// What an engine is told is a list of ours, whatever the client sends; and the
// other way round.
func TestHeadersAreAllowed(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		e := w.one(func(rw http.ResponseWriter, c routertest.Call) {
			rw.Header().Set("Server", "engine 1.2")
			rw.Header().Set("Set-Cookie", "a=b")
			rw.Header().Set("Access-Control-Allow-Origin", "*")
			routertest.Hello(rw, c)
		})
		req := w.request(http.MethodPost, chatPath, chatBody)
		for name, value := range map[string]string{
			"Accept-Encoding": "gzip, br", "Cookie": "c=d", "X-Api-Key": "k", "Forwarded": "for=1.2.3.4", "Te": "trailers",
			"X-Forwarded-For": "9.9.9.9", "Upgrade": "h2c", "Connection": "Upgrade, X-Custom", "X-Custom": "1", "Openai-Organization": "o",
			"Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		} {
			req.Header.Set(name, value)
		}
		a := w.do(req)
		var got []string
		for name := range e.Calls()[0].Header {
			got = append(got, name)
		}
		slices.Sort(got)
		want := []string{"Accept-Encoding", "Authorization", "Content-Length", "Content-Type", "Traceparent", "User-Agent", "X-Request-Id"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("the engine got other headers:\n%s", d)
		}
		if got := e.Calls()[0].Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("the engine may answer as %q", got)
		}
		for _, name := range []string{"Server", "Set-Cookie", "Access-Control-Allow-Origin"} {
			if a.header.Get(name) != "" {
				t.Errorf("the client got the engine's %s", name)
			}
		}
	})
}

// A usage object that was cut by a chunk is found, and an answer of any size
// goes through (higress-group/higress#4728).
func TestUsageOfAnswersInPieces(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("word ", 1<<20)
	for name, text := range map[string]string{"small": "hello", "5 MB": big} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, nil, func(w *world) {
				body := fmt.Sprintf(`{"object":"chat.completion","choices":[{"index":0,"message":{"content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":34,"total_tokens":46}}`, text)
				cut := strings.Index(body, "completion_tokens") + 5
				w.one(func(rw http.ResponseWriter, c routertest.Call) {
					rw.Header().Set("Content-Type", "application/json")
					for _, piece := range []string{body[:cut], body[cut : cut+14], body[cut+14:]} {
						_, _ = rw.Write([]byte(piece))
						rw.(http.Flusher).Flush()
						routertest.Pause(c, 10*time.Millisecond)
					}
				})
				if a := w.post(chatPath, chatBody); a.body != body {
					t.Errorf("the answer of %d bytes came as %d", len(body), len(a.body))
				}
				row := w.row()
				if row.PromptTokens != 12 || row.CompletionTokens != 34 || row.Estimated || row.Outcome != storage.OutcomeOK {
					t.Errorf("the row has %+v", row)
				}
			})
		})
	}
}

func TestUsageThatNobodyCountedIsAnEstimate(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		w.one(routertest.JSON(200, `{"choices":[{"message":{"content":"twelve bytes"}}]}`))
		w.post(chatPath, chatBody)
		if row := w.row(); !row.Estimated || row.PromptTokens == 0 || row.CompletionTokens == 0 {
			t.Errorf("the row has %+v", row)
		}
	})
}

// Bodies are taken up to the cap and no further (envoyproxy/ai-gateway#827).
func TestBodySizes(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		e := w.one(nil)
		for _, size := range []int{32_767, 32_768, 32_769, 1 << 20, 31 << 20} {
			body := bodyOf(size)
			if a := w.post(chatPath, body); a.status != 200 {
				t.Fatalf("a body of %d bytes is answered %d: %s %v", size, a.status, a.body, a.err)
			}
			calls := e.Calls()
			if string(calls[len(calls)-1].Body) != body {
				t.Errorf("a body of %d bytes did not arrive as it was", size)
			}
		}
		a := w.post(chatPath, bodyOf(32<<20+1))
		if typ, _, message := errorOf(t, a); a.status != 413 || typ != "invalid_request_error" || !strings.Contains(message, "33554432 bytes") {
			t.Errorf("a body beyond the cap is answered %d %s", a.status, a.body)
		}
	})
}

func bodyOf(size int) string {
	const head, tail = `{"model":"m","messages":[{"role":"user","content":"`, `"}]}`
	return head + strings.Repeat("x", size-len(head)-len(tail)) + tail
}

// Histories that are unusual but valid pass untouched (tashfeenahmed/freellmapi#165),
// and so do bytes that have more than one spelling.
func TestBodiesPassUntouched(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		e := w.one(nil)
		for _, messages := range []string{
			`[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}]`,
			`[{"role":"assistant","content":""}]`,
			`[{"role":"assistant","content":[]}]`,
			`[{"role":"assistant","tool_calls":null}]`,
			"[ {\"role\" : \"user\",\t\"content\":\"\\u00e9 \\/ \u00e9\", \"x\":1.50e+2, \"x\":2} ]",
		} {
			body := `{"model":"m","messages":` + messages + `}`
			if a := w.post(chatPath, body); a.status != 200 {
				t.Errorf("%s is answered %d %s", messages, a.status, a.body)
				continue
			}
			calls := e.Calls()
			if got := string(calls[len(calls)-1].Body); got != body {
				t.Errorf("%s became %s", body, got)
			}
		}
	})
}

// Nothing in a body leads a request elsewhere (BerriAI/litellm CVE-2024-6587).
func TestSteeringFieldsAreStripped(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		e := w.one(nil)
		a := w.post(chatPath, `{"api_base":"http://evil","model":"nick","base_url":"http://evil","extra_body":{"a":1},"messages":[{}],"priority":-1,"cache_salt":"s","lora":[{"id":1}],"temperature":0}`)
		if a.status != 200 {
			t.Fatalf("status %d %s", a.status, a.body)
		}
		if got, want := string(e.Calls()[0].Body), `{"model":"m","messages":[{}],"temperature":0}`; got != want {
			t.Errorf("the engine got %s, want %s", got, want)
		}
		for _, model := range []string{"../m", "http://evil/m", "/etc/passwd", "m/../m", "M"} {
			if a := w.post(chatPath, `{"model":"`+model+`","messages":[{}]}`); a.status != 404 {
				t.Errorf("the model %s is answered %d", model, a.status)
			}
		}
		if n := w.net.Dialled("evil:80"); n != 0 || len(e.Calls()) != 1 {
			t.Errorf("there were %d calls elsewhere and %d here", n, len(e.Calls()))
		}
	})
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	inWorld(t, func(c *router.Config) { c.Limits.Body = 1000 }, func(w *world) {
		e := w.one(nil)
		for _, c := range []struct {
			name, method, path, body, encoding string
			status                             int
			code                               string
		}{
			{name: "no JSON", path: chatPath, body: `{"model":`, status: 400},
			{name: "no messages", path: chatPath, body: `{"model":"m"}`, status: 400},
			{name: "no model", path: chatPath, body: `{"messages":[]}`, status: 400},
			{name: "empty", path: chatPath, status: 400},
			{name: "two models", path: chatPath, body: `{"model":"m","Model":"n","messages":[{}]}`, status: 400},
			{name: "too long", path: chatPath, body: bodyOf(1001), status: 413, code: "request_too_large"},
			{name: "gzip", path: chatPath, body: chatBody, encoding: "gzip", status: 415, code: "unsupported_encoding"},
			{name: "GET", method: http.MethodGet, path: chatPath, status: 405, code: "method_not_allowed"},
			{name: "POST of models", path: "/v1/models", status: 405, code: "method_not_allowed"},
			{name: "unknown path", path: "/v1/nope", status: 404, code: "unknown_url"},
			{name: "unknown model", path: chatPath, body: `{"model":"nope","messages":[{}]}`, status: 404, code: "model_not_found"},
		} {
			method := c.method
			if method == "" {
				method = http.MethodPost
			}
			req := w.request(method, c.path, c.body)
			if c.encoding != "" {
				req.Header.Set("Content-Encoding", c.encoding)
			}
			a := w.do(req)
			_, code, message := errorOf(t, a)
			if a.status != c.status || c.code != "" && code != c.code || !strings.HasSuffix(message, ".") {
				t.Errorf("%s: answered %d %s", c.name, a.status, a.body)
			}
		}
		if len(e.Calls()) != 0 {
			t.Errorf("the engine was asked %d times", len(e.Calls()))
		}
		for _, row := range w.rows() {
			if row.Outcome != storage.OutcomeRefused || row.Status < 400 {
				t.Errorf("a refused request has the row %+v", row)
			}
		}
	})
}

// An engine is asked under the name it serves, and the row has the model's own.
func TestServedName(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(w *world) {
		w.catalog.Set(catalog.Model{Name: "m", Profiles: managed(), Price: &catalog.Price{Request: 3}})
		e := &routertest.Engine{}
		b := w.serve("r1", e)
		b.Model = `odd "name"`
		w.fleet.Set("m", b)
		w.post(chatPath, chatBody)
		if got := string(e.Calls()[0].Body); !strings.HasPrefix(got, `{"model":"odd \"name\"",`) {
			t.Errorf("the engine got %s", got)
		}
		if row := w.row(); row.ServedModel != "m" || row.CostMicros != 3 {
			t.Errorf("the row has %+v", row)
		}
	})
}
