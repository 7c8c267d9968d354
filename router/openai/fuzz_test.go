package openai_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"llmgw.io/llmgw/router/openai"
)

// FuzzScan takes encoding/json as the oracle: what is accepted is JSON that Go, too, reads as the same model, stream and
// limits, and what JSON it is stays after a rewrite. What is authorised is what runs.
func FuzzScan(f *testing.F) {
	for _, s := range []string{
		`{"model":"m","stream":true,"stream_options":{"include_usage":false},"max_tokens":3,"n":2}`, `{"mod\u0065l":"\ud83d\ude00","lora":[1]}`,
		`{"Model":"m"}`, `{"model":"a","model":"b"}`, ` {"prompt":[[1,2],[3]]} `, `{"input":"x"} x`, `[]`, `{"a":01}`, "{\"\xff\":1}", `{"a":"\ud800"}`,
		`{"model":"a","mod\u0065l":"b"}`, `{"\u017ftream":true,"model":"m"}`, `{"to\u212aens":1,"MAX_TO\u212aENS":9,"max_tokens":1}`, `{"n":null,"N":2}`,
		`{"stream_options":{"include_usage":true,"Include_Usage":false}}`, `{"stream_options":{"continuous_usage_stats":true,"include_usage":null}}`,
		`{"priority":1,"model":"m","rid":"x" , "n_predict":-1}`, `{"n_predict":1}`, `{"lora":[],"max_tokens":1.0}`, `{"user":null,"user":"x"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := openai.Scan(body, openai.Limits{})
		if err != nil {
			return
		}
		if !json.Valid(body) || !utf8.Valid(body) {
			t.Fatalf("%q is accepted and no JSON", body)
		}
		var want struct {
			Model     string `json:"model"`
			Stream    bool   `json:"stream"`
			MaxTokens *int   `json:"max_tokens"`
			Newer     *int   `json:"max_completion_tokens"`
			N         *int   `json:"n"`
			BestOf    int    `json:"best_of"`
			User      string `json:"user"`
			Options   struct {
				IncludeUsage bool `json:"include_usage"`
			} `json:"stream_options"`
		}
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("%q is accepted, but Go cannot read it: %v", body, err)
		}
		limit, n := -1, 1
		if want.N != nil {
			n = *want.N
		}
		for _, p := range []*int{want.MaxTokens, want.Newer} {
			if p != nil {
				limit = *p
			}
		}
		if req.N != n || req.BestOf != want.BestOf || req.User != want.User || req.Model != want.Model || req.Stream != want.Stream || req.IncludeUsage != want.Options.IncludeUsage || req.MaxTokens != limit {
			t.Fatalf("%q: scanned %+v, Go reads %+v", body, req, want)
		}
		checkRewrite(t, body, &req, openai.Edits{Model: "other", Strip: openai.Steering, IncludeUsage: true})
		checkStripped(t, openai.Rewrite(nil, body, &req, openai.Edits{Strip: openai.Steering}))
		checkRewrite(t, body, &req, openai.Edits{Strip: openai.FieldsOf(openai.FieldModel, openai.FieldN, openai.FieldPriority)})
	})
}

// checkStripped wants no member that a decoder could take for one that steers an engine, however it treats case.
func checkStripped(t *testing.T, body []byte) {
	t.Helper()
	for name := range decode(t, body) {
		for f := openai.FieldPriority; openai.Steering.Has(f); f++ {
			if strings.EqualFold(name, f.String()) {
				t.Fatalf("%s still has %q", body, name)
			}
		}
	}
}

// FuzzStream wants the same events for every way of cutting, no byte lost, and no panic.
func FuzzStream(f *testing.F) {
	for _, b := range recordings(f, "testdata/streams/*.sse") {
		f.Add(b, uint16(7), uint16(30))
	}
	f.Add([]byte("\r\n\r\r\n\n\rdata\r\r\n: \n\n"), uint16(3), uint16(4))
	f.Fuzz(func(t *testing.T, b []byte, one, two uint16) {
		whole := follow(t, &openai.Stream{MaxEvent: 1 << 12}, b)
		i, j := int(one)%(len(b)+1), int(two)%(len(b)+1)
		i, j = min(i, j), max(i, j)
		if got := follow(t, &openai.Stream{MaxEvent: 1 << 12}, b[:i:i], b[i:j:j], b[j:]); got != whole {
			t.Fatalf("%q cut at %d and %d:\n%s\nin one piece:\n%s", b, i, j, got, whole)
		}
		var s openai.Stream
		var all openai.Tally
		s.Feed(b)
		for ev, ok := s.Next(); ok && !all.Done; ev, ok = s.Next() {
			if want := ev.Facts(); ev.Kind != openai.KindDone && all.Add(&ev) != want {
				t.Fatalf("%q: the event %q is not taken for %+v", b, ev.Raw, want)
			}
		}
		checkTotal(t, &all)
	})
}

// checkTotal wants a sum that could be a bill.
func checkTotal(t *testing.T, all *openai.Tally) {
	t.Helper()
	for n := range 3 {
		u, counted := all.Total(n)
		if min(u.PromptTokens, u.CompletionTokens, u.TotalTokens, u.CachedTokens, u.ReasoningTokens) < 0 || counted && u.PromptTokens == 0 {
			t.Fatalf("%+v adds up to %+v, counted %v", all, u, counted)
		}
	}
}

// FuzzUsage wants the same facts for every way of cutting, and the counts that encoding/json finds where the body is
// JSON in which no name is escaped or given twice.
func FuzzUsage(f *testing.F) {
	for _, b := range recordings(f, "testdata/bodies/*.json") {
		f.Add(b, uint16(20))
	}
	f.Fuzz(func(t *testing.T, b []byte, at uint16) {
		i := int(at) % (len(b) + 1)
		whole := probe(b)
		if got := probe(b[:i], b[i:]); got != whole {
			t.Fatalf("%q cut at %d: %s, in one piece: %s", b, i, got, whole)
		}
		var p openai.Probe
		p.Write(b)
		facts := p.Facts()
		checkTotal(t, openai.TallyOf(facts, int64(len(b)/4)))
		if facts.Source != openai.UsageReported || !json.Valid(b) || bytes.ContainsRune(b, '\\') || bytes.Count(b, []byte(`"usage"`)) != 1 {
			return
		}
		var want struct {
			Usage map[string]any `json:"usage"`
		}
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		if d.Decode(&want) != nil || bytes.Count(b, []byte(`"prompt_tokens"`)) != 1 {
			return
		}
		n, ok := want.Usage["prompt_tokens"].(json.Number)
		if got, err := n.Int64(); ok && err == nil && got >= 0 && got < 1e12 && got != facts.Usage.PromptTokens {
			t.Fatalf("%q: %d prompt tokens, Go reads %d", b, facts.Usage.PromptTokens, got)
		}
	})
}
