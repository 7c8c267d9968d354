package openai_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/router/openai"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with the file, or writes it with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func recordings(t testing.TB, pattern string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings match %s (%v)", pattern, err)
	}
	all := map[string][]byte{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all[f] = b
	}
	return all
}

var kindNames = [...]string{"other", "comment", "data", "done"}

func describe(b *strings.Builder, ev *openai.Event) {
	fmt.Fprintf(b, "%s", kindNames[ev.Kind])
	if ev.Cut {
		b.WriteString(" cut")
	}
	fmt.Fprintf(b, " %d bytes", len(ev.Raw))
	if ev.Kind == openai.KindData {
		describeFacts(b, ev.Facts())
	}
	b.WriteByte('\n')
}

func describeFacts(b *strings.Builder, f openai.Facts) {
	fmt.Fprintf(b, " choices=%d", f.Choices)
	if f.Content {
		b.WriteString(" content")
	}
	if f.FinishReason != "" {
		b.WriteString(" finish=" + f.FinishReason)
	}
	if f.Failed {
		b.WriteString(" failed")
	}
	if u := f.Usage; f.Source != openai.UsageUnknown {
		fmt.Fprintf(b, " %s=%d+%d=%d", [...]string{"", "timings", "usage"}[f.Source], u.PromptTokens, u.CompletionTokens, u.TotalTokens)
		if u.CachedKnown {
			fmt.Fprintf(b, " cached=%d", u.CachedTokens)
		}
	}
	if f.UsageOnly() {
		b.WriteString(" usage-only")
	}
	if !f.Whole {
		b.WriteString(" broken")
	}
}

// follow feeds the pieces and describes the events; it fails unless the raw bytes are what was fed.
func follow(t testing.TB, s *openai.Stream, pieces ...[]byte) string {
	t.Helper()
	var text strings.Builder
	var raw []byte
	for _, p := range pieces {
		s.Feed(p)
		for ev, ok := s.Next(); ok; ev, ok = s.Next() {
			describe(&text, &ev)
			raw = append(raw, ev.Raw...)
		}
	}
	if err := s.Err(); err != nil {
		return text.String() + "error: " + err.Error() + "\n"
	}
	if ev, ok := s.Finish(); ok {
		describe(&text, &ev)
		raw = append(raw, ev.Raw...)
	}
	if whole := bytes.Join(pieces, nil); !bytes.Equal(raw, whole) {
		t.Fatalf("events hold %q, fed were %q", raw, whole)
	}
	return text.String()
}

// cuts gives every way to cut b once, and some ways to cut it many times.
func cuts(b []byte, rnd *rand.Rand, yield func(pieces ...[]byte)) {
	for i := range b {
		yield(b[:i:i], b[i:])
	}
	for range 200 {
		var pieces [][]byte
		longest := 1 + rnd.IntN(40)
		for rest := b; len(rest) > 0; {
			n := min(len(rest), 1+rnd.IntN(longest))
			pieces = append(pieces, rest[:n:n])
			rest = rest[n:]
		}
		yield(pieces...)
	}
}

func TestStreamRecordings(t *testing.T) {
	t.Parallel()
	for file, b := range recordings(t, "testdata/streams/*.sse") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			whole := follow(t, &openai.Stream{}, b)
			golden(t, strings.TrimSuffix(file, ".sse")+".txt", whole)
			cuts(b, rand.New(rand.NewPCG(1, uint64(len(b)))), func(pieces ...[]byte) {
				if got := follow(t, &openai.Stream{}, pieces...); got != whole {
					t.Fatalf("cut into %q:\n%s\nin one piece:\n%s", pieces, got, whole)
				}
			})
		})
	}
}

// The same events must come whatever the ends of lines are.
func TestStreamLineEndsAgree(t *testing.T) {
	t.Parallel()
	data := func(file string) (all []string) {
		b, err := os.ReadFile("testdata/streams/" + file)
		if err != nil {
			t.Fatal(err)
		}
		s := openai.Stream{}
		s.Feed(b)
		for ev, ok := s.Next(); ok; ev, ok = s.Next() {
			all = append(all, strings.TrimSpace(string(ev.Data(nil))))
		}
		return all
	}
	want := data("plain.sse")
	if len(want) != 6 || want[5] != "[DONE]" {
		t.Fatalf("plain.sse gives %q", want)
	}
	for _, file := range []string{"crlf.sse", "lone_cr.sse", "nospace_bom.sse", "two_spaces.sse"} {
		if diff := cmp.Diff(want, data(file)); diff != "" {
			t.Errorf("%s (-plain +got):\n%s", file, diff)
		}
	}
}

func TestEventData(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"data: a\n\n":                          "a",
		"data:  a\n\n":                         " a",
		"data\n\n":                             "",
		"data: a\ndata:b\r\nid: 3\r\ndata\n\n": "a\nb\n",
		"dat: a\ndatab: c\ndata:x:y\n\n":       "x:y",
		": c\ndata: after\n\n":                 "after",
	}
	for in, want := range cases {
		var s openai.Stream
		s.Feed([]byte(in))
		ev, ok := s.Next()
		if got := string(ev.Data(nil)); !ok || got != want {
			t.Errorf("data of %q is %q (event %v), want %q", in, got, ok, want)
		}
	}
}

// An event is given as soon as its last byte is there; a reader must not have to wait for the next one.
func TestStreamDoesNotWait(t *testing.T) {
	t.Parallel()
	for _, eol := range []string{"\n", "\r\n", "\r"} {
		var s openai.Stream
		for i := range 3 {
			s.Feed([]byte("data: x" + eol + eol))
			if _, ok := s.Next(); !ok {
				t.Errorf("line end %q: event %d is held back", eol, i)
			}
			if _, ok := s.Next(); ok {
				t.Errorf("line end %q: event %d comes twice", eol, i)
			}
		}
	}
}

// Empty lines keep a connection alive; they are passed on and never gathered.
func TestStreamPassesEmptyLines(t *testing.T) {
	t.Parallel()
	s := openai.Stream{MaxEvent: 8}
	for i := range 20 {
		s.Feed([]byte("\r\n"))
		if ev, ok := s.Next(); !ok || string(ev.Raw) != "\r\n" || ev.Kind != openai.KindOther {
			t.Fatalf("empty line %d gives %+v (%v)", i, ev, ok)
		}
	}
}

func TestStreamTooLarge(t *testing.T) {
	t.Parallel()
	b := []byte("data: fits\n\ndata: 0123456789\n\n")
	cuts(b, rand.New(rand.NewPCG(3, 4)), func(pieces ...[]byte) {
		s := openai.Stream{MaxEvent: 15}
		follow(t, &s, pieces...)
		if !errors.Is(s.Err(), openai.ErrEventTooLarge) {
			t.Fatalf("cut into %q: error %v", pieces, s.Err())
		}
		s = openai.Stream{MaxEvent: 18}
		if follow(t, &s, pieces...); s.Err() != nil {
			t.Fatalf("cut into %q: an event of 18 bytes is refused: %v", pieces, s.Err())
		}
	})
	s := openai.Stream{MaxEvent: 1 << 10}
	for range 64 {
		s.Feed(bytes.Repeat([]byte("x"), 64))
		s.Next()
	}
	if !errors.Is(s.Err(), openai.ErrEventTooLarge) {
		t.Errorf("an endless line gives %v", s.Err())
	}
}

func TestStreamAllocates(t *testing.T) {
	b, err := os.ReadFile("testdata/streams/plain.sse")
	if err != nil {
		t.Fatal(err)
	}
	var s openai.Stream
	var all openai.Tally
	read := func(pieces ...[]byte) func() {
		return func() {
			for _, p := range pieces {
				s.Feed(p)
				for ev, ok := s.Next(); ok; ev, ok = s.Next() {
					all.Add(&ev)
				}
			}
		}
	}
	read(b[:100], b[100:])()
	for name, f := range map[string]func(){"whole": read(b), "cut": read(b[:100], b[100:333], b[333:])} {
		if n := testing.AllocsPerRun(50, f); n != 0 {
			t.Errorf("%s: %v allocations a run, want none", name, n)
		}
	}
}

func BenchmarkStream(b *testing.B) {
	in, err := os.ReadFile("testdata/streams/plain.sse")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	var s openai.Stream
	var all openai.Tally
	for b.Loop() {
		s.Feed(in)
		for ev, ok := s.Next(); ok; ev, ok = s.Next() {
			all.Add(&ev)
		}
	}
}

func BenchmarkChunk(b *testing.B) {
	var in []byte
	for _, text := range []string{" one", " two", "\\n", " three", " four", " five", " six", " seven"} {
		in = append(in, `data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1796032029,"model":"m","choices":[{"index":0,"delta":{"content":"`+text+`"},"logprobs":null,"finish_reason":null}]}`+"\n\n"...)
	}
	b.ReportAllocs()
	var s openai.Stream
	var all openai.Tally
	for i := 0; b.Loop(); i++ {
		if i%8 == 0 {
			s.Feed(in)
		}
		ev, _ := s.Next()
		all.Add(&ev)
	}
}
