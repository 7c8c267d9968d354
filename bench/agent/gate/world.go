package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"llmgw.io/llmgw/agent/gate"
	"llmgw.io/llmgw/internal/pki"
)

// event is one chunk, as engines write them.
var event = []byte(`data: {"id":"chatcmpl-0123456789","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}` + "\n\n")

// world is the engine, the clients, and what they show each other.
type world struct {
	dir      string
	identity string
	engine   *http.Server
	address  string
	router   *tls.Config
	chunks   atomic.Int64 // that have reached clients
}

func newWorld(ctx context.Context, dir string, pace time.Duration) (*world, error) {
	w := &world{dir: dir, identity: filepath.Join(dir, "identity.json")}
	if err := w.certify(); err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w.address = l.Addr().String()
	w.engine = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			return
		}
		rw.Header().Set("Content-Type", "text/event-stream")
		t := time.NewTicker(pace)
		defer t.Stop()
		for {
			if _, err := rw.Write(event); err != nil {
				return
			}
			rw.(http.Flusher).Flush()
			select {
			case <-t.C:
			case <-r.Context().Done():
				return
			}
		}
	})}
	go func() { _ = w.engine.Serve(l) }()
	return w, nil
}

func (w *world) close() { _ = w.engine.Close() }

// certify writes a gate's identity and makes a router's.
func (w *world) certify() error {
	now := time.Now()
	ca, err := pki.NewCA("bench", now)
	if err != nil {
		return err
	}
	key, csr, err := pki.NewRequest("n1")
	if err != nil {
		return err
	}
	cert, _, err := ca.SignGate(csr, "n1", now, 0)
	if err != nil {
		return err
	}
	b, err := json.Marshal(map[string]string{"certificate": string(cert), "key": string(key), "ca": string(ca.CertPEM())})
	if err != nil {
		return err
	}
	if err := os.WriteFile(w.identity, b, 0o600); err != nil {
		return err
	}
	if key, csr, err = pki.NewRequest("r1"); err != nil {
		return err
	}
	if cert, _, err = ca.SignRouter(csr, "r1", now, 0); err != nil {
		return err
	}
	pair, err := pki.NewKeyPair(cert, key)
	if err != nil {
		return err
	}
	w.router, err = pki.ClientTLS(pki.ClientConfig{
		Trust: ca.Trust(), Certificate: pair.Current, Server: pki.Peer{Cluster: "bench", Kind: pki.KindGate, ID: "n1"},
	})
	if err == nil {
		w.router.NextProtos = []string{"http/1.1"}
	}
	return err
}

// reverseProxy is the proxy of the standard library with a gate's folder.
func reverseProxy(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, gate.ConfigFile))
	if err != nil {
		return err
	}
	var cfg gate.Config
	if err := json.Unmarshal(b, &cfg); err != nil {
		return err
	}
	if b, err = os.ReadFile(cfg.Identity); err != nil {
		return err
	}
	var id struct{ Certificate, Key, CA string }
	if err := json.Unmarshal(b, &id); err != nil {
		return err
	}
	pair, err := pki.NewKeyPair([]byte(id.Certificate), []byte(id.Key))
	if err != nil {
		return err
	}
	trust, err := pki.ParseTrust([]byte(id.CA))
	if err != nil {
		return err
	}
	conf, err := pki.ServerTLS(pki.ServerConfig{Trust: trust, Certificate: pair.Current, Kinds: []pki.Kind{pki.KindRouter}, RequireClient: true})
	if err != nil {
		return err
	}
	conf.NextProtos = []string{"http/1.1"}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return err
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: cfg.Engine})
		r.Out.Header.Set("Authorization", "Bearer "+cfg.EngineKey)
	}}
	return (&http.Server{Handler: proxy, ReadHeaderTimeout: time.Minute}).Serve(tls.NewListener(l, conf))
}

// clients opens streams and counts their chunks until ctx ends.
func (w *world) clients(ctx context.Context, n int, address string) (wait func() error, err error) {
	t := &http.Transport{TLSClientConfig: w.router}
	var all sync.WaitGroup
	var mu sync.Mutex
	var wrong error
	body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"` + strings.Repeat("word ", 400) + `"}]}`
	for range n {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		all.Go(func() {
			err := w.read(t, req)
			mu.Lock()
			defer mu.Unlock()
			if ctx.Err() == nil {
				wrong = errors.Join(wrong, err)
			}
		})
	}
	return func() error {
		all.Wait()
		t.CloseIdleConnections()
		return wrong
	}, nil
}

func (w *world) read(t *http.Transport, req *http.Request) error {
	res, err := t.RoundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", res.Status)
	}
	b := make([]byte, 4<<10)
	for had := 0; ; {
		n, err := res.Body.Read(b)
		had += n
		w.chunks.Add(int64(had / len(event)))
		if had %= len(event); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // no stream ends by itself
			}
			return err
		}
	}
}
