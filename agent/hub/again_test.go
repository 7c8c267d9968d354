package hub_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/agent/hub"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/pki"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/placement/reconciler"
)

// beatWith sends a beat over a connection that showed a certificate.
func beatWith(t *testing.T, h *hub.Hub, leaf *x509.Certificate) (status int, code string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, protocol.PathBeat, strings.NewReader(`{"node":"n1"}`))
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}
	w := httptest.NewRecorder()
	h.Handler().ServeHTTP(w, r)
	var refusal protocol.Error
	_ = json.Unmarshal(w.Body.Bytes(), &refusal)
	return w.Code, refusal.Code
}

// A certificate is verified once for each connection, and ends all the same: by
// its own time, by a revocation, and for another object that only says the same.
func TestAKnownCertificateEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ca, err := pki.NewCA("test", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		h, err := hub.New(hub.Config{Registry: &registry{}, Enrolment: &enrolment{}, CA: ca, EngineKey: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		of := func(ca *pki.CA, life time.Duration) *x509.Certificate {
			return cert(t, ca, "n1", time.Now(), life).Leaf
		}
		good := of(ca, time.Hour)
		for range 3 {
			if status, code := beatWith(t, h, good); status != http.StatusOK {
				t.Fatalf("a good certificate: %d %s", status, code)
			}
		}
		other, err := pki.NewCA("test", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if _, code := beatWith(t, h, of(other, time.Hour)); code != protocol.CodeForbidden {
			t.Errorf("a certificate of the same name by somebody else: %q", code)
		}
		time.Sleep(2 * time.Hour)
		if _, code := beatWith(t, h, good); code != protocol.CodeExpired {
			t.Errorf("the good one, after its end: %q", code)
		}
		next := of(ca, 24*time.Hour)
		if status, code := beatWith(t, h, next); status != http.StatusOK {
			t.Fatalf("a new one: %d %s", status, code)
		}
		time.Sleep(time.Second)
		h.Revoke("n1")
		for range 2 {
			if _, code := beatWith(t, h, next); code != protocol.CodeRevoked {
				t.Errorf("the new one, after it was revoked: %q", code)
			}
		}
		time.Sleep(11 * 365 * 24 * time.Hour)
		if _, code := beatWith(t, h, next); code != protocol.CodeForbidden && code != protocol.CodeExpired {
			t.Errorf("after the end of the authority: %q", code)
		}
	})
}

// What was ordered before is written anew only where it changed, and a change of
// what its node is told counts.
func TestOrdersAreWrittenAnew(t *testing.T) {
	t.Parallel()
	h, reg := inMemory(t, hub.Config{})
	node := func(build string) *inventory.Node {
		return &inventory.Node{ID: "n1", Settings: inventory.NodeSettings{EngineBuilds: map[string]string{"sim": build}}}
	}
	reg.mu.Lock()
	reg.nodes = map[inventory.NodeID]*inventory.Node{"n1": node("cu128")}
	reg.mu.Unlock()
	r := replica("m-1", reconciler.Run, "n1")
	// dispatch orders replicas and gives the version and the build that n1 is told.
	dispatch := func(r reconciler.Replica) (uint64, string) {
		t.Helper()
		if err := h.Dispatch(t.Context(), 1, []reconciler.Replica{r, replica("m-2", reconciler.Run, "n2")}); err != nil {
			t.Fatal(err)
		}
		d, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1"})
		if err != nil {
			t.Fatal(err)
		}
		return d.Version, d.Shards[0].Build
	}
	for i, step := range []struct {
		change func()
		rises  bool
		build  string
	}{
		{func() {}, true, "cu128"}, // the first
		{func() {}, false, "cu128"},
		{func() { r.Profile.Args = []string{"--a"} }, true, "cu128"},
		{func() { r.Profile.Args = []string{"--a"} }, false, "cu128"}, // another copy of the same
		{func() {
			reg.mu.Lock()
			reg.nodes["n1"] = node("cu129")
			reg.mu.Unlock()
		}, true, "cu129"},
		{func() { r.Phase = reconciler.Drain }, true, "cu129"},
		{func() { r.Why = "nobody asks" }, false, "cu129"},
	} {
		before := uint64(0)
		if i > 0 {
			d, err := h.Sync(t.Context(), "n1", protocol.Sync{Node: "n1"})
			if err != nil {
				t.Fatal(err)
			}
			before = d.Version
		}
		step.change()
		if version, build := dispatch(r); version > before != step.rises || build != step.build {
			t.Errorf("step %d: the version was %d and is %d, the build is %q", i, before, version, build)
		}
	}
}
