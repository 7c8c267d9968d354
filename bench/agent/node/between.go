package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/pki"
)

// between stands between an agent and its control plane, as either for the other,
// and sees what the agent sends.
type between struct {
	url    string
	server *http.Server

	mu    sync.Mutex
	beats []beat
}

// beat is one that passed.
type beat struct {
	bytes int
	// measured says that it brought a measurement, news that it brought shards.
	measured, news bool
	hash           string
}

// stand begins, with the certificate of the agent that has joined in a folder.
func stand(ctx context.Context, p *plane, dir string) (*between, error) {
	cert, key, err := p.ca.IssueServer([]string{"127.0.0.1"}, time.Now(), 0)
	if err != nil {
		return nil, err
	}
	mine, err := pki.NewKeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	toAgent, err := pki.ServerTLS(pki.ServerConfig{Trust: p.ca.Trust(), Certificate: mine.Current, Kinds: []pki.Kind{pki.KindNode}, RequireClient: true})
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(dir, "identity.json"))
	if err != nil {
		return nil, err
	}
	var id struct{ Certificate, Key string }
	if err := json.Unmarshal(b, &id); err != nil {
		return nil, err
	}
	theirs, err := pki.NewKeyPair([]byte(id.Certificate), []byte(id.Key))
	if err != nil {
		return nil, err
	}
	toPlane, err := pki.ClientTLS(pki.ClientConfig{Trust: p.ca.Trust(), Certificate: theirs.Current})
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(p.at.Agents)
	if err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &between{url: "https://" + l.Addr().String()}
	pass := &httputil.ReverseProxy{
		Transport: &http.Transport{TLSClientConfig: toPlane, ForceAttemptHTTP2: true}, FlushInterval: -1,
		ErrorLog: log.New(io.Discard, "", 0), // polls are given up all the time
		Rewrite:  func(r *httputil.ProxyRequest) { r.SetURL(target) },
	}
	w.server = &http.Server{ReadHeaderTimeout: time.Minute, TLSConfig: toAgent, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == protocol.PathBeat {
			w.see(r)
		}
		pass.ServeHTTP(rw, r)
	})}
	go func() { _ = w.server.Serve(tls.NewListener(l, toAgent)) }()
	return w, nil
}

// see notes a beat, and puts its body back.
func (w *between) see(r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it is passed on cut off, and refused
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var b protocol.Beat
	if json.Unmarshal(body, &b) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beats = append(w.beats, beat{len(body), b.Sample != nil, len(b.Shards) > 0, b.FactsHash})
}

// seen are the beats so far.
func (w *between) seen() []beat {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]beat{}, w.beats...)
}

func (w *between) close() { _ = w.server.Close() }
