package hub_test

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"testing"
	"time"

	"llmgw.io/llmgw/agent/hub"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/internal/pki"
)

// A node gets a certificate for its gates over its own, for as long as that is
// good; a removal puts both out.
func TestGateCertificate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hub.Limits{})
	_, csr, err := pki.NewRequest("whoever")
	if err != nil {
		t.Fatal(err)
	}
	ask := protocol.Renew{CSR: string(csr), For: protocol.ForGate}
	good := client(t, cert(t, w.ca, "n1", time.Now().Add(-time.Minute), 0))
	status, refusal, body := w.post(good, protocol.PathRenew, ask)
	var got protocol.Certificate
	if err := json.Unmarshal(body, &got); err != nil || status != 200 {
		t.Fatalf("%d %+v", status, refusal)
	}
	block, _ := pem.Decode([]byte(got.Certificate))
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	want := pki.Peer{Cluster: w.ca.Cluster(), Kind: pki.KindGate, ID: "n1"}
	if err := w.ca.Trust().VerifyServer([]*x509.Certificate{leaf}, want, time.Now()); err != nil {
		t.Error(err)
	}
	if life := leaf.NotAfter.Sub(pki.IssuedAt(leaf)); life != pki.GateLife {
		t.Errorf("it lives for %s", life)
	}
	if w.hub.Revoked("n1", pki.IssuedAt(leaf)) {
		t.Error("it is revoked already")
	}

	ask.For = "throne"
	if status, refusal, _ := w.post(good, protocol.PathRenew, ask); status == 200 || refusal.Code != protocol.CodeInvalid {
		t.Errorf("another use: %d %+v", status, refusal)
	}
	ask.For = protocol.ForGate
	ended := client(t, cert(t, w.ca, "n2", time.Now().Add(-10*time.Hour), time.Hour))
	if _, refusal, _ := w.post(ended, protocol.PathRenew, ask); refusal.Code != protocol.CodeExpired {
		t.Errorf("over an ended certificate: %+v", refusal)
	}
	w.hub.Revoke("n1")
	if _, refusal, _ := w.post(good, protocol.PathRenew, ask); refusal.Code != protocol.CodeRevoked {
		t.Errorf("a removed node: %+v", refusal)
	}
	if !w.hub.Revoked("n1", pki.IssuedAt(leaf)) {
		t.Error("the gates of a removed node are believed")
	}
}
