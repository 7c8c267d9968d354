package fetch

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"llmgw.io/llmgw/inventory"
)

// faultBytes is the file's size: large enough that what is fetched twice shows.
const faultBytes = 3 << 20

// faults is a server of one file that does badly what a plan says, one fault a
// request, and then well.
type faults struct {
	data, other []byte
	mu          sync.Mutex
	rng         *rand.Rand
	plan        []string
	// destroyed are bytes that a fault made worthless: whoever fetches those again
	// had no choice.
	destroyed int64
	// die ends the fetching process, as far as a test can.
	die func()
}

var faultKinds = []string{
	"cut", "close", "stall", "trickle", "range ignored", "other file", "not satisfiable", "wrong range", "short body", "short chunks",
	"wrong bytes", "500", "503", "429", "empty", "page", "404", "die",
}

func (s *faults) next(offset int64) (kind string, at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.plan) == 0 {
		return "", 0
	}
	kind, s.plan = s.plan[0], s.plan[1:]
	at = offset + s.rng.Int64N(faultBytes-offset)
	switch kind {
	case "range ignored", "other file", "not satisfiable", "wrong range":
		s.destroyed += offset
	case "short chunks":
		s.destroyed += offset + at // it begins anew, and nobody can know that it ends too early
	case "wrong bytes":
		s.destroyed += faultBytes // all that is there is mixed with what is wrong
	}
	return kind, at
}

func (s *faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	offset := int64(0)
	_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &offset)
	kind, to := s.next(offset)
	w.Header().Set("ETag", `"v1"`)
	switch kind {
	case "500", "503", "429", "404":
		code := 0
		_, _ = fmt.Sscan(kind, &code)
		w.WriteHeader(code)
	case "empty":
		w.WriteHeader(http.StatusOK)
	case "page":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html>sign in</html>")
	case "range ignored":
		_, _ = w.Write(s.data)
	case "not satisfiable":
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
	case "wrong range":
		s.head(w, 0)
		_, _ = w.Write(s.data)
	case "other file":
		w.Header().Set("ETag", `"v2"`)
		s.head(w, offset)
		s.mu.Lock()
		s.destroyed += to - offset
		s.mu.Unlock()
		_, _ = w.Write(s.other[offset:to])
		panic(http.ErrAbortHandler)
	case "close":
		panic(http.ErrAbortHandler)
	case "short chunks":
		w.(http.Flusher).Flush() // without a length
		_, _ = w.Write(s.data[:to])
	default:
		s.body(w, r, kind, offset, to)
	}
}

// head writes that of an answer from offset on.
func (s *faults) head(w http.ResponseWriter, offset int64) {
	w.Header().Set("Content-Length", fmt.Sprint(faultBytes-offset))
	if offset > 0 || w.Header().Get("ETag") == `"v1"` {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", offset, faultBytes-1, faultBytes))
		w.WriteHeader(http.StatusPartialContent)
	}
}

func (s *faults) body(w http.ResponseWriter, r *http.Request, kind string, offset, to int64) {
	data := s.data
	if kind == "" {
		http.ServeContent(w, r, "", startOfTime, bytes.NewReader(data))
		return
	}
	if kind == "wrong bytes" {
		data = s.other
	}
	w.Header().Set("Content-Length", fmt.Sprint(faultBytes-offset))
	if offset > 0 {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", offset, faultBytes-1, faultBytes))
		w.WriteHeader(http.StatusPartialContent)
	}
	if kind == "wrong bytes" {
		_, _ = w.Write(data[offset:])
		return
	}
	_, _ = w.Write(data[offset:to])
	w.(http.Flusher).Flush()
	switch kind {
	case "cut", "short body":
		panic(http.ErrAbortHandler)
	case "die":
		s.die()
	case "trickle":
		for i := to; i < faultBytes && r.Context().Err() == nil; i++ {
			_, _ = w.Write(data[i : i+1])
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(2 * time.Millisecond):
			}
		}
		return
	}
	<-r.Context().Done() // a stall, or nobody is there to read on
}

// counted counts what a client reads from its connections, heads and all.
type counted struct {
	net.Conn
	n *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// Whatever a server does, a file is right or it is not there; and what came well
// is not fetched a second time.
func TestRandomFaults(t *testing.T) {
	t.Parallel()
	data := make([]byte, faultBytes)
	other := make([]byte, faultBytes)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(data)
	_, _ = source.Read(other)
	var again, wanted atomic.Int64
	t.Run("seeds", func(t *testing.T) {
		t.Parallel()
		for seed := range uint64(faultRuns) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(seed, 7))
				s := &faults{data: data, other: other, rng: rng}
				// Every kind comes first once in so many runs.
				s.plan = append(s.plan, faultKinds[seed%uint64(len(faultKinds))])
				for range rng.IntN(4) {
					s.plan = append(s.plan, faultKinds[rng.IntN(len(faultKinds))])
				}
				again.Add(max(0, runFaults(t, s)))
				wanted.Add(faultBytes)
			})
		}
	})
	t.Cleanup(func() {
		t.Logf("%d random plans of faults: %d of %d bytes were fetched again, %.2f %%", faultRuns, again.Load(), wanted.Load(), 100*float64(again.Load())/float64(wanted.Load()))
	})
}

// runFaults gives how many bytes were fetched again, beyond those that a fault
// destroyed.
func runFaults(t *testing.T, s *faults) (again int64) {
	plan := strings.Join(s.plan, ", ")
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	var read atomic.Int64
	dir := t.TempDir()
	for try := 1; ; try++ {
		transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return counted{c, &read}, err
		}}
		f, err := New(Config{
			Dir: dir, LowWaterBytes: 1, HTTP: &http.Client{Transport: transport}, Retry: time.Millisecond, Look: time.Millisecond,
			Stall: 200 * time.Millisecond, MinRate: 20 << 10,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		s.die = cancel
		w, err := anything.expand(srv.URL + "/w.gguf#sha256=" + sum(s.data))
		if err != nil {
			t.Fatal(err)
		}
		paths, err := f.Get(ctx, w, func(inventory.Fetch, string) {})
		cancel()
		transport.CloseIdleConnections()
		if err == nil {
			got, err := os.ReadFile(paths[0])
			if err != nil || sum(got) != sum(s.data) {
				t.Fatalf("after %s: %d bytes under the final name are wrong, %v", plan, len(got), err)
			}
			break
		}
		noFinal(t, f)
		if try > 12 {
			t.Fatalf("after %s: still %v", plan, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	again = read.Load() - faultBytes - s.destroyed
	if again > faultBytes/50 {
		t.Errorf("after %s: %d bytes were fetched again, of %d (%.1f %%)", plan, again, faultBytes, 100*float64(again)/faultBytes)
	}
	return again
}
