//go:build e2e && unix

package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestThousandStreams holds a thousand streams of a minute open through one
// router: each of them ends whole, the router stays small, and answers others
// meanwhile (vllm-project/production-stack#448).
func TestThousandStreams(t *testing.T) {
	t.Parallel()
	const streams, tokens = 1000, 120
	r := startRouter(t, "--say", "word", "--inter-token-latency", "500ms", "--output-tokens", itoa(tokens), "--max-num-seqs", itoa(2*streams), "--max-waiting-queue-length", itoa(streams))
	body := say("static", "hello")
	body.MaxTokens, body.Options = tokens, map[string]bool{"include_usage": true}
	var all sync.WaitGroup
	for range streams {
		all.Go(func() {
			st, err := r.stream(t.Context(), body)
			if err != nil {
				t.Error(err)
				return
			}
			defer st.close()
			if err := st.rest(); err != nil || !st.done || st.usage == nil || st.usage.Completion != tokens {
				t.Errorf("a stream ended with %v, done %t, usage %+v", err, st.done, st.usage)
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		all.Wait()
		close(ended)
	}()
	var slowest time.Duration
	most := 0
	for watching := true; watching; {
		select {
		case <-ended:
			watching = false
		case <-time.After(time.Second):
		}
		start := time.Now()
		if a := r.must(t, http.MethodGet, "/healthz", nil); a.status != http.StatusOK {
			t.Errorf("healthz: %s", a)
		}
		slowest, most = max(slowest, time.Since(start)), max(most, r.resident())
	}
	t.Logf("the router took at most %d MB; healthz took at most %s", most>>20, slowest)
	if most > 512<<20 {
		t.Errorf("the router took %d MB", most>>20)
	}
	// Expected is a millisecond; what is shared with a thousand clients and their
	// engine on a busy machine is more.
	if slowest > 2*time.Second {
		t.Errorf("healthz took %s", slowest)
	}
}

// resident is how much memory the process has; 0 where nobody can tell.
func (p *process) resident() int {
	b, err := os.ReadFile(filepath.Join("/proc", itoa(p.pid()), "statm"))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return pages * os.Getpagesize()
}
