package gate_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"llmgw.io/llmgw/agent/gate"
	"llmgw.io/llmgw/internal/pki"
)

const chat = "/v1/chat/completions"

// What asks for an answer passes, by its one method, as it is written; what steers
// an engine does not, whoever asks.
func TestWhatPasses(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	w := open(t, func(rw http.ResponseWriter, _ *http.Request) { asked.Add(1); _, _ = io.WriteString(rw, "ok") })
	router := w.router()
	for target, pass := range map[string]bool{
		"POST /v1/chat/completions": true, "POST /v1/completions": true, "POST /v1/embeddings": true, "POST /v1/responses": true,
		"POST /v1/rerank": true, "POST /v1/messages": true, "GET /v1/models": true, "GET /health": true,

		"GET /v1/chat/completions": false, "DELETE /v1/chat/completions": false, "HEAD /health": false, "POST /health": false,
		"POST /v1/chat/completions?x=1": false, "POST /v1/chat/completions/": false, "POST /V1/chat/completions": false,
		"POST //v1/chat/completions": false, "POST /v1/../v1/chat/completions": false, "POST /v1/chat%2Fcompletions": false,
		"POST /health/../v1/load_lora_adapter": false, "OPTIONS /v1/chat/completions": false,
		// llama-server
		"GET /metrics": false, "GET /slots": false, "POST /slots/0?action=erase": false, "GET /props": false, "POST /props": false,
		"POST /lora-adapters": false, "POST /models/load": false, "POST /completion": false, "GET /": false,
		// vLLM, of which its own key protects but a part
		"POST /v1/load_lora_adapter": false, "POST /v1/unload_lora_adapter": false, "POST /invocations": false, "POST /pause": false,
		"POST /resume": false, "POST /sleep": false, "POST /wake_up": false, "POST /update_weights": false, "POST /scale_elastic_ep": false,
		"POST /collective_rpc": false, "POST /tokenize": false, "GET /version": false, "GET /load": false,
		// ours
		"GET /gate/v1/state": false, "PUT /gate/v1/drain": false,
	} {
		method, path, _ := strings.Cut(target, " ")
		before := asked.Load()
		req := w.request(t.Context(), method, "/", "")
		req.URL.Opaque = path // as it is, without the client's own mind
		res, _ := w.do(router, req)
		if got := asked.Load() > before; got != pass || (res.StatusCode == http.StatusOK) != pass {
			t.Errorf("%s: passed %v with %d, want %v", target, got, res.StatusCode, pass)
		}
	}
}

// The engine hears its own key and the headers that are meant for it; the router
// hears nothing of the connection behind the gate.
func TestHeaders(t *testing.T) {
	t.Parallel()
	got := make(chan http.Header, 1)
	w := open(t, func(rw http.ResponseWriter, r *http.Request) {
		got <- r.Header.Clone()
		for _, name := range []string{"Set-Cookie", "Keep-Alive", "Upgrade", gate.HeaderDraining, "Proxy-Authenticate"} {
			rw.Header().Set(name, "x")
		}
		rw.Header().Set("X-Of-The-Engine", "kept")
		rw.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(rw, "{}")
	})
	req := w.request(t.Context(), http.MethodPost, chat, "{}")
	for _, name := range []string{
		"Authorization", "Cookie", "X-Api-Key", "Api-Key", "X-Forwarded-For", "Forwarded", "X-Data-Parallel-Rank", "Proxy-Authorization",
		"X-Real-Ip", "Origin", "Range", "Expect-Ct",
	} {
		req.Header.Set(name, "of the client")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Traceparent", "00-1-2-01")
	req.Header.Set("X-Request-Id", "req_1")
	res, _ := w.do(w.router(), req)
	h := <-got
	for name, want := range map[string]string{
		"Authorization": "Bearer " + engineKey, "Content-Type": "application/json", "Traceparent": "00-1-2-01", "X-Request-Id": "req_1",
	} {
		if h.Get(name) != want {
			t.Errorf("the engine hears %s: %q", name, h.Get(name))
		}
		h.Del(name)
	}
	for name, v := range h {
		if !slices.Contains([]string{"User-Agent", "Content-Length", "Accept-Encoding"}, name) {
			t.Errorf("the engine hears %s: %q", name, v)
		}
	}
	if res.Header.Get("X-Of-The-Engine") != "kept" || res.Header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Errorf("the router hears %v", res.Header)
	}
	for _, name := range []string{"Set-Cookie", "Keep-Alive", "Upgrade", gate.HeaderDraining, "Proxy-Authenticate"} {
		if res.Header.Get(name) != "" {
			t.Errorf("the router hears the engine's %s", name)
		}
	}
}

// Nobody but a router of this cluster comes in, and a router believes no gate but
// that of the node it means.
func TestWhoComesIn(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	w := open(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	other, err := pki.NewCA("c", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	stranger := w.caller(other.SignRouter, "r1", "n1")
	bare := &http.Client{Transport: &http.Transport{TLSClientConfig: w.caller(w.ca.SignRouter, "r1", "n1").Transport.(*http.Transport).TLSClientConfig.Clone()}}
	bare.Transport.(*http.Transport).TLSClientConfig.GetClientCertificate = nil
	for name, c := range map[string]*http.Client{
		"a node": w.caller(w.ca.SignNode, "n2", "n1"), "a gate": w.caller(w.ca.SignGate, "n1", "n1"), "another cluster's router": stranger,
		"nobody": bare, "a router that means another node": w.caller(w.ca.SignRouter, "r1", "n2"),
	} {
		if res, err := c.Do(w.request(t.Context(), http.MethodPost, chat, "{}")); err == nil {
			_ = res.Body.Close()
			t.Errorf("%s came in and was answered %d", name, res.StatusCode)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the engine was asked %d times", n)
	}
	plain, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+w.state().Listen+"/health", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := http.DefaultClient.Do(plain); err == nil && res.StatusCode == http.StatusOK {
		_ = res.Body.Close()
		t.Error("plain HTTP was answered")
	}
}

// A stream comes chunk by chunk, each when the engine has said it.
func TestStream(t *testing.T) {
	t.Parallel()
	more := make(chan string)
	w := open(t, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		for s := range more {
			_, _ = io.WriteString(rw, s)
			rw.(http.Flusher).Flush()
		}
	})
	go func() { more <- "data: 0\n\n" }()
	res, err := w.router().Do(w.request(t.Context(), http.MethodPost, chat, "{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for i := range 20 {
		want := fmt.Sprintf("data: %d\n\n", i)
		got := make([]byte, len(want))
		if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != want {
			t.Fatalf("chunk %d: %q, %v", i, got, err)
		}
		if s := w.state(); s.InFlight != 1 {
			t.Fatalf("in flight: %d", s.InFlight)
		}
		if i < 19 {
			more <- fmt.Sprintf("data: %d\n\n", i+1) // it was not said before the last one had come
		}
	}
	close(more)
	if n, err := res.Body.Read(make([]byte, 1)); n > 0 || err != io.EOF {
		t.Errorf("after the end: %d, %v", n, err)
	}
	w.until("nothing in flight", func() bool { s := w.state(); return s.InFlight == 0 && s.Served == 1 })
}

// Bodies pass as they are, small ones and such as are passed on as they come.
func TestBodies(t *testing.T) {
	t.Parallel()
	w := open(t, func(rw http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = rw.Write(b)
	})
	router := w.router()
	for _, size := range []int{0, 1, 4096, 64 << 10, 64<<10 + 1, 3 << 20} {
		body := strings.Repeat("0123456789abcdef", size/16+1)[:size]
		for _, chunked := range []bool{false, true} {
			req := w.request(t.Context(), http.MethodPost, chat, body)
			if chunked && size > 0 {
				req.Body, req.ContentLength, req.GetBody = io.NopCloser(strings.NewReader(body)), -1, nil
			}
			if res, got := w.do(router, req); res.StatusCode != http.StatusOK || got != body {
				t.Errorf("%d bytes, chunked %v: %d with %d bytes", size, chunked, res.StatusCode, len(got))
			}
		}
	}
}

// A client that goes away ends the engine's work at once, also before the engine
// has said anything.
func TestClientGone(t *testing.T) {
	t.Parallel()
	for _, early := range []bool{true, false} {
		begun, over := make(chan bool), make(chan bool)
		w := open(t, func(rw http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if !early {
				_, _ = io.WriteString(rw, "data: 1\n\n")
				rw.(http.Flusher).Flush()
			}
			begun <- true
			<-r.Context().Done()
			close(over)
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-begun
			if early {
				cancel()
			}
		}()
		res, err := w.router().Do(w.request(ctx, http.MethodPost, chat, "{}"))
		if err == nil {
			_ = res.Body.Close()
		}
		cancel()
		<-over
		w.until("nothing in flight", func() bool { return w.state().InFlight == 0 })
	}
}

// An engine that breaks off is no engine that has finished.
func TestEngineBreaksOff(t *testing.T) {
	t.Parallel()
	w := open(t, func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(rw, "data: 1\n\n")
		rw.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	res, err := w.router().Do(w.request(t.Context(), http.MethodPost, chat, "{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("%q was taken for all", b)
	}
}

// A gate that drains refuses work with a mark, lets what runs end, answers whether
// it is well, and takes work again when it is told.
func TestDrain(t *testing.T) {
	t.Parallel()
	more := make(chan string)
	w := open(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			return
		}
		for s := range more {
			_, _ = io.WriteString(rw, s)
			rw.(http.Flusher).Flush()
		}
	})
	router := w.router()
	go func() { more <- "a" }()
	res, err := router.Do(w.request(t.Context(), http.MethodPost, chat, "{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if s, err := w.client.Drain(t.Context(), true); err != nil || !s.Draining || s.InFlight != 1 {
		t.Fatalf("got %+v, %v", s, err)
	}
	no, body := w.do(router, w.request(t.Context(), http.MethodPost, chat, "{}"))
	if no.StatusCode != http.StatusServiceUnavailable || no.Header.Get(gate.HeaderDraining) == "" || no.Header.Get("Retry-After") == "" || !strings.Contains(body, `"error"`) {
		t.Errorf("got %d, %v, %s", no.StatusCode, no.Header, body)
	}
	if well, _ := w.do(router, w.request(t.Context(), http.MethodGet, "/health", "")); well.StatusCode != http.StatusOK {
		t.Errorf("whether it is well: %d", well.StatusCode)
	}
	more <- "b"
	close(more)
	if b, err := io.ReadAll(res.Body); err != nil || string(b) != "ab" {
		t.Errorf("what ran: %q, %v", b, err)
	}
	w.until("nothing in flight", func() bool { s := w.state(); return s.InFlight == 0 && s.Refused == 1 })
	if _, err := w.client.Drain(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if yes, _ := w.do(router, w.request(t.Context(), http.MethodPost, chat, "{}")); yes.StatusCode != http.StatusOK {
		t.Errorf("after the drain: %d", yes.StatusCode)
	}
}

// The end of the process lets what is in flight end.
func TestEnd(t *testing.T) {
	t.Parallel()
	more := make(chan string)
	w := open(t, func(rw http.ResponseWriter, _ *http.Request) {
		for s := range more {
			_, _ = io.WriteString(rw, s)
			rw.(http.Flusher).Flush()
		}
	})
	go func() { more <- "a" }()
	res, err := w.router().Do(w.request(t.Context(), http.MethodPost, chat, "{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	listen := w.state().Listen
	ended := make(chan bool)
	go func() { w.stop(); close(ended) }()
	w.until("the door is shut", func() bool {
		c, err := net.Dial("tcp", listen)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	more <- "b"
	close(more)
	if b, err := io.ReadAll(res.Body); err != nil || string(b) != "ab" {
		t.Errorf("what ran: %q, %v", b, err)
	}
	<-ended
}

// A certificate that was renewed is shown without a restart, and a damaged file
// changes nothing.
func TestRenewedCertificate(t *testing.T) {
	t.Parallel()
	w := open(t, func(http.ResponseWriter, *http.Request) {})
	w.write(map[string]string{"certificate": "damaged", "key": "damaged", "ca": "damaged"})
	if res, _ := w.do(w.router(), w.request(t.Context(), http.MethodPost, chat, "{}")); res.StatusCode != http.StatusOK {
		t.Errorf("with a damaged file: %d", res.StatusCode)
	}
	w.certify("n2") // another name, so that it can be told apart
	w.until("the new certificate", func() bool {
		res, err := w.caller(w.ca.SignRouter, "r1", "n2").Do(w.request(t.Context(), http.MethodGet, "/health", ""))
		if err == nil {
			_ = res.Body.Close()
		}
		return err == nil
	})
}

// An engine that is not there is an answer of its own, and the gate stays.
func TestNoEngine(t *testing.T) {
	t.Parallel()
	w := open(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for range 2 {
		res, body := w.do(w.router(), w.request(t.Context(), http.MethodPost, chat, "{}"))
		if res.StatusCode != http.StatusBadGateway || !strings.Contains(body, `"error"`) || res.Header.Get(gate.HeaderDraining) != "" {
			t.Errorf("got %d, %s", res.StatusCode, body)
		}
	}
}

// What is wrong is said all at once, and without the key.
func TestConfig(t *testing.T) {
	t.Parallel()
	_, err := gate.New(gate.Config{Listen: "nowhere", Engine: "127.0.0.1", Identity: "x", EngineKey: engineKey})
	for _, want := range []string{"Shard", "nowhere", "Engine", "absolute", "Dir"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, gate.ConfigFile), []byte(`{"engine_key": "`+engineKey), 0o600); err != nil {
		t.Fatal(err)
	}
	err = gate.Main(t.Context(), []string{dir})
	if err == nil || strings.Contains(err.Error(), engineKey) {
		t.Errorf("got %v", err)
	}
	if err := gate.Main(t.Context(), nil); err == nil || !bytes.Contains([]byte(err.Error()), []byte("folder")) {
		t.Errorf("got %v", err)
	}
}
