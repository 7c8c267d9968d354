package hub_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"llmgw.io/llmgw/agent/hub"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/pki"
	"llmgw.io/llmgw/inventory"
)

// registry is a fake hub.Registry that keeps what it is told.
type registry struct {
	mu      sync.Mutex
	nodes   map[inventory.NodeID]*inventory.Node
	reports []inventory.Report
}

func (r *registry) Apply(id inventory.NodeID, rep inventory.Report, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports = append(r.reports, rep)
	n := &inventory.Node{ID: id}
	if old := r.nodes[id]; old != nil {
		*n = *old
	}
	n.Hearing, n.LastSeen = inventory.Heard, now
	if rep.Facts != nil {
		n.Facts = *rep.Facts
	}
	if rep.Whole {
		n.Shards, n.ShardsKnown = rep.Shards, true
	} else if len(rep.Shards) > 0 {
		n.Shards = rep.Shards
	}
	if r.nodes == nil {
		r.nodes = map[inventory.NodeID]*inventory.Node{}
	}
	r.nodes[id] = n
}

// doubt is a node that was lost and is back.
func (r *registry) doubt(id inventory.NodeID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := *r.nodes[id]
	n.Shards, n.ShardsKnown = nil, false
	r.nodes[id] = &n
}

func (r *registry) Snapshot() *inventory.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*inventory.Node
	for _, n := range r.nodes {
		list = append(list, n)
	}
	return inventory.NewSnapshot(1, list)
}

func (r *registry) shard(node inventory.NodeID, id string) inventory.ShardStatus {
	if n := r.Snapshot().Node(node); n != nil {
		s, _ := n.Shard(id)
		return s
	}
	return inventory.ShardStatus{}
}

// enrolment is a fake hub.Enrolment.
type enrolment struct {
	mu     sync.Mutex
	tokens map[string]string // id to hash; "used" once used
	err    error
	kept   []inventory.Certificate
	gone   []inventory.Revocation
}

func (e *enrolment) UseJoinToken(_ context.Context, id, hash string, node inventory.NodeID, at time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch known, ok := e.tokens[id]; {
	case e.err != nil:
		return e.err
	case known == "used":
		return hub.ErrTokenUsed
	case !ok || known != hash:
		return hub.ErrTokenUnknown
	}
	e.tokens[id] = "used"
	e.gone = append(e.gone, inventory.Revocation{Node: node, At: at}) // as if it had been known
	return nil
}

func (e *enrolment) KeepCertificate(_ context.Context, c inventory.Certificate) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kept = append(e.kept, c)
	return nil
}

func (e *enrolment) Revocations(context.Context) ([]inventory.Revocation, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]inventory.Revocation{}, e.gone...), nil
}

// token makes a join token that the enrolment knows.
func (e *enrolment) token(t *testing.T, ca *pki.CA) pki.JoinToken {
	t.Helper()
	tok, err := pki.NewJoinToken(ca.Pin())
	if err != nil {
		t.Fatal(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tokens == nil {
		e.tokens = map[string]string{}
	}
	e.tokens[tok.ID()] = tok.HashHex()
	return tok
}

// world is a hub behind real TLS on loopback.
type world struct {
	t    *testing.T
	ca   *pki.CA
	reg  *registry
	enr  *enrolment
	hub  *hub.Hub
	addr string // https://…
	// leader is where agents are sent. Empty: this one leads.
	leader atomic.Value
}

func newWorld(t *testing.T, limits hub.Limits) *world {
	t.Helper()
	ca, err := pki.NewCA("test", time.Now().Add(-60*24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return newWorldOf(t, ca, limits)
}

// newWorldWith is another control plane of the same cluster.
func newWorldWith(t *testing.T, ca *pki.CA) *world { return newWorldOf(t, ca, hub.Limits{}) }

func newWorldOf(t *testing.T, ca *pki.CA, limits hub.Limits) *world {
	t.Helper()
	w := &world{t: t, ca: ca, reg: &registry{}, enr: &enrolment{}}
	var err error
	w.hub, err = hub.New(hub.Config{
		Registry: w.reg, Enrolment: w.enr, CA: ca, Limits: limits,
		EngineKey: func(replica string) string { return "key-of-" + replica },
		Leader: func() (string, bool) {
			addr, _ := w.leader.Load().(string)
			return addr, addr == ""
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := w.hub.Server([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = srv.ServeTLS(l, "", "") }()
	t.Cleanup(func() { _ = srv.Close() })
	w.addr = "https://" + l.Addr().String()
	return w
}

// cert is a node's certificate by an authority, issued at a time.
func cert(t *testing.T, ca *pki.CA, node string, at time.Time, life time.Duration) *tls.Certificate {
	t.Helper()
	keyPEM, csr, err := pki.NewRequest(node)
	if err != nil {
		t.Fatal(err)
	}
	certPEM, _, err := ca.SignNode(csr, node, at, life)
	if err != nil {
		t.Fatal(err)
	}
	c, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

// client calls with a certificate, or none. It believes any server: servers are
// tried elsewhere.
func client(t *testing.T, c *tls.Certificate) *http.Client {
	t.Helper()
	conf := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}
	if c != nil {
		conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c, nil }
	}
	tr := &http.Transport{TLSClientConfig: conf, ForceAttemptHTTP2: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// post sends a body and reads the answer; a nil body of an answer is none.
func (w *world) post(c *http.Client, path string, body any) (status int, refusal protocol.Error, answer []byte) {
	w.t.Helper()
	data, ok := body.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(body); err != nil {
			w.t.Fatal(err)
		}
	}
	resp, err := c.Post(w.addr+path, "application/json", bytes.NewReader(data))
	if err != nil {
		return 0, protocol.Error{Text: err.Error()}, nil
	}
	defer resp.Body.Close()
	answer, _ = io.ReadAll(resp.Body)
	_ = json.Unmarshal(answer, &refusal)
	return resp.StatusCode, refusal, answer
}

func TestOnlyHealthAndJoinAreOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hub.Limits{})
	c := client(t, nil)
	paths := map[string]bool{ // whether a stranger's word is looked at
		protocol.PathJoin: true, protocol.PathRenew: false, protocol.PathBeat: false, protocol.PathSync: false,
		strings.Replace(protocol.PathAnswers, "{id}", "x", 1): false,
	}
	for path, open := range paths {
		status, refusal, _ := w.post(c, path, struct{}{})
		if open && status != http.StatusBadRequest || !open && (status != http.StatusForbidden || refusal.Code != protocol.CodeForbidden) {
			t.Errorf("%s without a certificate: %d %+v", path, status, refusal)
		}
	}
	resp, err := c.Get(w.addr + hub.PathHealth)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("health: %v", err)
	}
	_ = resp.Body.Close()
	if resp, err = c.Get(w.addr + "/metrics"); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("another path: %v", err)
	}
	if len(w.reg.reports) != 0 {
		t.Error("a stranger's report was taken")
	}
}

func TestWhoMayBeat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hub.Limits{})
	foreign, err := pki.NewCA("test", time.Now()) // of the same name
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	tests := []struct {
		name   string
		cert   *tls.Certificate
		node   string
		status int // 0: not even a connection
		code   string
	}{
		{"good", cert(t, w.ca, "n1", now, 0), "n1", 200, ""},
		{"other node in the body", cert(t, w.ca, "n1", now, 0), "n2", 403, protocol.CodeForbidden},
		{"ended", cert(t, w.ca, "n1", now.Add(-10*time.Hour), time.Hour), "n1", 403, protocol.CodeExpired},
		{"ended long ago", cert(t, w.ca, "n1", now.Add(-50*24*time.Hour), time.Hour), "n1", 0, ""},
		{"foreign authority", cert(t, foreign, "n1", now, 0), "n1", 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			status, refusal, _ := w.post(client(t, tt.cert), protocol.PathBeat, protocol.Beat{Node: tt.node})
			if status != tt.status || status != 0 && refusal.Code != tt.code {
				t.Errorf("got %d %+v, want %d %s", status, refusal, tt.status, tt.code)
			}
		})
	}
}

func TestEndedCertificateRenews(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hub.Limits{})
	c := client(t, cert(t, w.ca, "n1", time.Now().Add(-10*time.Hour), time.Hour))
	_, csr, err := pki.NewRequest("another name")
	if err != nil {
		t.Fatal(err)
	}
	status, refusal, body := w.post(c, protocol.PathRenew, protocol.Renew{CSR: string(csr)})
	var got protocol.Certificate
	if err := json.Unmarshal(body, &got); err != nil || status != 200 {
		t.Fatalf("%d %+v", status, refusal)
	}
	block, _ := pem.Decode([]byte(got.Certificate))
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := pki.Identity(leaf); err != nil || p.ID != "n1" {
		t.Errorf("certified %v, %v", p, err)
	}
	w.hub.Revoke("n1")
	if _, refusal, _ = w.post(c, protocol.PathRenew, protocol.Renew{CSR: string(csr)}); refusal.Code != protocol.CodeRevoked {
		t.Errorf("a removed node renews: %+v", refusal)
	}
}

func TestRevokeCutsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hub.Limits{PollAfter: time.Minute})
	c := client(t, cert(t, w.ca, "n1", time.Now().Add(-time.Minute), 0))
	refused := make(chan protocol.Error, 1)
	go func() {
		_, refusal, _ := w.post(c, protocol.PathSync, protocol.Sync{Node: "n1"})
		refused <- refusal
	}()
	until(t, func() bool { return w.hub.Connected("n1") })
	w.hub.Revoke("n1")
	if got := <-refused; got.Code != protocol.CodeRevoked {
		t.Errorf("the open poll ended with %+v", got)
	}
	if _, got, _ := w.post(c, protocol.PathBeat, protocol.Beat{Node: "n1"}); got.Code != protocol.CodeRevoked {
		t.Errorf("a beat on the open connection: %+v", got)
	}
	again := client(t, cert(t, w.ca, "n1", pki.IssueTime(time.Now(), pki.RevocationTime(time.Now())), 0))
	if status, got, _ := w.post(again, protocol.PathBeat, protocol.Beat{Node: "n1"}); status != 200 {
		t.Errorf("one that joined again: %d %+v", status, got)
	}
}

func TestRevokedElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hub.Limits{Recheck: 10 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _ = w.hub.Run(ctx) }()
	c := client(t, cert(t, w.ca, "n1", time.Now().Add(-time.Minute), 0))
	if status, got, _ := w.post(c, protocol.PathBeat, protocol.Beat{Node: "n1"}); status != 200 {
		t.Fatalf("%d %+v", status, got)
	}
	w.enr.mu.Lock()
	w.enr.gone = []inventory.Revocation{{Node: "n1", At: time.Now()}}
	w.enr.mu.Unlock()
	until(t, func() bool {
		_, got, _ := w.post(c, protocol.PathBeat, protocol.Beat{Node: "n1"})
		return got.Code == protocol.CodeRevoked
	})
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hub.Limits{})
	c := client(t, cert(t, w.ca, "n1", time.Now(), 0))
	deep := []byte(strings.Repeat("[", 100) + strings.Repeat("]", 100))
	tests := map[string]struct {
		body   []byte
		status int
		code   string
	}{
		"huge":            {bytes.Repeat([]byte("x"), protocol.MaxFrame+1), 413, protocol.CodeTooLarge},
		"garbage":         {[]byte("GET / HTTP/1.1"), 400, protocol.CodeInvalid},
		"deep":            {deep, 400, protocol.CodeInvalid},
		"more behind":     {[]byte(`{"node":"n1"} {}`), 400, protocol.CodeInvalid},
		"unknown keys":    {[]byte(`{"node":"n1","of_tomorrow":{"x":[1]}}`), 200, ""},
		"brackets inside": {[]byte(`{"node":"n1","x":"` + strings.Repeat("[", 100) + `\"["}`), 200, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, refusal, _ := w.post(c, protocol.PathBeat, tt.body)
			if status != tt.status || refusal.Code != tt.code || tt.code != "" && refusal.Text == "" {
				t.Errorf("got %d %+v, want %d %s", status, refusal, tt.status, tt.code)
			}
		})
	}
}

func TestRateOfOneNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hub.Limits{PerSecond: 1, Burst: 3})
	c, other := client(t, cert(t, w.ca, "n1", time.Now(), 0)), client(t, cert(t, w.ca, "n2", time.Now(), 0))
	var codes []string
	for range 6 {
		_, got, _ := w.post(c, protocol.PathBeat, protocol.Beat{Node: "n1"})
		codes = append(codes, got.Code)
	}
	if codes[0] != "" || codes[5] != protocol.CodeLimited {
		t.Errorf("six beats at once: %q", codes)
	}
	if status, _, _ := w.post(other, protocol.PathBeat, protocol.Beat{Node: "n2"}); status != 200 {
		t.Errorf("another node pays for it: %d", status)
	}
}

// What one node has open at once is bounded, since each exchange may hold a
// whole frame, and others do not pay for it.
func TestExchangesOfOneNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hub.Limits{Asks: 1, PerSecond: 10000, Burst: 10000})
	c := client(t, cert(t, w.ca, "n1", time.Now(), 0))
	ctx, cancel := context.WithCancel(t.Context())
	var open sync.WaitGroup
	defer open.Wait()
	defer cancel()
	for range 9 {
		// One that found the node busy with the question below tries again, so
		// that in the end all places are taken.
		open.Go(func() {
			for ctx.Err() == nil {
				body, never := io.Pipe()
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.addr+protocol.PathBeat, body)
				if err != nil {
					t.Error(err)
					return
				}
				if resp, err := c.Do(req); err == nil {
					_ = resp.Body.Close()
				}
				_ = never.Close()
			}
		})
	}
	until(t, func() bool {
		status, refusal, _ := w.post(c, protocol.PathBeat, protocol.Beat{Node: "n1"})
		return status == http.StatusTooManyRequests && refusal.Code == protocol.CodeLimited
	})
	other := client(t, cert(t, w.ca, "n2", time.Now(), 0))
	if status, refusal, _ := w.post(other, protocol.PathBeat, protocol.Beat{Node: "n2"}); status != http.StatusOK {
		t.Errorf("another node: %d %+v", status, refusal)
	}
}

// A machine that joins under a name ends what another one was given under it
// before, also for a control plane that was not there.
func TestJoinEndsEarlierCertificates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hub.Limits{})
	old := cert(t, w.ca, "n1", time.Now().Add(-time.Minute), 0)
	keyPEM, csr, err := pki.NewRequest("n1")
	if err != nil {
		t.Fatal(err)
	}
	var given protocol.Certificate
	status, refusal, answer := w.post(client(t, nil), protocol.PathJoin, protocol.Join{Token: w.enr.token(t, w.ca).Reveal(), Node: "n1", CSR: string(csr)})
	if err := json.Unmarshal(answer, &given); err != nil || status != http.StatusOK {
		t.Fatalf("%d %+v", status, refusal)
	}
	fresh, err := tls.X509KeyPair([]byte(given.Certificate), keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	after := newWorldWith(t, w.ca)
	after.enr.gone = w.enr.gone
	if _, refusal, _ := after.post(client(t, old), protocol.PathBeat, protocol.Beat{Node: "n1"}); refusal.Code != protocol.CodeRevoked {
		t.Errorf("the machine that had the name before: %+v", refusal)
	}
	if status, refusal, _ := after.post(client(t, &fresh), protocol.PathBeat, protocol.Beat{Node: "n1"}); status != http.StatusOK {
		t.Errorf("the machine that has it now: %d %+v", status, refusal)
	}
}

// Whoever has no certificate yet may not send much.
func TestJoinIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hub.Limits{})
	body := protocol.Join{Node: "n1", Token: strings.Repeat("x", 65<<10)}
	if status, refusal, _ := w.post(client(t, nil), protocol.PathJoin, body); status != http.StatusRequestEntityTooLarge || refusal.Code != protocol.CodeTooLarge {
		t.Errorf("a large request to join: %d %+v", status, refusal)
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hub.Limits{Joins: 1000})
	c := client(t, nil)
	_, csr, err := pki.NewRequest("n")
	if err != nil {
		t.Fatal(err)
	}
	good := w.enr.token(t, w.ca)
	stranger, err := pki.NewJoinToken(w.ca.Pin())
	if err != nil {
		t.Fatal(err)
	}
	w.reg.Apply("taken", inventory.Report{}, time.Now())
	steps := []struct {
		name   string
		join   protocol.Join
		err    error
		status int
		code   string
	}{
		{"no token", protocol.Join{Node: "n1", CSR: string(csr)}, nil, 400, protocol.CodeInvalid},
		{"unknown token", protocol.Join{Token: stranger.Reveal(), Node: "n1", CSR: string(csr)}, nil, 403, protocol.CodeForbidden},
		{"bad name", protocol.Join{Token: good.Reveal(), Node: "a/b", CSR: string(csr)}, nil, 400, protocol.CodeInvalid},
		{"live name", protocol.Join{Token: good.Reveal(), Node: "taken", CSR: string(csr)}, nil, 409, protocol.CodeNameTaken},
		{"bad request", protocol.Join{Token: good.Reveal(), Node: "n1", CSR: "x"}, nil, 400, protocol.CodeInvalid},
		{"expired", protocol.Join{Token: good.Reveal(), Node: "n1", CSR: string(csr)}, hub.ErrTokenExpired, 403, protocol.CodeExpired},
		{"store away", protocol.Join{Token: good.Reveal(), Node: "n1", CSR: string(csr)}, fmt.Errorf("disk I/O error"), 500, protocol.CodeInternal},
		{"good after all that", protocol.Join{Token: good.Reveal(), Node: "n1", CSR: string(csr)}, nil, 200, ""},
		{"used", protocol.Join{Token: good.Reveal(), Node: "n2", CSR: string(csr)}, nil, 403, protocol.CodeUsed},
	}
	for _, s := range steps {
		w.enr.mu.Lock()
		w.enr.err = s.err
		w.enr.mu.Unlock()
		status, refusal, body := w.post(c, protocol.PathJoin, s.join)
		if status != s.status || refusal.Code != s.code || strings.Contains(string(body), "disk I/O") {
			t.Errorf("%s: %d %s, want %d %s", s.name, status, body, s.status, s.code)
		}
	}
	if len(w.enr.kept) != 1 || w.enr.kept[0].Node != "n1" {
		t.Errorf("kept %+v", w.enr.kept)
	}
}

func until(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("did not come")
		}
	}
}
