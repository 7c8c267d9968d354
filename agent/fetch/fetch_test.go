package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// anything is a set whose files nobody looks into.
var anything = Set{want: want{any: true}}

func testFetcher(t *testing.T) *Fetcher {
	t.Helper()
	f, err := New(Config{
		Dir: t.TempDir(), LowWaterBytes: 1, HTTP: &http.Client{},
		Retry: time.Millisecond, Look: time.Millisecond, Stall: 5 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func get(t *testing.T, f *Fetcher, source string) (string, error) {
	t.Helper()
	w, err := anything.expand(source)
	if err != nil {
		return "", err
	}
	paths, err := f.Get(t.Context(), w, func(inventory.Fetch, string) {})
	if err != nil {
		return "", err
	}
	return paths[0], nil
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// noFinal wants nothing under a final name.
func noFinal(t *testing.T, f *Fetcher) {
	t.Helper()
	_ = filepath.WalkDir(f.cfg.Dir, func(path string, d os.DirEntry, _ error) error {
		if !d.IsDir() && d.Name() != ".lock" && d.Name() != recordName && filepath.Base(filepath.Dir(path)) != hubFolder && !strings.Contains(d.Name(), partSuffix) {
			t.Errorf("%s is under a final name though it is not right", path)
		}
		return nil
	})
}

func cause(err error) protocol.Cause {
	var f *Error
	if errors.As(err, &f) {
		return f.Cause
	}
	return ""
}

// startOfTime keeps times of files out of answers.
var startOfTime time.Time

var weights = bytes.Repeat([]byte("0123456789abcdef"), 40000)

// server serves weights as a good server does, through what a test puts before.
func server(t *testing.T, before func(n int, w http.ResponseWriter, r *http.Request) bool) *httptest.Server {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before != nil && before(int(n.Add(1)), w, r) {
			return
		}
		if w.Header().Get("ETag") == "" {
			w.Header().Set("ETag", `"v1"`)
		}
		http.ServeContent(w, r, "w.gguf", time.Time{}, bytes.NewReader(weights))
	}))
	t.Cleanup(s.Close)
	return s
}

func TestFetchWhole(t *testing.T) {
	t.Parallel()
	f, s := testFetcher(t), server(t, nil)
	path, err := get(t, f, s.URL+"/w.gguf#sha256="+sum(weights))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, weights) {
		t.Fatalf("the file is not what was served: %d bytes, %v", len(got), err)
	}
	s.Close()
	if again, err := get(t, f, s.URL+"/w.gguf#sha256="+sum(weights)); err != nil || again != path {
		t.Errorf("a file that is there was fetched again: %v", err)
	}
}

// cutAt sends a part of the file and cuts the connection.
func cutAt(w http.ResponseWriter, from, to int) {
	w.Header().Set("ETag", `"v1"`)
	w.Header().Set("Content-Length", fmt.Sprint(len(weights)-from))
	if from > 0 {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(weights)-1, len(weights)))
		w.WriteHeader(http.StatusPartialContent)
	}
	_, _ = w.Write(weights[from:to])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func TestFetchGoesOnAfterCuts(t *testing.T) {
	t.Parallel()
	for _, hash := range []string{"", "#sha256=" + sum(weights)} {
		var mu sync.Mutex
		var ranges []string
		f := testFetcher(t)
		s := server(t, func(n int, w http.ResponseWriter, r *http.Request) bool {
			mu.Lock()
			ranges = append(ranges, r.Header.Get("Range")+" "+r.Header.Get("If-Range"))
			mu.Unlock()
			switch n {
			case 1:
				cutAt(w, 0, 300000)
			case 2:
				w.WriteHeader(http.StatusServiceUnavailable)
				return true
			}
			return false
		})
		path, err := get(t, f, s.URL+"/w.gguf"+hash)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); !bytes.Equal(got, weights) {
			t.Error("the file is not what was served")
		}
		if want := `bytes=300000- "v1"`; len(ranges) != 3 || ranges[2] != want {
			t.Errorf("asked for %q, want the last to be %q", ranges, want)
		}
	}
}

func TestFetchStartsAnew(t *testing.T) {
	t.Parallel()
	tests := map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"range ignored": func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write(weights)
			return true
		},
		"another file there": func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("If-Range") == `"v1"` {
				w.Header().Set("ETag", `"v2"`)
				w.Header().Set("Content-Range", fmt.Sprintf("bytes 300000-%d/%d", len(weights)-1, len(weights)))
				w.WriteHeader(http.StatusPartialContent)
				_, _ = w.Write(weights[300000:])
				return true
			}
			return false
		},
		"range not satisfiable": func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Range") != "" {
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
				return true
			}
			return false
		},
		"wrong range": func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Range") != "" {
				w.Header().Set("ETag", `"v1"`)
				w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", len(weights)-1, len(weights)))
				w.WriteHeader(http.StatusPartialContent)
				_, _ = w.Write(weights)
				return true
			}
			return false
		},
	}
	for name, then := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := testFetcher(t)
			s := server(t, func(n int, w http.ResponseWriter, r *http.Request) bool {
				if n == 1 {
					cutAt(w, 0, 300000)
				}
				return then(w, r)
			})
			path, err := get(t, f, s.URL+"/w.gguf#sha256="+sum(weights))
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(path); !bytes.Equal(got, weights) {
				t.Error("the file is not what was served")
			}
		})
	}
}

func TestFetchRefuses(t *testing.T) {
	t.Parallel()
	status := func(code int) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.WriteHeader(code); fmt.Fprint(w, `{"error":"gated"}`) }
	}
	good := sum(weights)
	tests := []struct {
		name     string
		serve    func(http.ResponseWriter)
		fragment string
		cause    protocol.Cause
		says     string
	}{
		{"401", status(401), "", protocol.CauseFetch, "token that is missing"},
		{"403", status(403), "", protocol.CauseFetch, "licence"},
		{"404", status(404), "", protocol.CauseFetch, "no such file"},
		{"410", status(410), "", protocol.CauseFetch, "no such file"},
		{"418", status(418), "", protocol.CauseFetch, "418"},
		{"empty", func(http.ResponseWriter) {}, "", protocol.CauseHash, "empty"},
		{"page", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<html>sign in</html>")
		}, "", protocol.CauseFetch, "web page"},
		{"other bytes", func(w http.ResponseWriter) { fmt.Fprint(w, "other") }, "#sha256=" + good, protocol.CauseHash, good},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := testFetcher(t)
			asked := atomic.Int64{}
			s := server(t, func(_ int, w http.ResponseWriter, _ *http.Request) bool {
				asked.Add(1)
				tt.serve(w)
				return true
			})
			_, err := get(t, f, s.URL+"/w.gguf"+tt.fragment)
			if cause(err) != tt.cause || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %q (%v), want cause %q and %q in it", cause(err), err, tt.cause, tt.says)
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("asked %d times, want 1", n)
			}
			noFinal(t, f)
		})
	}
}

func TestFetchGivesUp(t *testing.T) {
	t.Parallel()
	f := testFetcher(t)
	asked := atomic.Int64{}
	s := server(t, func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		asked.Add(1)
		w.WriteHeader(http.StatusBadGateway)
		return true
	})
	_, err := get(t, f, s.URL+"/w.gguf")
	if cause(err) != protocol.CauseFetch || asked.Load() != idleTries {
		t.Errorf("got %v after %d tries, want a failed fetch after %d", err, asked.Load(), idleTries)
	}
}

func TestFetchStall(t *testing.T) {
	t.Parallel()
	f := testFetcher(t)
	f.cfg.Stall = 50 * time.Millisecond
	s := server(t, func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n > 1 {
			return false
		}
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("Content-Length", fmt.Sprint(len(weights)))
		_, _ = w.Write(weights[:1000])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	})
	if _, err := get(t, f, s.URL+"/w.gguf#sha256="+sum(weights)); err != nil {
		t.Fatal(err)
	}
}

// A server that sends a byte now and then stalls as well.
func TestFetchTrickle(t *testing.T) {
	t.Parallel()
	f := testFetcher(t)
	f.cfg.Stall, f.cfg.MinRate = 100*time.Millisecond, 10<<10
	var from string
	s := server(t, func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n > 1 {
			from = r.Header.Get("Range")
			return false
		}
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("Content-Length", fmt.Sprint(len(weights)))
		_, _ = w.Write(weights[:100000])
		for i := 100000; r.Context().Err() == nil && i < len(weights); i++ {
			_, _ = w.Write(weights[i : i+1])
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(5 * time.Millisecond):
			}
		}
		return true
	})
	if _, err := get(t, f, s.URL+"/w.gguf#sha256="+sum(weights)); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(from, "bytes=1000") {
		t.Errorf("the download went on with %q and not from where it stood", from)
	}
}

func TestFetchGoesOnAfterAgentDied(t *testing.T) {
	t.Parallel()
	f := testFetcher(t)
	source := ""
	s := server(t, func(_ int, w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Range") != "bytes=300000-" {
			t.Errorf("asked for %q and not for the rest", r.Header.Get("Range"))
		}
		return false
	})
	source = s.URL + "/w.gguf#sha256=" + sum(weights)
	w, _ := anything.expand(source)
	dir := filepath.Join(f.cfg.Dir, w.key())
	for name, data := range map[string][]byte{
		"w.gguf" + partSuffix:              weights[:300000],
		"w.gguf" + partSuffix + noteSuffix: []byte(`{"url":"` + s.URL + `/w.gguf","etag":"\"v1\"","sha256":"` + sum(weights) + `"}`),
	} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := get(t, f, source); err != nil {
		t.Fatal(err)
	}
}

func TestFetchDamagedPart(t *testing.T) {
	t.Parallel()
	f, s := testFetcher(t), server(t, nil)
	source := s.URL + "/w.gguf#sha256=" + sum(weights)
	w, _ := anything.expand(source)
	dir := filepath.Join(f.cfg.Dir, w.key())
	_ = os.MkdirAll(dir, 0o755)
	_ = os.WriteFile(filepath.Join(dir, "w.gguf"+partSuffix), bytes.Repeat([]byte("x"), 1000), 0o644)
	_ = os.WriteFile(filepath.Join(dir, "w.gguf"+partSuffix+noteSuffix), []byte(`{"url":"`+s.URL+`/w.gguf","etag":"\"v1\"","sha256":"`+sum(weights)+`"}`), 0o644)
	path, err := get(t, f, source)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); !bytes.Equal(got, weights) {
		t.Error("a damaged part ended up in the file")
	}
}

func TestFetchOnce(t *testing.T) {
	t.Parallel()
	f := testFetcher(t)
	release := make(chan struct{})
	asked := atomic.Int64{}
	s := server(t, func(_ int, _ http.ResponseWriter, _ *http.Request) bool {
		asked.Add(1)
		<-release
		return false
	})
	w, err := anything.expand(s.URL + "/w.gguf")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := f.Get(t.Context(), w, func(inventory.Fetch, string) {}); err != nil {
				t.Error(err)
			}
		})
	}
	// One of the callers gives up; the others must not notice.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Get(ctx, w, func(inventory.Fetch, string) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the caller's own end", err)
	}
	close(release)
	wg.Wait()
	if n := asked.Load(); n != 1 && n != 2 { // the one that gave up may have come alone, first
		t.Errorf("the server was asked %d times", n)
	}
}

func TestFetchDiskFull(t *testing.T) {
	t.Parallel()
	f, s := testFetcher(t), server(t, nil)
	f.cfg.LowWaterBytes = 1 << 62
	_, err := get(t, f, s.URL+"/w.gguf")
	var fail *Error
	if !errors.As(err, &fail) || fail.Cause != protocol.CauseDisk || !fail.Later {
		t.Fatalf("got %v, want a full disk that is looked at again", err)
	}
	noFinal(t, f)
	f.cfg.LowWaterBytes = 1
	if _, err := get(t, f, s.URL+"/w.gguf"); err != nil {
		t.Errorf("after there is room: %v", err)
	}
}

func TestFetchMirrors(t *testing.T) {
	t.Parallel()
	f, good := testFetcher(t), server(t, nil)
	bad := server(t, func(_ int, w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(404); return true })
	w, err := Weights(protocol.DesiredShard{Engine: catalog.EngineSim, Files: []protocol.DesiredFile{{
		Path: "sub/w.gguf", SHA256: sum(weights), Bytes: int64(len(weights)), From: []string{bad.URL + "/w.gguf", good.URL + "/w.gguf"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	paths, err := f.Get(t.Context(), w, func(inventory.Fetch, string) {})
	if err != nil || !strings.HasSuffix(paths[0], "/sub/w.gguf") {
		t.Errorf("got %v, %v", paths, err)
	}
}

func TestFetchPolicy(t *testing.T) {
	t.Parallel()
	s := server(t, nil)
	client, err := (&Config{Reach: Reach{PlainHTTP: true}}).client()
	if err != nil {
		t.Fatal(err)
	}
	f := testFetcher(t)
	f.http = client
	if _, err := get(t, f, s.URL+"/w.gguf"); cause(err) != protocol.CauseFetch {
		t.Fatalf("this machine was reached: %v", err)
	}
	_, here := get(t, f, "http://127.0.0.1/w.gguf")
	_, there := get(t, f, "http://10.0.0.1/w.gguf")
	if here == nil || there == nil || here.Error() != there.Error() {
		t.Errorf("two refused addresses are told apart:\n%v\n%v", here, there)
	}
	client, err = (&Config{Reach: Reach{PlainHTTP: true, Private: []string{strings.TrimPrefix(s.URL, "http://")}}}).client()
	if err != nil {
		t.Fatal(err)
	}
	f.http = client
	if _, err := get(t, f, s.URL+"/w.gguf"); err != nil {
		t.Errorf("what was allowed is refused: %v", err)
	}
}

func TestFetchProgress(t *testing.T) {
	t.Parallel()
	f := testFetcher(t)
	release := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(release) })
	s := server(t, func(n int, w http.ResponseWriter, _ *http.Request) bool {
		switch n {
		case 1:
			cutAt(w, 0, 300000)
		case 2:
			<-release
		}
		return false
	})
	f.cfg.Retry = 50 * time.Millisecond
	w, err := anything.expand(s.URL + "/w.gguf?token=secret")
	if err != nil {
		t.Fatal(err)
	}
	var half, troubled bool
	_, err = f.Get(t.Context(), w, func(p inventory.Fetch, trouble string) {
		if strings.Contains(p.Source, "secret") {
			t.Errorf("the query is shown: %s", p.Source)
		}
		half = half || p.BytesDone == 300000 && p.BytesTotal == int64(len(weights))
		troubled = troubled || strings.Contains(trouble, "cut")
		if half && troubled {
			letGo()
		}
	})
	if err != nil || !half || !troubled {
		t.Errorf("half of it seen: %v, the cut seen: %v, %v", half, troubled, err)
	}
}

func TestNewComplainsOfEverything(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Dir: "weights", Reach: Reach{Private: []string{"10.0.0.0/8"}}})
	for _, want := range []string{"Config.Dir", "10.0.0.0/8"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}
