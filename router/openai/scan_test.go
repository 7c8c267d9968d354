package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/router/openai"
)

func TestScanScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/scan", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var lim openai.Limits
			d.MaybeScanArgs(t, "depth", &lim.MaxDepth)
			d.MaybeScanArgs(t, "bytes", &lim.MaxBytes)
			req, err := openai.Scan([]byte(d.Input), lim)
			if err != nil {
				return refusal(t, err)
			}
			if d.Cmd == "scan" {
				return describeRequest(&req)
			}
			return string(openai.Rewrite(nil, []byte(d.Input), &req, edits(t, d))) + "\n"
		})
	})
}

func refusal(t *testing.T, err error) string {
	e, ok := errors.AsType[*openai.RequestError](err)
	if !ok || !errors.Is(err, openai.ErrRequest) || e.Answer().Type != openai.InvalidRequest {
		t.Errorf("error is %#v, want a RequestError", err)
	}
	text := e.Answer().Message
	if e.Param != "" {
		text = e.Param + ": " + text
	}
	return text + "\n"
}

func edits(t *testing.T, d *datadriven.TestData) (e openai.Edits) {
	d.MaybeScanArgs(t, "model", &e.Model)
	d.MaybeScanArgs(t, "adapter", &e.Adapter)
	e.IncludeUsage = d.HasArg("usage")
	if d.HasArg("strip") {
		e.Strip = openai.Steering
	}
	if d.HasArg("drop") {
		e.Strip |= openai.FieldsOf(openai.FieldMaxTokens)
	}
	return e
}

func describeRequest(r *openai.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "model=%q", r.Model)
	say := func(yes bool, format string, args ...any) {
		if yes {
			fmt.Fprintf(&b, " "+format, args...)
		}
	}
	say(r.Stream, "stream")
	say(r.IncludeUsage, "include_usage")
	say(true, "n=%d max=%d", r.N, r.MaxTokens)
	say(r.LimitsDiffer, "differ")
	say(r.BestOf != 0, "best_of=%d", r.BestOf)
	say(r.User != "", "user=%q", r.User)
	say(r.Messages >= 0, "messages=%d", r.Messages)
	say(r.Input != openai.InputNone, "input=%s/%d", [...]string{"", "text", "texts", "tokens", "token-lists", "other"}[r.Input], r.Inputs)
	say(r.InputTokens > 0, "tokens=%d", r.InputTokens)
	b.WriteByte('\n')
	if s := r.Present() & openai.Steering; s != 0 {
		fmt.Fprintf(&b, "steering: %s\n", s)
	}
	if e, ok := errors.AsType[*openai.RequestError](r.Require(openai.Chat)); ok && r.Messages == 0 {
		fmt.Fprintf(&b, "chat: %s\n", e.Answer().Message)
	}
	return b.String()
}

func TestRequire(t *testing.T) {
	t.Parallel()
	cases := []struct {
		body string
		e    openai.Endpoint
		want string // the parameter that is lacking
	}{
		{`{"messages":[{}]}`, openai.Chat, "model"},
		{`{"model":"","messages":[{}]}`, openai.Chat, "model"},
		{`{"model":"m","prompt":"x"}`, openai.Chat, "messages"},
		{`{"model":"m","messages":[{}]}`, openai.Chat, ""},
		{`{"model":"m","messages":[{}]}`, openai.Completions, "prompt"},
		{`{"model":"m","prompt":null}`, openai.Completions, "prompt"},
		{`{"model":"m","prompt":""}`, openai.Completions, ""},
		{`{"model":"m","prompt_embeds":"x"}`, openai.Completions, ""},
		{`{"model":"m","prompt":"x"}`, openai.Embeddings, "input"},
		{`{"model":"m","input":[1]}`, openai.Embeddings, ""},
	}
	for _, c := range cases {
		req, err := openai.Scan([]byte(c.body), openai.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if e, ok := errors.AsType[*openai.RequestError](req.Require(c.e)); ok {
			got = e.Param
		}
		if got != c.want {
			t.Errorf("%s needs %q in %s, want %q", c.e, got, c.body, c.want)
		}
	}
}

func TestScanInvalidUTF8(t *testing.T) {
	t.Parallel()
	_, err := openai.Scan([]byte("{\"model\":\"\xc3(\"}"), openai.Limits{})
	e, ok := errors.AsType[*openai.RequestError](err)
	if !ok || e.Offset != 10 {
		t.Errorf("error is %v, want one at byte 10", err)
	}
}

func TestRequestValue(t *testing.T) {
	t.Parallel()
	body := []byte(`{"model":"m", "messages" : [ {"content":"x"} ] ,"lora":1}`)
	req, err := openai.Scan(body, openai.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	s, ok := req.Value(openai.FieldMessages)
	if got := string(body[s.Start:s.End]); !ok || got != `[ {"content":"x"} ]` {
		t.Errorf("messages are %q", got)
	}
	if _, ok := req.Value(openai.FieldTools); ok {
		t.Error("a field that is not there has a value")
	}
}

// randomBody makes a body with known and unknown members in random order and form.
func randomBody(rnd *rand.Rand) []byte {
	pick := func(s ...string) string { return s[rnd.IntN(len(s))] }
	members := []string{
		`"model":` + pick(`"m"`, ` "a\u0062c" `), `"stream" :true`, `"n": 2`, `"max_tokens":3`, `"lora":` + pick("null", "[ {} ]"),
		`"stream_options":` + pick("null", "{}", "{ }", `{"x":1}`, `{"include_usage":false}`, `{"y":{},"include_usage":true}`, `{ "include_usage":null }`),
		`"priority":-1`, `"api_base":"http://x/\"y"`, `"temperature":0.10`, `"messages":[{"role":"user","content":"Ünïcode , } ] \\"}]`,
		`"slot_id" : 7`, `"metadata":{"lora":1,"model":"z"}`, `"seed":12345678901234567890`,
	}
	rnd.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return []byte(pick("", " ") + "{" + pick("", "\n ") + strings.Join(members[:rnd.IntN(len(members)+1)], pick(",", " , ", ",\n")) + pick("", " ") + "}" + pick("", "\n"))
}

func decode(t testing.TB, b []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%s is no JSON: %v", b, err)
	}
	return m
}

// edited applies the edits to a decoded body: the oracle for Rewrite.
func edited(m map[string]any, e openai.Edits) map[string]any {
	for f := openai.FieldModel; f <= openai.FieldLogitsProcessors; f++ {
		if e.Strip.Has(f) && (f != openai.FieldModel || e.Model == "") && (f != openai.FieldStreamOptions || !e.IncludeUsage) {
			delete(m, f.String())
		}
	}
	if e.Model != "" {
		m["model"] = e.Model
	}
	if e.Adapter > 0 {
		m["lora"] = []any{map[string]any{"id": json.Number(strconv.Itoa(e.Adapter - 1)), "scale": json.Number("1")}}
	}
	if e.IncludeUsage {
		o, _ := m["stream_options"].(map[string]any)
		if on, _ := o["include_usage"].(bool); o == nil || !on && countsAlong(o) {
			o = map[string]any{}
		}
		o["include_usage"] = true
		m["stream_options"] = o
	}
	return m
}

// countsAlong reports whether options ask for usage on every event.
func countsAlong(options map[string]any) bool {
	for name := range options {
		if strings.EqualFold(name, "continuous_usage_stats") {
			return true
		}
	}
	return false
}

func checkRewrite(t testing.TB, body []byte, req *openai.Request, e openai.Edits) {
	t.Helper()
	got := openai.Rewrite([]byte("before"), body, req, e)
	var joined []byte
	for _, p := range openai.Pieces(nil, body, req, e) {
		if len(p) == 0 {
			t.Errorf("%q with %+v has an empty piece", body, e)
		}
		joined = append(joined, p...)
	}
	if string(joined) != strings.TrimPrefix(string(got), "before") {
		t.Errorf("%q with %+v is %q in pieces and %q as a whole", body, e, joined, got)
	}
	got, ok := bytes.CutPrefix(got, []byte("before"))
	if !ok {
		t.Fatalf("rewrite does not append")
	}
	if diff := cmp.Diff(edited(decode(t, body), e), decode(t, got)); diff != "" {
		t.Fatalf("%s with %+v gives %s (-want +got):\n%s", body, e, got, diff)
	}
	again, err := openai.Scan(got, openai.Limits{})
	if err != nil {
		t.Fatalf("the result %s is refused: %v", got, err)
	}
	if e.Model != "" && again.Model != e.Model || e.IncludeUsage && !again.IncludeUsage {
		t.Fatalf("%s with %+v gives %s", body, e, got)
	}
}

func TestRewriteIsAnEditAndNothingElse(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		body := randomBody(rnd)
		req, err := openai.Scan(body, openai.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if got := openai.Rewrite(nil, body, &req, openai.Edits{}); !bytes.Equal(got, body) {
			t.Fatalf("no edits change %s to %s", body, got)
		}
		e := openai.Edits{IncludeUsage: rnd.IntN(2) == 0, Strip: openai.Fields(rnd.Uint64()) & (openai.Steering | openai.FieldsOf(openai.FieldMaxTokens, openai.FieldN, openai.FieldModel))}
		if rnd.IntN(2) == 0 {
			e.Model = "née \"x\"\n"
		}
		e.Adapter = rnd.IntN(3)
		checkRewrite(t, body, &req, e)
	}
}

func longBody(n int) []byte {
	return []byte(`{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("the words of a long prompt ", n/27) + `"}],"stream":true}`)
}

func TestScanAllocates(t *testing.T) {
	body := longBody(64 << 10)
	dst := make([]byte, 0, 2*len(body))
	n := testing.AllocsPerRun(20, func() {
		req, err := openai.Scan(body, openai.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		dst = openai.Rewrite(dst[:0], body, &req, openai.Edits{Model: "x", Strip: openai.Steering, IncludeUsage: true})
	})
	if n > 2 {
		t.Errorf("%v allocations a request, want the request and its model's name at most", n)
	}
}

func BenchmarkScan(b *testing.B) {
	body := longBody(64 << 10)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := openai.Scan(body, openai.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
