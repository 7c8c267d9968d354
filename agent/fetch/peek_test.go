package fetch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/internal/tinygguf"
)

// shelf serves files, and counts what it is asked for and what it sends.
type shelf struct {
	*httptest.Server
	mu    sync.Mutex
	files map[string]string
	// serve answers in another way than a good server does; false: as one.
	serve func(w http.ResponseWriter, r *http.Request, data string) bool
	asked atomic.Int64
	sent  atomic.Int64
}

type counting struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c counting) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.n.Add(int64(n))
	return n, err
}

func newShelf(t *testing.T, files map[string]string) *shelf {
	t.Helper()
	s := &shelf{files: files}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		s.mu.Lock()
		data, ok := s.files[path.Base(r.URL.Path)]
		s.mu.Unlock()
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", `"1"`)
		if s.serve == nil || !s.serve(counting{w, &s.sent}, r, data) {
			http.ServeContent(counting{w, &s.sent}, r, "", startOfTime, strings.NewReader(data))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func testLooker(t *testing.T, hub Hub) *Looker {
	t.Helper()
	l, err := NewLooker(Config{HTTP: &http.Client{}, Hub: hub})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// look looks as an engine would.
func look(t *testing.T, l *Looker, engine catalog.Engine, source string, files ...protocol.DesiredFile) Seen {
	t.Helper()
	w, err := Weights(protocol.DesiredShard{Engine: engine, Source: source, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	return l.Look(t.Context(), w)
}

func readAll(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	names, err := filepath.Glob(filepath.Join(dir, "*.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(name)] = string(b)
	}
	return out
}

func TestLookFromAfar(t *testing.T) {
	t.Parallel()
	files := readAll(t, modelFiles(t, tinygguf.Options{}))
	for name, data := range readAll(t, modelFiles(t, tinygguf.Options{Split: 4})) {
		files[name] = data
	}
	whole := files["m.gguf"]
	loraDir := t.TempDir()
	if err := tinygguf.WriteAdapter(filepath.Join(loraDir, "lora.gguf"), tinygguf.Options{}, tinygguf.Adapter{}); err != nil {
		t.Fatal(err)
	}
	files["lora.gguf"] = readAll(t, loraDir)["lora.gguf"]
	files["cut.gguf"], files["text.gguf"], files["empty.gguf"] = whole[:len(whole)-500], "no model at all, by any means", ""
	files["head.gguf"] = whole[:3000]
	files["eye.gguf"] = strings.Replace(whole, "general.type\x08\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00model", "general.type\x08\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00mmproj", 1)
	for i := range 4 {
		if name := fmt.Sprintf("m-%05d-of-00004.gguf", i+1); i != 2 {
			files["l"+name] = files[name]
		}
	}
	files["model.safetensors"], files["short.safetensors"] = tensors(50), tensors(50)[:90]
	s := newShelf(t, files)
	l := testLooker(t, Hub{})
	for _, tt := range []struct {
		name, engine, file, says string
		files                    []protocol.DesiredFile
	}{
		{"whole", "llamacpp", "m.gguf", "", nil},
		{"split", "llamacpp", "m-00001-of-00004.gguf", "", nil},
		{"a part is missing", "llamacpp", "lm-00001-of-00004.gguf", "lm-00003-of-00004.gguf is missing", nil},
		{"nothing there", "llamacpp", "x.gguf", "x.gguf is missing at its source, which answers 404", nil},
		{"cut", "llamacpp", "cut.gguf", "promises at least", nil},
		{"cut in its header", "llamacpp", "head.gguf", "within its header", nil},
		{"text", "llamacpp", "text.gguf", "does not begin as a GGUF file", nil},
		{"empty", "llamacpp", "empty.gguf", "is empty at its source", nil},
		{"adapter", "llamacpp", "lora.gguf", "adapter and no model", nil},
		{"projector", "llamacpp", "eye.gguf", "mmproj", nil},
		{"safetensors", "vllm", "model.safetensors", "", nil},
		{"safetensors cut", "vllm", "short.safetensors", "is not whole", nil},
		{"size", "vllm", "model.safetensors", "should have 7", []protocol.DesiredFile{{Path: "model.safetensors", Bytes: 7}}},
		{"a named file", "vllm", "model.safetensors", "config.json is missing", []protocol.DesiredFile{{Path: "model.safetensors"}, {Path: "config.json"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			seen := look(t, l, catalog.Engine(tt.engine), s.URL+"/"+tt.file, tt.files...)
			if len(seen.Unsure) > 0 || (len(seen.Wrong) == 0) != (tt.says == "") || tt.says != "" && !strings.Contains(seen.Wrong[0].Text, tt.says) {
				t.Fatalf("got %+v, want %q", seen, tt.says)
			}
			if strings.HasPrefix(tt.file, "m.") && (seen.Architecture != "llama" || seen.Context == 0 || seen.Layers == 0 || seen.Bytes != int64(len(whole))) {
				t.Errorf("got %+v", seen)
			}
		})
	}
}

// Of a file that is only looked at no more is read than the header needs, also from
// a server that knows no ranges; and what a server does badly is no fault of the
// file.
func TestLookFromAfarIsBounded(t *testing.T) {
	t.Parallel()
	head := readAll(t, modelFiles(t, tinygguf.Options{}))["m.gguf"]
	large := head + strings.Repeat("w", 40<<20)
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	tests := map[string]struct {
		serve func(w http.ResponseWriter, r *http.Request, data string) bool
		says  string // what is unsure; empty: nothing is
	}{
		"ranges": {nil, ""},
		"no ranges": {func(w http.ResponseWriter, _ *http.Request, data string) bool {
			w.Header().Set("Content-Length", strconv.Itoa(len(data)))
			_, _ = io.WriteString(w, data)
			return true
		}, ""},
		"no ranges, and no length": {func(w http.ResponseWriter, _ *http.Request, data string) bool {
			for len(data) > 0 {
				n := min(len(data), 64<<10)
				if _, err := io.WriteString(w, data[:n]); err != nil {
					break
				}
				data = data[n:]
			}
			return true
		}, ""},
		"another range": {func(w http.ResponseWriter, _ *http.Request, data string) bool {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 5-9/%d", len(data)))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = io.WriteString(w, data[5:10])
			return true
		}, "another part"},
		"a part that breaks off": {func(w http.ResponseWriter, _ *http.Request, data string) bool {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", firstPiece-1, len(data)))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = io.WriteString(w, data[:1000])
			return true
		}, "breaks off"},
		"away":    {func(w http.ResponseWriter, _ *http.Request, _ string) bool { w.WriteHeader(503); return true }, "answers 503"},
		"refused": {func(w http.ResponseWriter, _ *http.Request, _ string) bool { w.WriteHeader(403); return true }, "answers 403"},
		"slow": {func(w http.ResponseWriter, r *http.Request, _ string) bool {
			w.WriteHeader(http.StatusOK)
			w.(counting).ResponseWriter.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-hold:
			}
			return true
		}, "did not answer in time"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShelf(t, map[string]string{"m.gguf": large})
			s.serve = tt.serve
			w, err := Weights(protocol.DesiredShard{Engine: catalog.EngineLlamaCPP, Source: s.URL + "/m.gguf"})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if name == "slow" {
				cancel()
				ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
			}
			seen := testLooker(t, Hub{}).Look(ctx, w)
			s.Close() // whoever still sends has ended then
			if len(seen.Wrong) > 0 || strings.Join(seen.Unsure, "") == "" != (tt.says == "") || !strings.Contains(strings.Join(seen.Unsure, ""), tt.says) {
				t.Errorf("got %+v, want it to be unsure of %q", seen, tt.says)
			}
			if sent := s.sent.Load(); sent > 24<<20 {
				t.Errorf("%d bytes were sent for a header", sent)
			}
		})
	}
}

// Headers that need more than the first piece are read on, and one without end is
// not.
func TestLookFromAfarReadsOn(t *testing.T) {
	t.Parallel()
	var many bytes.Buffer
	many.WriteString("GGUF\x03\x00\x00\x00")
	u64 := func(n uint64) {
		for range 8 {
			many.WriteByte(byte(n))
			n >>= 8
		}
	}
	u64(1)
	u64(1)
	u64(1)
	many.WriteString("t")
	many.Write([]byte{9, 0, 0, 0, 4, 0, 0, 0}) // a list of u32
	u64(12 << 20)
	many.Write(make([]byte, 48<<20))
	s := newShelf(t, map[string]string{"m.gguf": many.String()})
	seen := look(t, testLooker(t, Hub{}), catalog.EngineLlamaCPP, s.URL+"/m.gguf")
	if len(seen.Wrong) > 0 || !strings.Contains(strings.Join(seen.Unsure, ""), "longer than the 32 MiB") {
		t.Errorf("got %+v", seen)
	}
	if n := s.asked.Load(); n < 5 || n > 15 {
		t.Errorf("it was asked for in %d pieces", n)
	}
	if sent := s.sent.Load(); sent > mostLooked {
		t.Errorf("%d bytes were sent", sent)
	}
}

func TestLookAtAHub(t *testing.T) {
	t.Parallel()
	model := readAll(t, modelFiles(t, tinygguf.Options{}))["m.gguf"]
	h := newHub(t, map[string]string{"m.gguf": model, "bad.gguf": "text that is no model by any means", "README.md": "x"})
	l := testLooker(t, Hub{Endpoint: h.URL})
	if seen := look(t, l, catalog.EngineLlamaCPP, "hf://org/name@main/m.gguf"); len(seen.Wrong)+len(seen.Unsure) > 0 || seen.Architecture != "llama" || seen.Bytes != int64(len(model)) {
		t.Errorf("got %+v", seen)
	}
	for source, says := range map[string]string{
		"hf://org/name@main/bad.gguf":  "does not begin as a GGUF file",
		"hf://org/name@main/none.gguf": "has no file none.gguf",
		"hf://org/name@v9/m.gguf":      "has no revision v9",
		"hf://org/name":                "has 2 GGUF models",
		"hf://org/other@main/m.gguf":   "answers 404",
	} {
		if seen := look(t, l, catalog.EngineLlamaCPP, source); len(seen.Wrong) != 1 || !strings.Contains(seen.Wrong[0].Text, says) {
			t.Errorf("%s: got %+v, want %q", source, seen, says)
		}
	}
	if seen := look(t, testLooker(t, Hub{}), catalog.EngineLlamaCPP, "hf://org/name"); !seen.Blind || len(seen.Wrong)+len(seen.Unsure) > 0 {
		t.Errorf("without a hub: got %+v", seen)
	}
	h.gone.Store(true)
	if seen := look(t, l, catalog.EngineLlamaCPP, "hf://org/name@main/m.gguf"); len(seen.Wrong) > 0 || len(seen.Unsure) != 1 {
		t.Errorf("a hub that is away: got %+v", seen)
	}
}

// Only what everybody may reach is looked at, unless it is allowed.
func TestLookReachesNothingInside(t *testing.T) {
	t.Parallel()
	s := newShelf(t, map[string]string{"m.gguf": "text that is no model by any means"})
	address := strings.TrimPrefix(s.URL, "http://")
	for _, tt := range []struct {
		reach Reach
		wrong int
	}{{Reach{PlainHTTP: true}, 0}, {Reach{PlainHTTP: true, Private: []string{address}}, 1}} {
		l, err := NewLooker(Config{Reach: tt.reach})
		if err != nil {
			t.Fatal(err)
		}
		seen := look(t, l, catalog.EngineLlamaCPP, s.URL+"/m.gguf")
		if len(seen.Wrong) != tt.wrong || len(seen.Unsure) != 1-tt.wrong {
			t.Errorf("%+v: got %+v", tt.reach, seen)
		}
		if tt.wrong == 0 && (s.asked.Load() > 0 || !strings.Contains(seen.Unsure[0], "not allowed")) {
			t.Errorf("it was asked %d times, and told %v", s.asked.Load(), seen.Unsure)
		}
	}
}

// Whoever may define models learns nothing of an inner network: what is refused and
// what does not answer is said in the same words.
func TestLookTellsNothingOfInside(t *testing.T) {
	t.Parallel()
	l, err := NewLooker(Config{Reach: Reach{PlainHTTP: true}})
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, source := range []string{"http://169.254.169.254/m.gguf", "http://10.0.0.1/m.gguf", "http://localhost/m.gguf", "http://no.such.host.invalid/m.gguf"} {
		seen := look(t, l, catalog.EngineLlamaCPP, source)
		if len(seen.Unsure) != 1 || len(seen.Wrong) > 0 {
			t.Fatalf("%s: got %+v", source, seen)
		}
		said[seen.Unsure[0]] = true
	}
	if len(said) != 1 {
		t.Errorf("it tells them apart: %v", said)
	}
}
