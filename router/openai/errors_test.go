package openai_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/router/openai"
)

func TestErrorForms(t *testing.T) {
	t.Parallel()
	e := openai.Error{Type: openai.NotFound, Message: "There is no model \"x\".\n", Code: "model_not_found"}
	want := `{"error":{"message":"There is no model \"x\".\n","type":"not_found_error","param":null,"code":"model_not_found"}}`
	if got := string(e.Append(nil)); got != want {
		t.Errorf("body is %s, want %s", got, want)
	}
	var s openai.Stream
	s.Feed(e.AppendEvent(nil))
	ev, ok := s.Next()
	if !ok || !ev.Facts().Failed || string(ev.Data(nil)) != want {
		t.Errorf("event is %q", ev.Raw)
	}
	back, ok := openai.ReadError(ev.Data(nil))
	if want := (openai.EngineError{Type: "not_found_error", Message: e.Message, Code: e.Code}); !ok || back != want {
		t.Errorf("read back as %+v, want %+v", back, want)
	}
}

func TestErrorTypes(t *testing.T) {
	t.Parallel()
	want := map[openai.ErrorType]int{
		openai.InvalidRequest: 400, openai.Authentication: 401, openai.Permission: 403, openai.NotFound: 404, openai.RateLimit: 429,
		openai.BudgetExceeded: 429, openai.Overloaded: 503, openai.Upstream: 502, openai.ServerError: 500,
	}
	for typ, status := range want {
		if typ.Status() != status || !typ.Valid() {
			t.Errorf("%s has status %d (valid %v), want %d", typ, typ.Status(), typ.Valid(), status)
		}
	}
	if openai.ErrorType("nonsense").Valid() {
		t.Error("an unknown type is valid")
	}
}

func TestReadEngineErrors(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, body string
		status     int
		want       openai.EngineError
		out        openai.ErrorType
		retry      bool
	}{
		{
			"llama context", `{"error":{"code":400,"message":"too long","type":"exceed_context_size_error","n_ctx":256}}`, 400,
			openai.EngineError{Type: "exceed_context_size_error", Message: "too long", Code: "400"},
			openai.InvalidRequest, false,
		},
		{
			"llama loading", `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`, 503,
			openai.EngineError{Type: "unavailable_error", Message: "Loading model", Code: "503"},
			openai.Overloaded, true,
		},
		{
			"llama batch", `{"error":{"code":500,"message":"input (604 tokens) is too large to process. increase the physical batch size","type":"server_error"}}`, 500,
			openai.EngineError{Type: "server_error", Message: "input (604 tokens) is too large to process. increase the physical batch size", Code: "500"},
			openai.InvalidRequest, false,
		},
		{
			"vllm", `{"error":{"message":"This model's maximum context length is 2048 tokens.","type":"BadRequestError","param":"input_tokens, max_tokens","code":400}}`, 400,
			openai.EngineError{Type: "BadRequestError", Message: "This model's maximum context length is 2048 tokens.", Param: "input_tokens, max_tokens", Code: "400"},
			openai.InvalidRequest, false,
		},
		{
			"vllm old", `{"object":"error","message":"bad","type":"BadRequestError","param":null,"code":400}`, 400,
			openai.EngineError{Type: "BadRequestError", Message: "bad", Code: "400"},
			openai.InvalidRequest, false,
		},
		{"text", `{"error":"Unauthorized"}`, 401, openai.EngineError{Message: "Unauthorized"}, openai.Upstream, true},
		{"detail", `{"detail":"Not Found"}`, 404, openai.EngineError{Message: "Not Found"}, openai.Upstream, true},
		{"busy", `{"error":{"message":"slow down","type":"rate_limit"}}`, 429, openai.EngineError{Type: "rate_limit", Message: "slow down"}, openai.RateLimit, true},
		{
			"dead", `{"error":{"message":"EngineCore encountered an issue.","type":"InternalServerError","code":500}}`, 500,
			openai.EngineError{Type: "InternalServerError", Message: "EngineCore encountered an issue.", Code: "500"},
			openai.Upstream, true,
		},
	}
	for _, c := range cases {
		got, ok := openai.ReadError([]byte(c.body))
		if diff := cmp.Diff(c.want, got); !ok || diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if out, retry := got.Translate(c.status); out.Type != c.out || retry != c.retry || out.Message == "" {
			t.Errorf("%s becomes %s (retry %v), want %s (%v)", c.name, out.Type, retry, c.out, c.retry)
		}
	}
	inStream := openai.EngineError{Message: "too long", Type: "exceed_context_size_error", Code: "400"}
	if out, retry := inStream.Translate(200); out.Type != openai.InvalidRequest || retry || out.Code != "context_length_exceeded" {
		t.Errorf("an error with code 400 within a stream becomes %+v (retry %v)", out, retry)
	}
	for _, body := range []string{"", "<html>", `{}`, `{"error":null}`, `{"error":{}}`, `{"choices":[]}`, `{"message":"m"}`, `[1]`, `{"detail":null}`} {
		if got, ok := openai.ReadError([]byte(body)); ok {
			t.Errorf("%q is read as the error %+v", body, got)
		}
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	got := openai.AppendModels(nil, []openai.Model{
		{ID: "org/name:tag", Created: 5, OwnedBy: "llmgw", ContextLength: 4096, Capabilities: []string{"chat"}},
		{ID: "b", OwnedBy: "llmgw", Root: "base", Parent: "base"},
	})
	want := `{"object":"list","data":[{"id":"org/name:tag","object":"model","created":5,"owned_by":"llmgw","context_length":4096,"capabilities":["chat"]},` +
		`{"id":"b","object":"model","created":0,"owned_by":"llmgw","root":"base","parent":"base"}]}`
	if string(got) != want {
		t.Errorf("list is\n%s, want\n%s", got, want)
	}
	if got := string(openai.AppendModels(nil, nil)); got != `{"object":"list","data":[]}` {
		t.Errorf("the empty list is %s", got)
	}
}

func TestEmbeddingForms(t *testing.T) {
	t.Parallel()
	w := openai.Writer{Model: "m"}
	vectors := [][]float32{{0.1, -2, float32(math.Pi)}, {}}
	type item struct{ Embedding json.RawMessage }
	read := func(packed bool) []item {
		body := w.Embeddings(nil, vectors, packed, 9)
		var got struct{ Data []item }
		if err := json.Unmarshal(body, &got); err != nil || len(got.Data) != 2 {
			t.Fatalf("%s: %v", body, err)
		}
		var p openai.Probe
		p.Write(body)
		if f := p.Facts(); f.Usage.PromptTokens != 9 || f.Usage.TotalTokens != 9 || f.Source != openai.UsageReported {
			t.Errorf("usage of %s is %+v", body, f)
		}
		return got.Data
	}
	var floats []float32
	if err := json.Unmarshal(read(false)[0].Embedding, &floats); err != nil || !cmp.Equal(floats, vectors[0]) {
		t.Errorf("numbers are %v (%v)", floats, err)
	}
	var text string
	if err := json.Unmarshal(read(true)[0].Embedding, &text); err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) != 12 || math.Float32frombits(binary.LittleEndian.Uint32(raw[8:])) != vectors[0][2] {
		t.Errorf("base64 holds %v (%v)", raw, err)
	}
}

// Everything that the writer makes is read back by the reader as what it was.
func TestWriterAndReaderAgree(t *testing.T) {
	t.Parallel()
	w := openai.Writer{ID: "id", Model: "m \"q\"", Created: 1, Fingerprint: "f"}
	u := openai.Usage{PromptTokens: 20, CompletionTokens: 2, CachedTokens: 16, CachedKnown: true}
	var b []byte
	b = w.ChatRole(b, 0)
	b = w.ChatText(b, 0, "tabs\tand \x01 \xff bytes")
	b = w.ChatTool(b, 0, openai.ToolCall{ID: "c1", Name: "f", Arguments: ""})
	b = w.ChatTool(b, 0, openai.ToolCall{Index: 1, Arguments: `{"a":1}`})
	b = w.ChatFinish(b, 0, "tool_calls")
	b = w.ChatUsage(b, u)
	b = w.Text(b, 1, "x", "")
	b = w.Text(b, 1, "", "length")
	b = w.TextUsage(b, u)
	b = openai.AppendDone(b)
	golden(t, "testdata/writer.sse", string(b))
	golden(t, "testdata/writer.txt", follow(t, &openai.Stream{}, b))

	calls := []openai.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "b", Name: "g", Arguments: `{"x":"ü"}`}}
	choices := []openai.Choice{{Text: "t", FinishReason: "stop"}, {Index: 1, ToolCalls: calls, FinishReason: "tool_calls"}}
	for _, body := range [][]byte{w.Chat(nil, choices, u), w.Completion(nil, choices, u)} {
		var p openai.Probe
		p.Write(body)
		f := p.Facts()
		u.TotalTokens = 22
		if !json.Valid(body) || f.Choices != 2 || f.Usage != u || !f.Content {
			t.Errorf("%s is read as %+v", body, f)
		}
	}
}
