package simengine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"llmgw.io/llmgw/agent/engines/simengine"
	"llmgw.io/llmgw/router/openai"
)

// pipes is a listener in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// world is an engine that runs, and a client of it, within a bubble of synctest.
type world struct {
	t      *testing.T
	engine *simengine.Engine
	client *http.Client
	ended  chan error // what Run returned
	stop   context.CancelFunc
}

// inWorld runs f with an engine that serves the model "m" unless cfg says otherwise, and ends the engine after it.
func inWorld(t *testing.T, cfg simengine.Config, f func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if len(cfg.Models) == 0 {
			cfg.Models = []string{"m"}
		}
		p := newPipes()
		cfg.Listener = p
		e, err := simengine.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{DialContext: p.dial}
		ctx, stop := context.WithCancel(t.Context())
		w := &world{t: t, engine: e, client: &http.Client{Transport: transport}, ended: make(chan error, 1), stop: stop}
		go func() { w.ended <- e.Run(ctx) }()
		f(t, w)
		e.Stop()
		e.Stop()
		<-e.Exited()
		stop()
		p.Close()
		transport.CloseIdleConnections()
	})
}

// reply is an answer that was read to its end.
type reply struct {
	status int
	body   string
	header http.Header
	err    error // of reading it, or of getting it
}

func (w *world) do(ctx context.Context, method, path, body string, header ...string) reply {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://engine"+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := w.client.Do(r)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, string(b), resp.Header, err}
}

func (w *world) post(path, body string, header ...string) reply {
	w.t.Helper()
	return w.do(w.t.Context(), http.MethodPost, path, body, header...)
}

func (w *world) get(path string, header ...string) reply {
	w.t.Helper()
	return w.do(w.t.Context(), http.MethodGet, path, "", header...)
}

// later sends a chat in the background.
func (w *world) later(ctx context.Context, body string) <-chan reply {
	c := make(chan reply, 1)
	go func() { c <- w.do(ctx, http.MethodPost, "/v1/chat/completions", body) }()
	synctest.Wait()
	return c
}

// want fails the test unless the reply has this status and holds these texts.
func (r reply) want(t *testing.T, status int, texts ...string) {
	t.Helper()
	if r.err != nil || r.status != status {
		t.Fatalf("status %d (%v), want %d: %s", r.status, r.err, status, r.body)
	}
	for _, text := range texts {
		if !strings.Contains(r.body, text) {
			t.Errorf("the answer lacks %s:\n%s", text, r.body)
		}
	}
}

// facts reads an answer that was not streamed.
func (r reply) facts() openai.Facts {
	var p openai.Probe
	p.Write([]byte(r.body))
	return p.Facts()
}

// tally reads a streamed answer.
func (r reply) tally() openai.Tally {
	var s openai.Stream
	var all openai.Tally
	s.Feed([]byte(r.body))
	for ev, ok := s.Next(); ok; ev, ok = s.Next() {
		all.Add(&ev)
	}
	return all
}

// text gives the content of a chat, streamed or not, of one choice.
func (r reply) text(t *testing.T, choice int) string {
	t.Helper()
	type part struct {
		Choices []struct {
			Index          int
			Text           string
			Delta, Message struct{ Content string }
		}
	}
	var all string
	read := func(b []byte) {
		var p part
		if err := json.Unmarshal(b, &p); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		for _, c := range p.Choices {
			if c.Index == choice {
				all += c.Text + c.Delta.Content + c.Message.Content
			}
		}
	}
	if !strings.HasPrefix(r.body, "data:") {
		read([]byte(r.body))
		return all
	}
	for line := range bytes.SplitSeq([]byte(r.body), []byte("\n\n")) {
		if data := bytes.TrimPrefix(line, []byte("data: ")); len(data) > 0 && data[0] == '{' {
			read(data)
		}
	}
	return all
}

func chatBody(text, more string) string {
	return `{"model":"m","messages":[{"role":"user","content":` + string(openai.AppendString(nil, text)) + `}]` + more + `}`
}
