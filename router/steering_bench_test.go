package router

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router/openai"
	"llmgw.io/llmgw/router/steer"
	"llmgw.io/llmgw/storage"
)

// BenchmarkChoice is all that choosing adds to a request of four replicas: the
// hashes of its prompt, the choice, what is kept of it, and the notes of its
// first token and its end.
func BenchmarkChoice(b *testing.B) {
	for name, size := range map[string]int{"600": 600, "64k": 64 << 10} {
		b.Run(name, func(b *testing.B) {
			body := []byte(`{"model":"m","stream":true,"messages":[{"role":"user","content":"` + strings.Repeat("word ", size/5) + `"}]}`)
			asked, err := openai.Scan(body, openai.Limits{})
			if err != nil {
				b.Fatal(err)
			}
			r := &Router{hasher: steer.NewHasher(), cfg: Config{Picker: LeastDelay{}}}
			d := r.demands.get("m")
			g := goal{entry: &catalog.Entry{Model: catalog.Model{Name: "m"}}, name: "m"}
			var list []Backend
			for i := range 4 {
				list = append(list, Backend{ID: fmt.Sprintf("m-%d", i)})
			}
			x := &exchange{
				r: r, ep: chat, asked: asked, body: &buffer{b: body}, row: storage.Request{ID: "req_x"},
			}
			b.ReportAllocs()
			for b.Loop() {
				x.clear()
				x.choices, x.places = append(x.choices, make([]Candidate, 4)...), append(x.places, 0, 1, 2, 3)
				x.read("")
				x.choose(g, list, d, time.Now())
				x.firstToken(time.Now())
				x.over(true)
				scratches.Put(x.scratch)
				x.scratch = nil
			}
		})
	}
}
