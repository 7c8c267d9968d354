package openai_test

import (
	"bytes"
	"encoding/json"
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
			Options   struct {
				IncludeUsage bool `json:"include_usage"`
			} `json:"stream_options"`
		}
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("%q is accepted, but Go cannot read it: %v", body, err)
		}
		limit := -1
		for _, p := range []*int{want.MaxTokens, want.Newer} {
			if p != nil {
				limit = *p
			}
		}
		if req.Model != want.Model || req.Stream != want.Stream || req.IncludeUsage != want.Options.IncludeUsage || req.MaxTokens != limit {
			t.Fatalf("%q: scanned %+v, Go reads %+v", body, req, want)
		}
		checkRewrite(t, body, &req, openai.Edits{Model: "other", Strip: openai.Steering, IncludeUsage: true})
		checkRewrite(t, body, &req, openai.Edits{Strip: openai.FieldsOf(openai.FieldModel, openai.FieldN, openai.FieldPriority)})
	})
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
	})
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
