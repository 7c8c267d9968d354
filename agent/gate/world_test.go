package gate_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/agent/gate"
	"llmgw.io/llmgw/internal/pki"
)

// world is a cluster of one engine with its gate.
type world struct {
	t      *testing.T
	ca     *pki.CA
	dir    string
	cfg    gate.Config
	client gate.Client
	stop   func()
}

const engineKey = "the engine's own key"

// open runs a gate in front of a handler.
func open(t *testing.T, engine http.HandlerFunc) *world {
	t.Helper()
	srv := httptest.NewServer(engine)
	t.Cleanup(srv.Close)
	ca, err := pki.NewCA("c", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, ca: ca, dir: t.TempDir()}
	w.cfg = gate.Config{
		Shard: "m-1.0", Listen: "127.0.0.1:0", Engine: strings.TrimPrefix(srv.URL, "http://"), EngineKey: engineKey,
		Identity: filepath.Join(w.dir, "identity.json"), Dir: w.dir,
	}
	w.client = gate.Client{Dir: w.dir}
	w.certify("n1")
	g, err := gate.New(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	stopped := false
	w.stop = func() {
		if cancel(); !stopped {
			stopped = true
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
		}
	}
	t.Cleanup(w.stop)
	w.until("the gate answers", func() bool { _, err := w.client.State(t.Context()); return err == nil })
	return w
}

// certify writes a certificate for the gates of a node.
func (w *world) certify(node string) {
	w.t.Helper()
	key, csr, err := pki.NewRequest(node)
	if err != nil {
		w.t.Fatal(err)
	}
	cert, _, err := w.ca.SignGate(csr, node, time.Now(), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(map[string]string{"certificate": string(cert), "key": string(key), "ca": string(w.ca.CertPEM())})
}

func (w *world) write(identity map[string]string) {
	w.t.Helper()
	b, err := json.Marshal(identity)
	if err != nil {
		w.t.Fatal(err)
	}
	next := w.cfg.Identity + ".new"
	if err := os.WriteFile(next, b, 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(next, w.cfg.Identity); err != nil {
		w.t.Fatal(err)
	}
}

// signer is what gives a machine its certificate.
type signer func(csrPEM []byte, id string, now time.Time, life time.Duration) ([]byte, pki.CertInfo, error)

// caller is a machine with a certificate that a signer gave, which wants to speak
// to the gate of a node.
func (w *world) caller(sign signer, id, node string) *http.Client {
	w.t.Helper()
	key, csr, err := pki.NewRequest(id)
	if err != nil {
		w.t.Fatal(err)
	}
	cert, _, err := sign(csr, id, time.Now(), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	pair, err := pki.NewKeyPair(cert, key)
	if err != nil {
		w.t.Fatal(err)
	}
	conf, err := pki.ClientTLS(pki.ClientConfig{
		Trust: w.ca.Trust(), Certificate: pair.Current, Server: pki.Peer{Cluster: "c", Kind: pki.KindGate, ID: node},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	conf.NextProtos = []string{"http/1.1"}
	tr := &http.Transport{TLSClientConfig: conf, DisableCompression: true}
	w.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func (w *world) router() *http.Client { return w.caller(w.ca.SignRouter, "r1", "n1") }

func (w *world) state() gate.State {
	w.t.Helper()
	s, err := w.client.State(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// request makes one to the gate.
func (w *world) request(ctx context.Context, method, path, body string) *http.Request {
	w.t.Helper()
	var b io.Reader = http.NoBody
	if body != "" {
		b = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, "https://"+w.state().Listen+path, b)
	if err != nil {
		w.t.Fatal(err)
	}
	return req
}

// until waits for what must come; a test that waits for what does not fails.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("did not come: %s", what)
		}
	}
}

// do sends a request and reads its answer whole.
func (w *world) do(c *http.Client, req *http.Request) (*http.Response, string) {
	w.t.Helper()
	res, err := c.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res, string(b)
}
