package pki_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"llmgw.io/llmgw/internal/pki"
)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

// postbox writes without waiting for the reader, as a socket does and a pipe
// does not: in a handshake that fails both sides may write at once.
type postbox struct {
	net.Conn
	out  chan []byte
	done chan struct{}
}

func newPostbox(c net.Conn) *postbox {
	p := &postbox{c, make(chan []byte, 64), make(chan struct{})}
	go func() {
		for {
			select {
			case b := <-p.out:
				_, _ = c.Write(b)
			case <-p.done:
				return
			}
		}
	}()
	return p
}

func (p *postbox) Write(b []byte) (int, error) {
	p.out <- bytes.Clone(b)
	return len(b), nil
}

func (p *postbox) Close() error {
	close(p.done)
	return p.Conn.Close()
}

// shake does one handshake in memory and gives what each side says. The server
// answers one byte, since a caller learns of its refusal only by reading.
func shake(srv, cli *tls.Config) (serverErr, clientErr error, seen tls.ConnectionState) {
	left, right := net.Pipe()
	a, b := newPostbox(left), newPostbox(right)
	defer a.Close()
	defer b.Close()
	s, c := tls.Server(a, srv), tls.Client(b, cli)
	var wg sync.WaitGroup
	wg.Go(func() {
		if serverErr = s.Handshake(); serverErr == nil {
			_, serverErr = s.Write([]byte{1})
		}
	})
	if clientErr = c.Handshake(); clientErr == nil {
		_, clientErr = io.ReadFull(c, make([]byte, 1))
	}
	wg.Wait()
	return serverErr, clientErr, c.ConnectionState()
}

func serverTLS(t *testing.T, cfg pki.ServerConfig) *tls.Config {
	t.Helper()
	c, err := pki.ServerTLS(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func clientTLS(t *testing.T, trust *pki.Trust, l leaf, now time.Time) *tls.Config {
	t.Helper()
	c, err := pki.ClientTLS(pki.ClientConfig{Trust: trust, Certificate: l.pair(t).Current, Now: at(now)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConfigsWantTheirParts(t *testing.T) {
	t.Parallel()
	if _, err := pki.ServerTLS(pki.ServerConfig{Grace: -1}); err == nil {
		t.Error("a server without trust was made")
	}
	if _, err := pki.ClientTLS(pki.ClientConfig{}); err == nil {
		t.Error("a client without trust was made")
	}
	if _, err := pki.JoinTLS("", nil); !errors.Is(err, pki.ErrToken) {
		t.Errorf("want %v, got %v", pki.ErrToken, err)
	}
	if _, err := (&pki.KeyPair{}).Current(); err == nil {
		t.Error("an empty key pair gave a certificate")
	}
}

func TestHandshakes(t *testing.T) {
	t.Parallel()
	ca, foreign := newCA(t, "prod"), newCA(t, "other")
	srv := server(t, ca, start)
	errRevoked := errors.New("revoked")
	check := func(i pki.CertInfo) error {
		if i.Peer.ID == "gone" {
			return errRevoked
		}
		return nil
	}
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		caller  leaf
		kinds   []pki.Kind
		grace   time.Duration
		now     time.Time
		wantErr error
	}{
		"node":              {sign(t, ca.SignNode, "a1", start, 0), nil, 0, start, nil},
		"router":            {sign(t, ca.SignRouter, "r1", start, 0), nil, 0, start, nil},
		"wrong kind":        {sign(t, ca.SignNode, "a1", start, 0), []pki.Kind{pki.KindRouter}, 0, start, pki.ErrUntrusted},
		"foreign authority": {sign(t, foreign.SignNode, "a1", start, 0), nil, 0, start, pki.ErrUntrusted},
		"wrong usage":       {sign(t, ca.SignGate, "a1", start, 0), nil, 0, start, pki.ErrUntrusted},
		"revoked":           {sign(t, ca.SignNode, "gone", start, 0), nil, 0, start, errRevoked},
		"expired":           {sign(t, ca.SignNode, "a1", start, 0), nil, 0, start.Add(2 * day), pki.ErrExpired},
		"within grace":      {sign(t, ca.SignNode, "a1", start, 0), nil, pki.RenewGrace, start.Add(2 * day), nil},
		"after grace":       {sign(t, ca.SignNode, "a1", start, 0), nil, pki.RenewGrace, start.Add(40 * day), pki.ErrExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serverTLS(t, pki.ServerConfig{
				Trust: ca.Trust(), Certificate: srv.pair(t).Current, Kinds: c.kinds, Grace: c.grace, Check: check, Now: at(c.now),
			})
			serverErr, clientErr, _ := shake(s, clientTLS(t, ca.Trust(), c.caller, c.now))
			if !errors.Is(serverErr, c.wantErr) || (clientErr == nil) != (c.wantErr == nil) {
				t.Errorf("want %v, got %v at the server and %v at the client", c.wantErr, serverErr, clientErr)
			}
		})
	}
}

func TestCallerWithoutCertificate(t *testing.T) {
	t.Parallel()
	ca := newCA(t, "prod")
	srv := server(t, ca, start)
	join, err := pki.JoinTLS(ca.Pin(), at(start))
	if err != nil {
		t.Fatal(err)
	}
	for _, require := range []bool{false, true} {
		s := serverTLS(t, pki.ServerConfig{Trust: ca.Trust(), Certificate: srv.pair(t).Current, RequireClient: require, Now: at(start)})
		serverErr, clientErr, seen := shake(s, join)
		if got := serverErr == nil && clientErr == nil; got == require {
			t.Errorf("required %t: got %v and %v", require, serverErr, clientErr)
		}
		if require {
			continue
		}
		trust, err := pki.PinnedTrust(seen.PeerCertificates, ca.Pin(), start)
		if err != nil {
			t.Fatal(err)
		}
		if string(trust.PEM()) != string(ca.CertPEM()) || trust.Cluster() != "prod" {
			t.Error("another authority was kept than the pinned one")
		}
	}
}

// A caller believes nobody but its cluster's control plane.
func TestFalseServers(t *testing.T) {
	t.Parallel()
	ca, foreign := newCA(t, "prod"), newCA(t, "prod")
	node, gate := sign(t, ca.SignNode, "a1", start, 0), sign(t, ca.SignGate, "a1", start, 0)
	namesake := server(t, foreign, start)
	join, err := pki.JoinTLS(ca.Pin(), at(start))
	if err != nil {
		t.Fatal(err)
	}
	withCA := func(l leaf) leaf {
		l.certPEM = append(bytes.Clone(l.certPEM), ca.CertPEM()...)
		return l
	}
	for name, l := range map[string]leaf{
		"another authority":         namesake,
		"another that shows ours":   withCA(namesake),
		"a node that plays control": withCA(node),
		"a gate that plays control": withCA(gate),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serverTLS(t, pki.ServerConfig{Trust: ca.Trust(), Certificate: l.pair(t).Current, Now: at(start)})
			for _, c := range []*tls.Config{join, clientTLS(t, ca.Trust(), node, start)} {
				if _, clientErr, _ := shake(s, c); !errors.Is(clientErr, pki.ErrUntrusted) {
					t.Errorf("want %v, got %v", pki.ErrUntrusted, clientErr)
				}
			}
		})
	}
}

// A pin covers the key alone, so another certificate around the same key must
// be refused: its cluster and its dates would be the forger's.
func TestPinNeedsTheAuthoritysOwnSignature(t *testing.T) {
	t.Parallel()
	ca, forger := newCA(t, "prod"), newCA(t, "prod")
	real := parse(t, ca.CertPEM())[0]
	fake := forge(t, forger, &x509.Certificate{
		SerialNumber: real.SerialNumber, Subject: real.Subject, URIs: real.URIs,
		NotBefore: start.Add(-time.Hour), NotAfter: start.Add(1000000 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, real.PublicKey)
	chain := []*x509.Certificate{server(t, ca, start).cert, fake}
	if _, err := pki.PinnedTrust(chain, ca.Pin(), start); !errors.Is(err, pki.ErrUntrusted) {
		t.Errorf("want %v, got %v", pki.ErrUntrusted, err)
	}
	chain[1] = real
	if _, err := pki.PinnedTrust(chain, ca.Pin(), start); err != nil {
		t.Errorf("the real one: %v", err)
	}
}

func TestRouterCallsGate(t *testing.T) {
	t.Parallel()
	ca := newCA(t, "prod")
	gate, router, node := sign(t, ca.SignGate, "a1", start, 0), sign(t, ca.SignRouter, "r1", start, 0), sign(t, ca.SignNode, "a2", start, 0)
	s := serverTLS(t, pki.ServerConfig{
		Trust: ca.Trust(), Certificate: gate.pair(t).Current, Kinds: []pki.Kind{pki.KindRouter}, RequireClient: true, Now: at(start),
	})
	call := func(l leaf, want string) error {
		c, err := pki.ClientTLS(pki.ClientConfig{
			Trust: ca.Trust(), Certificate: l.pair(t).Current, Now: at(start),
			Server: pki.Peer{Cluster: "prod", Kind: pki.KindGate, ID: want},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err, _ = shake(s, c)
		return err
	}
	if err := call(router, "a1"); err != nil {
		t.Errorf("router: %v", err)
	}
	if err := call(router, "a2"); !errors.Is(err, pki.ErrUntrusted) {
		t.Errorf("a gate of another node: want %v, got %v", pki.ErrUntrusted, err)
	}
	if err := call(node, "a1"); err == nil {
		t.Error("a node was let through the gate")
	}
}

// listener hands out the server's ends of pipes.
type listener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newListener() *listener {
	return &listener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *listener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *listener) Addr() net.Addr { return &net.TCPAddr{} }
func (l *listener) dial(context.Context, string, string) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case l.conns <- a:
		return b, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// A server and a caller change their certificates while a stream is open: it
// goes on, and the next connection shows the new ones.
func TestReloadCutsNoStream(t *testing.T) {
	t.Parallel()
	ca := newCA(t, "prod")
	first, second := server(t, ca, start), server(t, ca, start)
	show := first.pair(t)
	node := sign(t, ca.SignNode, "a1", start, 0)
	mine := node.pair(t)

	step := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "a")
		w.(http.Flusher).Flush()
		<-step
		_, _ = io.WriteString(w, "b")
	})
	mux.HandleFunc("/who", func(w http.ResponseWriter, r *http.Request) {
		p, err := ca.Trust().VerifyPeer(r.TLS.PeerCertificates, start, 0)
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, p.URI()+" "+r.TLS.PeerCertificates[0].SerialNumber.Text(16))
	})
	l := newListener()
	srv := &http.Server{Handler: mux, TLSConfig: serverTLS(t, pki.ServerConfig{Trust: ca.Trust(), Certificate: show.Current, Now: at(start)})}
	go func() { _ = srv.ServeTLS(l, "", "") }()
	t.Cleanup(func() { _ = srv.Close() })

	c, err := pki.ClientTLS(pki.ClientConfig{Trust: ca.Trust(), Certificate: mine.Current, Now: at(start)})
	if err != nil {
		t.Fatal(err)
	}
	client := func() *http.Client {
		tr := &http.Transport{TLSClientConfig: c.Clone(), DialContext: l.dial, ForceAttemptHTTP2: true}
		t.Cleanup(tr.CloseIdleConnections)
		return &http.Client{Transport: tr}
	}
	get := func(h *http.Client, path string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://10.9.8.7:7443"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := h.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}

	stream := get(client(), "/stream")
	defer stream.Body.Close()
	if stream.ProtoMajor != 2 {
		t.Errorf("want HTTP/2, got %s", stream.Proto)
	}
	if err := show.Set(second.certPEM, second.keyPEM); err != nil {
		t.Fatal(err)
	}
	renewed := sign(t, ca.SignNode, "a1", start, 0)
	if err := mine.Set(renewed.certPEM, renewed.keyPEM); err != nil {
		t.Fatal(err)
	}
	if err := mine.Set([]byte("junk"), nil); !errors.Is(err, pki.ErrMalformed) {
		t.Errorf("want %v, got %v", pki.ErrMalformed, err)
	}
	close(step)
	if b, err := io.ReadAll(stream.Body); err != nil || string(b) != "ab" {
		t.Errorf("the open stream: want ab, got %q, %v", b, err)
	}

	who := get(client(), "/who")
	defer who.Body.Close()
	b, err := io.ReadAll(who.Body)
	if want := "spiffe://prod/node/a1 " + renewed.cert.SerialNumber.Text(16); err != nil || string(b) != want {
		t.Errorf("want %q, got %q, %v", want, b, err)
	}
	if got := who.TLS.PeerCertificates[0]; !got.Equal(second.cert) {
		t.Error("the new connection shows the server's old certificate")
	}
}
