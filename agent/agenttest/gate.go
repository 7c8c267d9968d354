package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"llmgw.io/llmgw/agent/gate"
	"llmgw.io/llmgw/internal/pki"
)

// gateArgument makes a test binary a gate instead of a run of tests.
const gateArgument = "llmgw-test-gate"

// Gate is for agent.Config.Gate: this test binary, as a gate. Let TestMain call
// RunGate first.
func Gate() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, gateArgument}
}

// RunGate is the gate, when this process was started as one: it does not return
// then. Otherwise it does nothing.
func RunGate() {
	if len(os.Args) < 2 || os.Args[1] != gateArgument {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	err := gate.Main(ctx, os.Args[2:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gate:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Cluster is what gates and routers of a cluster show each other.
type Cluster struct {
	// Identity is the file of a node's certificate for gates.
	Identity string
	// Router calls the gates of that node, with a connection for each request.
	Router *http.Client
}

// NewCluster makes a cluster and writes the certificate of a node's gates into a
// folder.
func NewCluster(dir, node string) (Cluster, error) {
	var none Cluster
	ca, err := pki.NewCA("c", time.Now())
	if err != nil {
		return none, err
	}
	cert, key, err := certify(ca.SignGate, node)
	if err != nil {
		return none, err
	}
	b, err := json.Marshal(map[string]string{"certificate": string(cert), "key": string(key), "ca": string(ca.CertPEM())})
	if err != nil {
		return none, err
	}
	path := filepath.Join(dir, "gate-identity.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return none, err
	}
	if cert, key, err = certify(ca.SignRouter, "r1"); err != nil {
		return none, err
	}
	pair, err := pki.NewKeyPair(cert, key)
	if err != nil {
		return none, err
	}
	conf, err := pki.ClientTLS(pki.ClientConfig{
		Trust: ca.Trust(), Certificate: pair.Current, Server: pki.Peer{Cluster: "c", Kind: pki.KindGate, ID: node},
	})
	if err != nil {
		return none, err
	}
	conf.NextProtos = []string{"http/1.1"}
	return Cluster{Identity: path, Router: &http.Client{Transport: &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true}}}, nil
}

func certify(sign func([]byte, string, time.Time, time.Duration) ([]byte, pki.CertInfo, error), id string) (cert, key []byte, err error) {
	key, csr, err := pki.NewRequest(id)
	if err != nil {
		return nil, nil, err
	}
	cert, _, err = sign(csr, id, time.Now(), 0)
	return cert, key, err
}
