//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// routerAlone is llmgw-control router over a simulated engine that somebody
// else runs.
type routerAlone struct {
	*process
	t   *testing.T
	dir string
	client
	args []string
}

func startRouter(t *testing.T, engine ...string) *routerAlone {
	t.Helper()
	address := freeAddress(t)
	_, port, _ := strings.Cut(address, ":")
	start(t, "engine", agentBin, append([]string{"sim-engine", "--model", "theirs", "--served-model-name", "static", "--port", port}, engine...)...)
	r := &routerAlone{t: t, dir: t.TempDir()}
	text, code := runProgram(t, nil, controlBin, "token", "hash", "--data", r.dir)
	key := regexp.MustCompile(`sk-llmgw-\S+`).FindString(text)
	if code != 0 || key == "" {
		t.Fatalf("token hash: code %d: %s", code, text)
	}
	config := filepath.Join(r.dir, "llmgw.yaml")
	text += fmt.Sprintf("models:\n  - name: static\n    profiles: [{name: theirs, engine: static, endpoints: [{url: \"http://%s\"}]}]\n", address)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	listen := freeAddress(t)
	r.client = client{"http://" + listen, key}
	r.args = []string{"router", "--data", r.dir, "--config", config, "--client", listen}
	r.start()
	return r
}

func (r *routerAlone) start() {
	r.t.Helper()
	r.process = start(r.t, "router", controlBin, r.args...)
	until(r.t, "the router answers", soon, func() (bool, any) {
		if r.ended() {
			r.t.Fatalf("the router ended:\n%s", r.output())
		}
		a, err := r.ask(r.t.Context(), http.MethodPost, "/v1/chat/completions", say("static", "hello"))
		return err == nil && a.status == http.StatusOK, fmt.Sprint(a, err)
	})
}

// TestRouterAlone serves requests without a control plane, and keeps its rows
// though it is killed.
func TestRouterAlone(t *testing.T) {
	t.Parallel()
	r := startRouter(t, "--say", "word", "--output-tokens", "400", "--inter-token-latency", "5ms")
	if a := (client{r.base, r.key + "x"}).chat(t, "static"); a.status != http.StatusUnauthorized {
		t.Errorf("another key: %s", a)
	}
	var ids []string
	for range 20 {
		ids = append(ids, r.chat(t, "static").id())
	}
	body := say("static", "hello")
	body.MaxTokens = 0
	st := r.mustStream(t, body)
	if !st.next() {
		t.Fatal("the stream ended at once")
	}
	r.kill()
	if err := st.rest(); err == nil {
		t.Error("the router was killed, and the stream ended as if it were whole")
	}
	r.start()
	r.end(syscall.SIGTERM)

	// A control plane over the same store reads what was shipped.
	p := &plane{t: t, dir: r.dir, args: []string{
		"serve", "--data", r.dir, "--client", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--agents", "127.0.0.1:0",
	}}
	p.start()
	for _, id := range ids {
		if row := p.untilRow(id); row.Outcome != "ok" || row.CompletionTokens == 0 || row.ServedModel != "static" {
			t.Errorf("row %s: %+v", id, row)
		}
	}
}

// TestReload takes a changed file at a SIGHUP, and keeps the old settings when
// the file is wrong.
func TestReload(t *testing.T) {
	t.Parallel()
	r := startRouter(t)
	config := filepath.Join(r.dir, "llmgw.yaml")
	before, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r.signal(syscall.SIGHUP)
	}
	names := func() string {
		var list struct {
			Data []struct {
				ID string `json:"id"`
			} `json:"data"`
		}
		a := r.must(t, http.MethodGet, "/v1/models", nil)
		if err := json.Unmarshal(a.body, &list); err != nil {
			t.Fatalf("%v in %s", err, a)
		}
		var out []string
		for _, m := range list.Data {
			out = append(out, m.ID)
		}
		return strings.Join(out, " ")
	}
	write(strings.Replace(string(before), "name: static\n", "name: static\n    aliases: [also]\n", 1))
	until(t, "the alias is there", soon, func() (bool, any) { return names() == "also static", names() })
	write("models: [{nome: x}]\n")
	until(t, "the refusal is logged", soon, func() (bool, any) {
		return strings.Contains(r.output(), "was not reloaded"), r.output()
	})
	if a := r.chat(t, "also"); a.status != http.StatusOK {
		t.Errorf("after a wrong file: %s", a)
	}
}
