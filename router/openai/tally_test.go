package openai_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"llmgw.io/llmgw/router/openai"
)

// tallied sums up a stream.
func tallied(stream string) *openai.Tally {
	var s openai.Stream
	var all openai.Tally
	s.Feed([]byte(stream))
	for ev, ok := s.Next(); ok; ev, ok = s.Next() {
		all.Add(&ev)
	}
	return &all
}

func TestTally(t *testing.T) {
	t.Parallel()
	sum := func(file string) openai.Tally {
		b, err := os.ReadFile("testdata/streams/" + file)
		if err != nil {
			t.Fatal(err)
		}
		return *tallied(string(b))
	}
	want := openai.Tally{
		Usage:  openai.Usage{PromptTokens: 5, CompletionTokens: 4, TotalTokens: 9},
		Source: openai.UsageReported, ContentEvents: 1, Done: true,
	}
	if diff := cmp.Diff(want, sum("usage_everywhere.sse"), cmpopts.IgnoreUnexported(openai.Tally{})); diff != "" {
		t.Errorf("usage_everywhere (-want +got):\n%s", diff)
	}
	if got := sum("comments.sse"); got.Source != openai.UsageUnknown || got.ContentEvents != 2 {
		t.Errorf("comments give %+v: comments are no content, and no usage is not a usage of zero", got)
	}
	if got := sum("error_in_200.sse"); !got.Failed || !got.Done {
		t.Errorf("error_in_200 gives %+v", got)
	}
}

// What a stream cost is what its engine says of it, whatever it counts: all choices together, each by itself, or a part
// of the way; and where it does not say, it is no fact.
func TestTotal(t *testing.T) {
	t.Parallel()
	const (
		some  = `data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}` + "\n\n"
		ended = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
		other = `data: {"choices":[{"finish_reason":"stop","index":1,"delta":{}}]}` + "\n\n"
		done  = "data: [DONE]\n\n"
	)
	usage := func(rest string) string { return `data: {"choices":[],"usage":` + rest + "}\n\n" }
	alone := usage(`{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11},"timings":{"prompt_n":9,"predicted_n":2}`)
	for _, c := range []struct {
		name, stream       string
		perPrompt          int
		prompt, completion int64
		counted            bool
	}{
		{"all together", some + ended + other + usage(`{"prompt_tokens":9,"completion_tokens":5}`), 2, 9, 5, true},
		{"each by itself", some + ended + alone + some + other + alone + done, 2, 9, 4, true},
		{"each by itself, of two prompts", some + ended + alone + some + other + alone + done, 1, 18, 4, true},
		{"each by itself, on its last event", strings.Repeat(strings.Replace(ended, `"}]}`, `"}],"usage":{"prompt_tokens":9,"completion_tokens":2},"timings":{"prompt_n":9,"predicted_n":2}}`, 1), 3), 3, 9, 6, true},
		{"one by itself", some + ended + alone + done, 1, 9, 2, true},
		{"none", some + some + ended + done, 1, 0, 2, false},
		{"nothing, although there is something", some + some + usage(`{"prompt_tokens":0,"completion_tokens":0}`), 1, 0, 2, false},
		{"the prompt alone", usage(`{"prompt_tokens":9,"completion_tokens":0}`) + some + some, 1, 9, 2, false},
		{"a part of the way", some + usage(`{"prompt_tokens":9,"completion_tokens":1}`) + some + some, 1, 9, 3, false},
		{"all, but no prompt", some + usage(`{"completion_tokens":1}`), 1, 0, 1, false},
		{"an empty answer", ended + usage(`{"prompt_tokens":9,"completion_tokens":0}`), 1, 9, 0, true},
		{"again after the end", some + usage(`{"prompt_tokens":9,"completion_tokens":1}`) + done + some + usage(`{"prompt_tokens":9,"completion_tokens":7}`), 1, 9, 1, true},
	} {
		u, counted := tallied(c.stream).Total(c.perPrompt)
		if u.PromptTokens != c.prompt || u.CompletionTokens != c.completion || u.TotalTokens != c.prompt+c.completion || counted != c.counted {
			t.Errorf("%s: %+v, counted %v", c.name, u, counted)
		}
	}
}

// llama-server says of an answer with several choices what one of them cost. The others are no gift.
func TestTotalOfAnAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body         string
		perPrompt          int
		prompt, completion int64
		counted            bool
	}{
		{"counted together", `{"choices":[{"message":{"content":"a"}},{"message":{"content":"b"}}],"usage":{"prompt_tokens":9,"completion_tokens":4}}`, 2, 9, 4, true},
		{"one counted of two", `{"choices":[{"message":{"content":"a"}},{"message":{"content":"b"}}],"usage":{"prompt_tokens":9,"completion_tokens":2},"timings":{"predicted_n":2}}`, 2, 9, 4, false},
		{"one counted of two prompts", `{"choices":[{"text":"a"},{"text":"b"}],"usage":{"prompt_tokens":9,"completion_tokens":2},"timings":{"predicted_n":2}}`, 1, 18, 4, false},
		{"one counted", `{"choices":[{"message":{"content":"a"}}],"usage":{"prompt_tokens":9,"completion_tokens":2},"timings":{"predicted_n":2}}`, 1, 9, 2, true},
		{"not counted", `{"choices":[{"message":{"content":"a"}}]}`, 1, 0, 77, false},
		{"an empty answer", `{"choices":[{"message":{"content":""}}],"usage":{"prompt_tokens":9,"completion_tokens":0}}`, 1, 9, 0, true},
		{"embeddings", `{"data":[],"usage":{"prompt_tokens":9,"total_tokens":9}}`, 1, 9, 0, true},
	} {
		var p openai.Probe
		p.Write([]byte(c.body))
		u, counted := openai.TallyOf(p.Facts(), 77).Total(c.perPrompt)
		if u.PromptTokens != c.prompt || u.CompletionTokens != c.completion || counted != c.counted {
			t.Errorf("%s: %+v, counted %v", c.name, u, counted)
		}
	}
}

// An answer of several choices is whole when each of them is.
func TestWholeChoices(t *testing.T) {
	t.Parallel()
	end := func(i string) string { return `data: {"choices":[{"finish_reason":"stop","index":` + i + "}]}\n\n" }
	for _, c := range []struct {
		stream  string
		choices int
		want    bool
	}{
		{end("0"), 1, true},
		{end("0"), 2, false},
		{end("0") + end("0"), 2, false},
		{end("1") + end("0"), 2, true},
		{`data: {"choices":[{"finish_reason":"stop","index":1},{"index":0,"finish_reason":"length"}]}` + "\n\n", 2, true},
		{`data: {"choices":[{"finish_reason":null,"index":1},{"index":0,"finish_reason":"length"}]}` + "\n\n", 2, false},
		{`data: {"choices":[{"finish_reason":"stop","index":1},{"index":0,"finish_reason":null}]}` + "\n\n", 2, false},
		{`data: {"choices":[{"text":"a","finish_reason":"stop"}]}` + "\n\n", 1, true},
		{end("70"), 1, true},
		{end("0"), 1000, false},
	} {
		if got := tallied(c.stream).Whole(c.choices); got != c.want {
			t.Errorf("%q of %d choices: whole is %v", c.stream, c.choices, got)
		}
	}
}

// An event that is like the one before it is taken for what it is without being read.
func TestTallySaysWhatEventsSay(t *testing.T) {
	t.Parallel()
	check := func(name, stream string) {
		var s openai.Stream
		var all openai.Tally
		s.Feed([]byte(stream))
		for ev, ok := s.Next(); ok; ev, ok = s.Next() {
			want := ev.Facts()
			if ev.Kind == openai.KindDone || all.Done {
				continue
			}
			if got := all.Add(&ev); got != want {
				t.Errorf("%s: %q is taken for %+v, and is %+v", name, ev.Raw, got, want)
			}
		}
	}
	for file, b := range recordings(t, "testdata/streams/*.sse") {
		check(file, string(b)+"\n\n"+string(b))
	}
	// A text in the middle that ends the text, or is none.
	const head, tail = `data: {"choices":[{"index":0,"delta":{"content":"`, `"},"finish_reason":null}]}`
	for _, text := range []string{
		"", "b", `\"`, `\\`, `\`, `x\`, `","role":"`, `"},"finish_reason":"stop"},{"delta":{"content":"`, `"}}],"usage":{"prompt_tokens":7},"x":[{"y":{"z":"`,
		"\tb", "é", `"},"finish_reason":null}]}{"choices":[{"index":0,"delta":{"content":"`,
	} {
		check(text, head+"a"+tail+"\n\n"+head+text+tail+"\n\n"+head+"c"+tail+"\n\n")
		check(text, head+"a"+tail+"\n\nevent: error\n"+head+text+tail+"\n\n")
		check(text, head+"a"+tail+"\n\n"+head+text+tail+"\ndata: ,\n\n")
	}
	// Many events whose text has to be read, and then others.
	check("again", strings.Repeat(head+"a"+tail+"\n\n"+head+`\n`+tail+"\n\n", 20)+head+tail+"\n\n"+head+"b"+tail+"\n\n")
	// A text that is none.
	const odd = `data: {"choices":[{"delta":{"content":["a"]}}],"x":1"content":"`
	check("no JSON", odd+"a\"}\n\n"+odd+"b,x\"}\n\n")
	// Two texts with the same name, of which one is no content.
	check("two", strings.Repeat(`data: {"choices":[{"index":0,"logprobs":{"content":"a"},"delta":{"content":"b"}}]}`+"\n\n", 2)+
		`data: {"choices":[{"index":0,"logprobs":{"content":"a"},"delta":{"content":""}}]}`+"\n\n")
}
