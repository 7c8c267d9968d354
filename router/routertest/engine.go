package routertest

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"llmgw.io/llmgw/router/openai"
)

// Engine is a fake engine. The zero value answers every request with "hello",
// as a stream where one is asked for.
type Engine struct {
	// Answer replaces the answer. The body is read already. Nil: "hello".
	Answer func(w http.ResponseWriter, call Call)
	// Lists are the names that /v1/models gives. Empty: it answers 404.
	Lists []string

	mu    sync.Mutex
	calls []Call
	gone  int
}

// Call is one request as the engine got it.
type Call struct {
	Path   string
	Header http.Header
	Body   []byte
	// Request is the request itself; its body is read already.
	Request *http.Request
}

// Calls returns the requests so far, probes left out.
func (e *Engine) Calls() []Call {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.calls)
}

// Cancelled counts the requests that were given up by the other side before they
// were answered.
func (e *Engine) Cancelled() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.gone
}

// ServeHTTP answers one request.
func (e *Engine) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch req.URL.Path {
	case "/health":
		_, _ = io.WriteString(w, `{"status":"ok"}`)
		return
	case "/v1/models":
		e.list(w)
		return
	}
	body, err := io.ReadAll(req.Body)
	call := Call{Path: req.URL.Path, Header: req.Header.Clone(), Body: body, Request: req}
	e.mu.Lock()
	e.calls = append(e.calls, call)
	e.mu.Unlock()
	defer func() {
		if err != nil || req.Context().Err() != nil {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.gone++
		}
	}()
	if e.Answer != nil {
		e.Answer(w, call)
		return
	}
	Hello(w, call)
}

func (e *Engine) list(w http.ResponseWriter) {
	if len(e.Lists) == 0 {
		http.NotFound(w, nil)
		return
	}
	var models []openai.Model
	for _, name := range e.Lists {
		models = append(models, openai.Model{ID: name})
	}
	_, _ = w.Write(openai.AppendModels(nil, models))
}

// Hello answers "hello" under the model's name: 3 tokens of prompt, 1 of answer.
func Hello(w http.ResponseWriter, call Call) {
	asked, err := openai.Scan(call.Body, openai.Limits{})
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	write := openai.Writer{ID: "x", Model: asked.Model}
	usage := openai.Usage{PromptTokens: 3, CompletionTokens: 1}
	choices := []openai.Choice{{Text: "hello", FinishReason: "stop"}}
	switch {
	case call.Path == string(openai.Embeddings):
		JSON(200, string(write.Embeddings(nil, [][]float32{{1, 2}}, false, 3)))(w, call)
	case call.Path == string(openai.Completions):
		JSON(200, string(write.Completion(nil, choices, usage)))(w, call)
	case !asked.Stream:
		JSON(200, string(write.Chat(nil, choices, usage)))(w, call)
	default:
		b := write.ChatRole(nil, 0)
		b = write.ChatFinish(write.ChatText(b, 0, "hello"), 0, "stop")
		if asked.IncludeUsage {
			b = write.ChatUsage(b, usage)
		}
		Stream(string(openai.AppendDone(b)))(w, call)
	}
}

// JSON answers with a status and a body.
func JSON(status int, body string) func(http.ResponseWriter, Call) {
	return func(w http.ResponseWriter, _ Call) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Stream answers with the pieces of a stream, each sent by itself.
func Stream(pieces ...string) func(http.ResponseWriter, Call) {
	return func(w http.ResponseWriter, call Call) { Paced(0, pieces...)(w, call) }
}

// Paced answers with the pieces of a stream, with a pause before each. It stops
// when the other side goes away.
func Paced(gap time.Duration, pieces ...string) func(http.ResponseWriter, Call) {
	return func(w http.ResponseWriter, call Call) {
		w.Header().Set("Content-Type", "text/event-stream")
		flush(w)
		for _, p := range pieces {
			if !Pause(call, gap) {
				return
			}
			_, _ = io.WriteString(w, p)
			flush(w)
		}
	}
}

// Cut answers with the pieces of a stream and then cuts the connection.
func Cut(pieces ...string) func(http.ResponseWriter, Call) {
	return func(w http.ResponseWriter, call Call) {
		Stream(pieces...)(w, call)
		panic(http.ErrAbortHandler)
	}
}

// Hang answers nothing until the other side goes away.
func Hang(_ http.ResponseWriter, call Call) { <-call.Request.Context().Done() }

// Pause waits and reports whether the other side is still there.
func Pause(call Call, d time.Duration) bool {
	if d <= 0 {
		return call.Request.Context().Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-call.Request.Context().Done():
		return false
	case <-t.C:
		return true
	}
}

// Events splits a stream into its events.
func Events(stream string) []string {
	var s openai.Stream
	var out []string
	s.Feed([]byte(stream))
	for ev, ok := s.Next(); ok; ev, ok = s.Next() {
		out = append(out, string(bytes.Clone(ev.Raw)))
	}
	if ev, ok := s.Finish(); ok {
		out = append(out, string(ev.Raw))
	}
	return out
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}
