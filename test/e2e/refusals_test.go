//go:build unix

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/adminapi/adminclient"
	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
)

// TestRefusals sends what is wrong to everything that listens: each answer names
// what is wrong, and nothing is left behind.
func TestRefusals(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "llmgw.yaml")
	if err := os.WriteFile(config, []byte("limits: {body: 65536}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startServe(t, "--config", config)
	p.startNode("n1", "")
	p.add(simModel("sim", scaling(1, 1)))
	p.untilReady("sim", 1)

	t.Run("clients", p.refusesClients)
	t.Run("definitions", p.refusesDefinitions)
	t.Run("what is no definition", p.refusesBroken)
	t.Run("machines", p.refusesMachines)
	t.Run("a second server", p.refusesSecondServer)
	t.Run("settings", func(t *testing.T) {
		t.Parallel()
		wrong := filepath.Join(t.TempDir(), "wrong.yaml")
		if err := os.WriteFile(wrong, []byte("limits:\n  bodi: 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, code := runProgram(t, nil, controlBin, "serve", "--data", t.TempDir(), "--config", wrong)
		if code == 0 || !strings.Contains(out, "bodi") || !strings.Contains(out, "wrong.yaml") {
			t.Errorf("code %d: %s", code, out)
		}
	})
}

func (p *plane) refusesClients(t *testing.T) {
	t.Parallel()
	whole := `{"model":"sim","messages":[{"role":"user","content":"hi"}]}`
	for _, c := range []struct {
		name, body string
		status     int
	}{
		{"broken", whole[:30], 400},
		{"empty", "", 400},
		{"an array", "[" + whole + "]", 400},
		{"something after it", whole + "{", 400},
		{"no model", `{"messages":[]}`, 400},
		{"a model that is no text", `{"model":7,"messages":[]}`, 400},
		{"deeper than anybody nests", `{"model":"sim","messages":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, 400},
		{"too long", `{"model":"sim","messages":[{"role":"user","content":"` + strings.Repeat("a", 70000) + `"}]}`, 413},
		{"another model", `{"model":"gone","messages":[{"role":"user","content":"hi"}]}`, 404},
	} {
		r := p.client().must(t, http.MethodPost, "/v1/chat/completions", c.body)
		var e struct {
			Error struct{ Message, Type string } `json:"error"`
		}
		if err := json.Unmarshal(r.body, &e); err != nil || r.status != c.status || e.Error.Message == "" || e.Error.Type == "" {
			t.Errorf("%s: want status %d and an error in the API's form, got %.300s", c.name, c.status, r)
		}
	}
	if r := (client{p.Client, "sk-llmgw-abcdefghij-nothing"}).chat(t, "sim"); r.status != http.StatusUnauthorized {
		t.Errorf("a made-up key: %s", r)
	}
	if r := p.client().must(t, http.MethodGet, "/v1/nothing", nil); r.status != http.StatusNotFound {
		t.Errorf("a path that is not there: %s", r)
	}
	if r := p.client().chat(t, "sim"); r.status != http.StatusOK {
		t.Errorf("and after all that: %s", r)
	}
}

func (p *plane) refusesDefinitions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, code, says string }{
		{"an unknown key", `{"name":"a","profils":[]}`, "unknown_field", "profils"},
		{"no profile", `{"name":"a"}`, "invalid", "profiles"},
		{"two complaints", `{"name":"a b","profiles":[{"name":"x","engine":"nope"}]}`, "invalid", "engine"},
		{"too long", `{"name":"a","description":"` + strings.Repeat("d", 8<<20) + `"}`, "too_large", ""},
		{"a name that is taken", `{"name":"sim","profiles":[{"name":"x","engine":"sim"}]}`, "exists", "sim"},
		{"an argument of ours", `{"name":"a","profiles":[{"name":"x","engine":"sim","args":["--port","1"]}]}`, "invalid", "--port"},
	} {
		_, err := p.admin.AddModel(t.Context(), json.RawMessage(c.text))
		var e *adminclient.Error
		if !errors.As(err, &e) || e.Code != c.code || !strings.Contains(e.Text, c.says) {
			t.Errorf("%s: want code %q and %q in the text, got %v (%+v)", c.name, c.code, c.says, err, e)
		}
	}
}

// refusesBroken is what the typed client cannot even send.
func (p *plane) refusesBroken(t *testing.T) {
	t.Parallel()
	admin := client{p.Admin, p.token}
	for name, body := range map[string]string{"broken": `{"name":`, "empty": "", "two": `{"name":"a"}{"name":"b"}`, "twice": `{"name":"a","name":"b"}`} {
		r := admin.must(t, http.MethodPost, "/api/v1/models", body)
		var e view.Error
		if err := json.Unmarshal(r.body, &e); err != nil || r.status != http.StatusBadRequest || e.Code == "" || e.Error == "" {
			t.Errorf("%s: %s", name, r)
		}
	}
	if r := (client{p.Admin, "nonsense"}).must(t, http.MethodGet, "/api/v1/models", nil); r.status != http.StatusUnauthorized {
		t.Errorf("a made-up token: %s", r)
	}
	if r := (client{p.Admin, p.key}).must(t, http.MethodGet, "/api/v1/models", nil); r.status != http.StatusUnauthorized {
		t.Errorf("a client's key is no admin token: %s", r)
	}
}

func (p *plane) refusesMachines(t *testing.T) {
	t.Parallel()
	token := p.joinToken()
	if out, code := p.join("n1", t.TempDir(), token); code == 0 || !strings.Contains(out, "part of the cluster already") {
		t.Errorf("a name that is taken: code %d: %s", code, out)
	}
	if out, code := p.join("n2", t.TempDir(), token); code != 0 {
		t.Errorf("a refusal must not use the token up: code %d: %s", code, out)
	}
	if out, code := p.join("n3", t.TempDir(), token); code == 0 || !strings.Contains(out, "used already") {
		t.Errorf("a used token: code %d: %s", code, out)
	}
	if out, code := p.join("n3", t.TempDir(), "llmgw-join-nonsense"); code == 0 || strings.Contains(out, "nonsense") {
		t.Errorf("a token that is none is refused, and not repeated: code %d: %s", code, out)
	}
	if out, code := p.join("no/slash", t.TempDir(), p.joinToken()); code == 0 || !strings.Contains(out, "name") {
		t.Errorf("a name that is none: code %d: %s", code, out)
	}

	beat := `{"node":"n1"}`
	for name, certs := range map[string][]tls.Certificate{"no certificate": nil, "a certificate of another": {foreignCertificate(t)}} {
		// Whom we speak to is not what is tried here.
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certs}}}
		resp, err := c.Post(p.Agents+protocol.PathBeat, "application/json", strings.NewReader(beat))
		if err != nil {
			continue // refused in the handshake
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: the agents' port answers %s", name, resp.Status)
		}
	}
	if n, err := p.admin.Node(t.Context(), "n1"); err != nil || n.State != "ready" {
		t.Errorf("and after all that: %+v, %v", n, err)
	}
}

// foreignCertificate claims to be node n1, signed by itself.
func foreignCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "n1", Organization: []string{"llmgw"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (p *plane) refusesSecondServer(t *testing.T) {
	t.Parallel()
	out, code := runProgram(t, nil, controlBin, "serve", "--data", p.dir, "--client", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--agents", "127.0.0.1:0")
	if code == 0 || !strings.Contains(out, itoa(p.pid())) {
		t.Errorf("want a refusal that names the process which has the store, got code %d: %s", code, out)
	}
	out, code = runProgram(t, nil, controlBin, "serve", "--data", t.TempDir(), "--client", strings.TrimPrefix(p.Client, "http://"), "--admin", "127.0.0.1:0", "--agents", "127.0.0.1:0")
	if code == 0 || !strings.Contains(out, "listen.client.address") {
		t.Errorf("an address that is taken: code %d: %s", code, out)
	}
}

// TestBrokenWeights: weights that are wrong fail with their cause, the engine's
// last words are kept, and the next start waits.
func TestBrokenWeights(t *testing.T) {
	t.Parallel()
	needLlamaServer(t)
	p := startServe(t)
	n := p.startNode("n1", "")
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(path, []byte("this is no model\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	llama := []catalog.Profile{{Name: "cpu", Engine: catalog.EngineLlamaCPP}}
	p.add(catalog.Model{Name: "text", Source: "file://" + path, Profiles: llama})
	p.add(catalog.Model{
		Name: "hash", Source: "file://" + path, Profiles: llama,
		Files: []catalog.File{{Path: "model.gguf", SHA256: strings.Repeat("ab", 32)}},
	})
	p.add(catalog.Model{Name: "gone", Source: "file://" + path + ".not", Profiles: llama})
	for name, says := range map[string]string{"text": "GGUF", "hash": "hash", "gone": "there is no file"} {
		until(t, name+" failed and says why", soon, func() (bool, any) {
			m, _ := p.model(name)
			return m.Failures >= 1 && m.ReadyReplicas == 0 && strings.Contains(strings.ToLower(m.Reason), strings.ToLower(says)), m
		})
	}
	if es := n.engines(); len(es) > 1 {
		t.Errorf("broken models have engines: %v", es)
	}
}
