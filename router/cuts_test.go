package router_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/router"
	"llmgw.io/llmgw/router/routertest"
	"llmgw.io/llmgw/storage"
)

var update = flag.Bool("update", false, "write the golden files anew")

// piecewise is a body that comes in given pieces.
type piecewise struct{ pieces [][]byte }

func (p *piecewise) Read(b []byte) (int, error) {
	if len(p.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.pieces[0])
	if p.pieces[0] = p.pieces[0][n:]; len(p.pieces[0]) == 0 {
		p.pieces = p.pieces[1:]
	}
	return n, nil
}

// bare is a router without a network, for many requests.
type bare struct {
	router *router.Router
	books  routertest.Books
	secret string
	pieces [][]byte
	got    sink
}

// sink is a response of which the bytes alone are kept.
type sink struct {
	head http.Header
	body []byte
}

func (s *sink) Header() http.Header         { return s.head }
func (s *sink) WriteHeader(int)             {}
func (s *sink) Flush()                      {}
func (s *sink) Write(b []byte) (int, error) { s.body = append(s.body, b...); return len(b), nil }

func newBare(t testing.TB) *bare {
	t.Helper()
	b := &bare{}
	id, secret := storage.NewKeySecret()
	b.secret = secret
	var fleet routertest.Fleet
	fleet.Set("m", router.Backend{ID: "r1", Address: "r1:1"})
	r, err := router.New(router.Config{
		Models: routertest.NewCatalog(catalog.Model{Name: "m", Profiles: managed()}), Backends: &fleet, Usage: &b.books, Pepper: pepper,
		Declared: []storage.Key{{ID: id, Hash: pepper.Hash(secret)}}, Limits: router.Limits{Retries: -1},
		Upstream: routertest.Upstream(func(_ string, req *http.Request) (*http.Response, error) {
			_, err := io.Copy(io.Discard, req.Body)
			return &http.Response{
				StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(&piecewise{b.pieces}),
				ContentLength: -1,
			}, err
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	b.router = r
	return b
}

// stream sends one request whose answer comes in the given pieces. What it
// returns is good until the next call.
func (b *bare) stream(t testing.TB, path, body string, pieces ...[]byte) []byte {
	t.Helper()
	b.pieces = pieces
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+b.secret)
	b.got = sink{head: http.Header{}, body: b.got.body[:0]}
	b.router.ServeHTTP(&b.got, req)
	return b.got.body
}

// ship brings the rows to the books.
func (b *bare) ship(t testing.TB) []storage.Request {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.router.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return b.books.Rows()
}

// recording is a stream as an engine sends it.
type recording struct {
	name  string
	whole []byte
	// path and fields belong to the request it answers.
	path, fields string
}

func recordings(t testing.TB) (all []recording) {
	t.Helper()
	files, err := filepath.Glob("openai/testdata/streams/*.sse")
	if err != nil || len(files) < 30 {
		t.Fatalf("found %d recordings: %v", len(files), err)
	}
	for _, file := range files {
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := recording{name: strings.TrimSuffix(filepath.Base(file), ".sse"), whole: whole, path: chatPath, fields: `"messages":[{"role":"user","content":"hi"}]`}
		switch {
		case strings.Contains(r.name, "two_prompts"):
			r.path, r.fields = completionPath, `"prompt":["say","word"]`
		case bytes.Contains(whole, []byte(`"text_completion"`)):
			r.path, r.fields = completionPath, `"prompt":"say"`
		case strings.Contains(r.name, "two_choices"):
			r.fields += `,"n":2`
		}
		all = append(all, r)
	}
	return all
}

func (r *recording) body(asked bool) string {
	options := ""
	if asked {
		options = `"stream_options":{"include_usage":true},`
	}
	return `{"model":"m","stream":true,` + options + r.fields + `}`
}

// cuts gives every way of cutting b once, from the first place on, and n ways of
// cutting it many times.
func cuts(b []byte, first, n int, rnd *rand.Rand, yield func(pieces ...[]byte)) {
	for i := first; i < len(b); i += cutEvery {
		yield(b[:i], b[i:])
	}
	for range n {
		at := make([]int, 2+rnd.IntN(14))
		if rnd.IntN(100) == 0 {
			at = make([]int, len(b)/2)
		}
		for i := range at {
			at[i] = rnd.IntN(len(b) + 1)
		}
		slices.Sort(at)
		var pieces [][]byte
		from := 0
		for _, to := range append(at, len(b)) {
			if to > from {
				pieces = append(pieces, b[from:to])
			}
			from = to
		}
		yield(pieces...)
	}
}

// Wherever and however often a stream is cut, in the middle of a letter, of a
// line end or of the usage, the client gets the same bytes and the row has the
// same tokens (ollama/ollama-js#255, envoyproxy/ai-gateway#1398). What they are
// is in the golden file.
func TestStreamsHoweverCut(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	said := map[string]string{}
	t.Run("recordings", func(t *testing.T) {
		for _, r := range recordings(t) {
			for _, asked := range []bool{true, false} {
				name := fmt.Sprintf("%s usage asked %v", r.name, asked)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					line := r.checkCuts(t, asked)
					mu.Lock()
					defer mu.Unlock()
					said[name] = line
				})
			}
		}
	})
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(said)) {
		fmt.Fprintf(&text, "%s: %s\n", name, said[name])
	}
	const file = "testdata/streams.txt"
	if *update {
		if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), text.String()); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}

// checkCuts cuts a recording in all ways, and says what came of it.
func (r *recording) checkCuts(t *testing.T, asked bool) string {
	b := newBare(t)
	body := r.body(asked)
	want := slices.Clone(b.stream(t, r.path, body, r.whole))
	first := b.ship(t)[0]
	place, seed := 1, fnv.New64()
	if asked {
		place = cutEvery
	}
	fmt.Fprint(seed, r.name, asked)
	tries, done := 1, 1
	check := func() {
		rows := b.ship(t)
		if len(rows) != tries {
			t.Fatalf("%d of %d rows are in the books", len(rows), tries)
		}
		for _, row := range rows[done:] {
			if !sameRow(&first, &row) {
				t.Fatalf("a row differs:\n%s", cmp.Diff(first, row))
			}
		}
		done = len(rows)
	}
	cuts(r.whole, place, manyCuts/2, rand.New(rand.NewPCG(1, seed.Sum64())), func(pieces ...[]byte) {
		sizes := make([]int, len(pieces))
		for i, p := range pieces {
			sizes[i] = len(p)
		}
		if got := b.stream(t, r.path, body, pieces...); !bytes.Equal(got, want) {
			t.Fatalf("cut into %v the client got\n%q\nwant\n%q", sizes, got, want)
		}
		if tries++; tries%1000 == 0 {
			check()
		}
	})
	check()
	return r.outcome(want, &first)
}

// outcome is what a client got of a recording, and what is in the books.
func (r *recording) outcome(got []byte, row *storage.Request) string {
	bytes := "other bytes"
	if string(got) == string(r.whole) {
		bytes = "the engine's bytes"
	} else if n := without(string(r.whole), string(got)); n > 0 {
		bytes = fmt.Sprintf("%d usage events left out", n)
	}
	guess := ""
	if row.Estimated {
		guess = ", estimated"
	}
	return fmt.Sprintf("%s; %s %d, %d+%d tokens, %d cached%s", bytes, row.Outcome, row.Status, row.PromptTokens, row.CompletionTokens, row.CachedTokens, guess)
}

// without counts the events of usage that are left out of a stream; 0 when it
// lacks others, or has others.
func without(whole, got string) (n int) {
	for _, ev := range routertest.Events(whole) {
		if rest, ok := strings.CutPrefix(got, ev); ok {
			got = rest
			continue
		}
		if !strings.Contains(ev, `"usage"`) || strings.Contains(ev, `"index"`) {
			return 0
		}
		n++
	}
	if got != "" {
		return 0
	}
	return n
}

// sameRow compares what does not tell one request from another.
func sameRow(a, b *storage.Request) bool {
	x, y := *a, *b
	for _, r := range []*storage.Request{&x, &y} {
		r.ID, r.At, r.Latency, r.FirstByte = "", a.At, 0, 0
	}
	return reflect.DeepEqual(x, y)
}

// However an engine's stream is framed and wherever its packets end, the client
// gets the engine's bytes: in chunks of any size, or up to the end of the
// connection.
func TestStreamsHoweverFramed(t *testing.T) {
	t.Parallel()
	for _, r := range recordings(t) {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			b := newBare(t)
			want := string(b.stream(t, r.path, r.body(true), r.whole))
			row := b.ship(t)[0]
			inWorld(t, func(c *router.Config) { c.Limits.Retries, c.AccessLog = -1, false }, func(w *world) {
				seed := fnv.New64()
				fmt.Fprint(seed, r.name)
				rnd := rand.New(rand.NewPCG(2, seed.Sum64()))
				for try := range 12 {
					w.fleet.Set("m", w.serve(fmt.Sprint("r", try), framed(r.whole, try%3 == 0, rnd)))
					if a := w.post(r.path, r.body(true)); a.body != want || a.err != nil {
						t.Fatalf("the client got %v\n%q\nwant\n%q", a.err, a.body, want)
					}
				}
				rows := w.rows()
				for _, got := range rows {
					if got.Outcome != row.Outcome || got.PromptTokens != row.PromptTokens || got.CompletionTokens != row.CompletionTokens || got.CachedTokens != row.CachedTokens || got.Estimated != row.Estimated {
						t.Fatalf("a row is %+v, and without a network %+v", got, row)
					}
				}
				if len(rows) != 12 {
					t.Errorf("there are %d rows", len(rows))
				}
			})
		})
	}
}

// framed answers with a stream in chunks of random sizes, or in one that the end
// of the connection ends, written in pieces of random sizes.
func framed(whole []byte, toTheEnd bool, rnd *rand.Rand) http.HandlerFunc {
	var text bytes.Buffer
	text.WriteString("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n")
	if toTheEnd {
		text.WriteString("\r\n")
		text.Write(whole)
	} else {
		text.WriteString("Transfer-Encoding: chunked\r\n\r\n")
		for rest := whole; len(rest) > 0; {
			n := 1 + rnd.IntN(min(len(rest), 200))
			fmt.Fprintf(&text, "%x\r\n%s\r\n", n, rest[:n])
			rest = rest[n:]
		}
		text.WriteString("0\r\n\r\n")
	}
	mine := rand.New(rand.NewPCG(3, rnd.Uint64())) // the next one is made while this one still ends
	return func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		for rest := text.Bytes(); len(rest) > 0 && err == nil; {
			n := 1 + mine.IntN(min(len(rest), 300))
			_, err = conn.Write(rest[:n])
			rest = rest[n:]
		}
	}
}
