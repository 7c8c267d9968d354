package openai_test

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"llmgw.io/llmgw/router/openai"
)

func probe(pieces ...[]byte) string {
	var p openai.Probe
	var b strings.Builder
	for _, piece := range pieces {
		p.Write(piece)
	}
	describeFacts(&b, p.Facts())
	return strings.TrimSpace(b.String()) + "\n"
}

func TestProbeRecordings(t *testing.T) {
	t.Parallel()
	for file, b := range recordings(t, "testdata/bodies/*.json") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			whole := probe(b)
			golden(t, strings.TrimSuffix(file, ".json")+".txt", whole)
			cuts(b, rand.New(rand.NewPCG(2, uint64(len(b)))), func(pieces ...[]byte) {
				if got := probe(pieces...); got != whole {
					t.Fatalf("cut into %q: %s, in one piece: %s", pieces, got, whole)
				}
			})
		})
	}
}

// A body of any size costs no memory and still gives its usage.
func TestProbeLargeBody(t *testing.T) {
	var p openai.Probe
	text := []byte(strings.Repeat(`words and \"quotes\" {[ `, 1000))
	p.Write([]byte(`{"choices":[{"message":{"content":"`))
	if n := testing.AllocsPerRun(300, func() { p.Write(text) }); n != 0 {
		t.Errorf("%v allocations a piece, want none", n)
	}
	p.Write([]byte(`"}}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`))
	f := p.Facts()
	if f.Source != openai.UsageReported || f.Usage.TotalTokens != 7 || !f.Content || !f.Whole {
		t.Errorf("facts are %+v", f)
	}
}

func BenchmarkProbe(b *testing.B) {
	body := []byte(`{"choices":[{"message":{"content":"` + strings.Repeat("some words of an answer ", 1000) +
		`"}}],"data":[` + strings.Repeat("0.0123,", 5000) + `0],"usage":{"prompt_tokens":3,"completion_tokens":4}}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		var p openai.Probe
		p.Write(body)
	}
}
