package uplink

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/pki"
)

const shortLife = time.Minute

// authority is a control plane in memory that gives certificates of a minute.
type authority struct {
	t  *testing.T
	ca *pki.CA

	mu    sync.Mutex
	away  bool
	asked map[protocol.CertificateUse][]time.Time // when it certified what
	late  int                                     // how often it was shown one that had ended
}

var errNobody = errors.New("nobody is there")

// transport is what a Client sends by: the certificate it would show is looked at
// as a control plane does.
func (a *authority) transport(conf *tls.Config) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.away {
			return nil, errNobody
		}
		shown, err := conf.GetClientCertificate(&tls.CertificateRequestInfo{})
		if err != nil {
			return nil, err
		}
		code, out := http.StatusOK, any(nil)
		chain := []*x509.Certificate{shown.Leaf}
		if _, err := a.ca.Trust().VerifyPeer(chain, time.Now(), 0); err != nil {
			a.late++
		}
		var in protocol.Renew
		if err := json.NewDecoder(req.Body).Decode(&in); err != nil {
			return nil, err
		}
		if _, err := a.ca.Trust().VerifyPeer(chain, time.Now(), pki.RenewGrace); err != nil {
			code, out = http.StatusForbidden, &protocol.Error{Code: protocol.CodeExpired, Text: "the node's certificate has ended; join again with a new token"}
		} else {
			out = a.sign(in)
		}
		b, err := json.Marshal(out)
		return &http.Response{StatusCode: code, Body: io.NopCloser(bytes.NewReader(b)), Request: req}, err
	})
}

func (a *authority) sign(in protocol.Renew) protocol.Certificate {
	sign := a.ca.SignNode
	if in.For == protocol.ForGate {
		sign = a.ca.SignGate
	}
	cert, _, err := sign([]byte(in.CSR), "n1", time.Now(), shortLife)
	if err != nil {
		a.t.Error(err)
	}
	a.asked[in.For] = append(a.asked[in.For], time.Now())
	return protocol.Certificate{Cluster: "c", Node: "n1", Certificate: string(cert), CA: string(a.ca.CertPEM())}
}

func (a *authority) set(away bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.away = away
}

// seen is when certificates of a use were given, and how often an ended one was
// shown.
func (a *authority) seen(use protocol.CertificateUse) (at []time.Time, late int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append(at, a.asked[use]...), a.late
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// member is a machine that has joined the authority's cluster.
func (a *authority) member(log io.Writer) *Client {
	a.t.Helper()
	dir := a.t.TempDir()
	key, csr, err := pki.NewRequest("n1")
	if err != nil {
		a.t.Fatal(err)
	}
	cert := a.sign(protocol.Renew{CSR: string(csr)})
	id := identity{Cluster: "c", Node: "n1", Control: []string{"https://control:7443"}, Certificate: cert.Certificate, Key: string(key), CA: cert.CA}
	if err := writeIdentity(dir, id); err != nil {
		a.t.Fatal(err)
	}
	c, err := New(Config{DataDir: dir, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		a.t.Fatal(err)
	}
	c.transport = a.transport
	c.connectAnew()
	return c
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	ca, err := pki.NewCA("c", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return &authority{t: t, ca: ca, asked: map[protocol.CertificateUse][]time.Time{}}
}

// everyTwoThirds says that the times are two thirds of a life apart, give or take a
// tenth, and not all alike.
func everyTwoThirds(t *testing.T, what string, at []time.Time) {
	t.Helper()
	spans := map[time.Duration]bool{}
	for i := 1; i < len(at); i++ {
		span := at[i].Sub(at[i-1])
		spans[span.Round(10*time.Millisecond)] = true
		// Certificates know whole seconds.
		if low, high := shortLife*17/30-time.Second, shortLife*23/30+time.Second; span < low || span > high {
			t.Errorf("%s: renewal %d came after %s", what, i, span)
		}
	}
	if len(spans) < 3 {
		t.Errorf("%s: renewals come after %v, which is no jitter", what, spans)
	}
}

// Certificates of a minute are renewed ten times and more at two thirds of their
// lives; they end while the control plane is away for a life of theirs, and are
// renewed when it is back.
func TestRenewals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		c := a.member(io.Discard)
		if _, err := c.GateIdentity(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		time.Sleep(12 * shortLife)
		for _, use := range []protocol.CertificateUse{"", protocol.ForGate} {
			at, late := a.seen(use)
			if len(at) < 11 || late > 0 {
				t.Fatalf("%q: %d certificates were given, and %d that had ended were shown", use, len(at), late)
			}
			everyTwoThirds(t, string(use), at)
		}
		a.set(true)
		time.Sleep(shortLife)
		a.set(false)
		before, _ := a.seen("")
		time.Sleep(2 * renewRetry)
		after, _ := a.seen("")
		gates, _ := a.seen(protocol.ForGate)
		if len(after) == len(before) || time.Since(gates[len(gates)-1]) > shortLife {
			t.Errorf("after an outage: %d certificates and then %d, the gates' of %s", len(before), len(after), gates[len(gates)-1])
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A machine that was away for longer than the grace is told what to do, again and
// again, and goes on asking.
func TestEndedForGood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		var log bytes.Buffer
		c := a.member(&log)
		time.Sleep(pki.RenewGrace + 2*shortLife)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		time.Sleep(10 * renewRetry)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n := strings.Count(log.String(), "join again with a new token"); n < 5 {
			t.Errorf("it was said %d times what to do: %s", n, log.String())
		}
		if _, err := c.GateIdentity(t.Context()); err == nil || !strings.Contains(err.Error(), "join again") {
			t.Errorf("a certificate for gates: %v", err)
		}
	})
}

// The certificate for gates is made once, kept over restarts, and made anew for
// another membership.
func TestGateIdentity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		c := a.member(io.Discard)
		path, err := c.GateIdentity(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file: %v, %v", info, err)
		}
		again, err := New(c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		again.transport = a.transport
		again.connectAnew()
		for _, c := range []*Client{c, again} {
			if _, err := c.GateIdentity(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if at, _ := a.seen(protocol.ForGate); len(at) != 1 {
			t.Errorf("%d certificates were made", len(at))
		}
		if err := forgetGates(c.cfg.DataDir); err != nil {
			t.Fatal(err)
		}
		if err := forgetGates(c.cfg.DataDir); err != nil {
			t.Errorf("nothing is there to forget: %v", err)
		}
		time.Sleep(2 * shortLife)
		if _, err := again.GateIdentity(t.Context()); err != nil {
			t.Error(err)
		}
		if at, _ := a.seen(protocol.ForGate); len(at) != 2 {
			t.Errorf("an ended one: %d certificates were made", len(at))
		}
	})
}
