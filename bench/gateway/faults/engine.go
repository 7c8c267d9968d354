package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// engine answers trials as they ask, and notes when their other side is gone.
type engine struct {
	mu     sync.Mutex
	trials map[int]*trial
	works  atomic.Int64 // nanoseconds that a request takes which is no trial
}

// trial is one request that is left.
type trial struct {
	after bool          // something is answered before it is left
	there chan struct{} // closed when the engine is where it should be left
	gone  chan time.Time
}

func (e *engine) add(n int, after bool) *trial {
	t := &trial{after: after, there: make(chan struct{}), gone: make(chan time.Time, 1)}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.trials[n] = t
	return t
}

func (e *engine) take(body []byte) *trial {
	_, rest, ok := bytes.Cut(body, []byte("trial="))
	if !ok {
		return nil
	}
	digits, _, _ := bytes.Cut(rest, []byte(";"))
	n, _ := strconv.Atoi(string(digits)) // no trial has the number 0
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.trials[n]
	delete(e.trials, n)
	return t
}

const (
	whole = `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`
	event = "data: {\"choices\":[{\"index\":0,\"text\":\"hello\",\"delta\":{\"content\":\"hello\"}}]}\n\n"
)

func (e *engine) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodGet {
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"bench-model"}]}`)
		return
	}
	body, err := io.ReadAll(req.Body)
	t := e.take(body)
	if err != nil || t == nil {
		time.Sleep(time.Duration(e.works.Load()))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, whole)
		return
	}
	if t.after {
		answer, kind := `{"object":"list","data":[`, "application/json"
		if strings.Contains(string(body), `"stream":true`) {
			answer, kind = event, "text/event-stream"
		}
		w.Header().Set("Content-Type", kind)
		fmt.Fprint(w, answer)
		w.(http.Flusher).Flush()
	}
	close(t.there)
	<-req.Context().Done()
	t.gone <- time.Now()
}
