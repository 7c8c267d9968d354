package upstream_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/router/upstream"
	"llmgw.io/llmgw/router/upstream/upstreamtest"
)

// certificate is one of the gate of n1, and what believes it.
func certificate(t *testing.T) (server *tls.Config, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"n1"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(c)
	return &tls.Config{
		MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	}, pool
}

// believer gives the client's side, by the node that is meant.
func believer(pool *x509.CertPool) func(string) (*tls.Config, error) {
	return func(node string) (*tls.Config, error) {
		return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool, ServerName: node}, nil
	}
}

// Gates are spoken to as engines are.
func TestToGates(t *testing.T) {
	t.Parallel()
	server, pool := certificate(t)
	for name, s := range map[string]upstreamtest.Suite{
		"pool": {Open: func(c upstream.Config) upstreamtest.Client {
			c.Gate = believer(pool)
			return upstream.New(c)
		}, Strict: true, Gate: server},
		"standard": {Open: func(c upstream.Config) upstreamtest.Client {
			c.Gate = believer(pool)
			return upstream.NewStandard(c)
		}, Gate: server},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.Run(t)
		})
	}
}

// A gate of another node, one that nobody can judge, and one that says nothing get
// no request, and count as not to be reached.
func TestWrongGates(t *testing.T) {
	t.Parallel()
	server, pool := certificate(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			tc := tls.Server(c, server)
			if n, err := tc.Read(make([]byte, 1)); n > 0 {
				t.Errorf("a request was sent, %v", err)
			}
			_ = c.Close()
		}
	}()
	unknown := errors.New("no certificate yet")
	for name, gate := range map[string]func(string) (*tls.Config, error){
		"nobody to judge": nil,
		"another node":    believer(pool),
		"no certificate":  func(string) (*tls.Config, error) { return nil, unknown },
	} {
		for _, c := range []upstreamtest.Client{upstream.New(upstream.Config{Gate: gate}), upstream.NewStandard(upstream.Config{Gate: gate})} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "gate://n2@"+ln.Addr().String()+"/", strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			res, err := c.Do("r", req)
			if err == nil {
				_ = res.Body.Close()
				t.Errorf("%s: answered %d", name, res.StatusCode)
			}
			if op, ok := errors.AsType[*net.OpError](err); name == "another node" && (!ok || op.Op != "dial") {
				t.Errorf("%s: %v is no failure to reach it", name, err)
			}
		}
	}
	_ = ln.Close()
	<-served
}

// An idle connection that its gate has closed is not taken for the next request,
// though what it runs over is read by nobody meanwhile.
func TestGateClosedIdle(t *testing.T) {
	t.Parallel()
	server, pool := certificate(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	closed := make(chan struct{})
	srv := &http.Server{
		Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), ReadHeaderTimeout: time.Minute, IdleTimeout: time.Millisecond,
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateClosed {
				closed <- struct{}{}
			}
		},
	}
	served := make(chan struct{})
	go func() { _ = srv.Serve(tls.NewListener(ln, server)); close(served) }()
	dials := 0
	p := upstream.New(upstream.Config{Gate: believer(pool), Idle: time.Minute, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		dials++
		return new(net.Dialer).DialContext(ctx, network, address)
	}})
	for range 3 {
		// A body that cannot be given again: it would fail on a connection that is gone.
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "gate://n1@"+ln.Addr().String()+"/", struct{ *strings.Reader }{strings.NewReader("x")})
		if err != nil {
			t.Fatal(err)
		}
		res, err := p.Do("r", req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		<-closed
	}
	if dials != 3 {
		t.Errorf("three requests took %d connections", dials)
	}
	p.CloseIdle()
	_ = srv.Close()
	<-served
}
