//go:build unix

package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"llmgw.io/llmgw/adminapi/view"
)

// ctl runs a command of llmgw-control ctl against the control plane.
func (p *plane) ctl(args ...string) (output string, code int) {
	p.t.Helper()
	env := []string{"LLMGW_DATA_DIR=" + p.dir}
	return runProgram(p.t, env, controlBin, append([]string{"ctl", "--server", p.Admin}, args...)...)
}

// TestCtl goes the way of a person at a terminal: what is told to type is typed,
// and every failure says so by its exit code.
func TestCtl(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	n := p.startNode("n1", "")
	file := filepath.Join(t.TempDir(), "model.yaml")
	if err := os.WriteFile(file, []byte("name: m\nprofiles:\n  - {name: sim, engine: sim}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		says string
		args []string
	}{
		{"m", []string{"models", "add", "-f", file}},
		{"m", []string{"models", "list"}},
		{"n1", []string{"nodes", "list"}},
		{"sim", []string{"models", "get", "m"}},
		{"min", []string{"models", "target", "m"}},
		{"m", []string{"models", "scale", "m", "--min", "1"}},
	} {
		out, code := p.ctl(c.args...)
		if code != 0 || !strings.Contains(out, c.says) {
			t.Errorf("ctl %s: code %d: %s", strings.Join(c.args, " "), code, out)
		}
	}
	p.untilReady("m", 1)
	out, code := p.ctl("--output", "json", "models", "list")
	var list []view.ModelView
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 || len(list) != 1 || list[0].ReadyReplicas != 1 {
		t.Errorf("models list as JSON: code %d, %v: %s", code, err, out)
	}
	for _, args := range [][]string{
		{"models", "get", "nobody"}, {"models", "add", "-f", file}, {"models", "add", "-f", file + ".not"}, {"nothing"}, {"models", "scale", "m"},
	} {
		if out, code := p.ctl(args...); code == 0 || strings.TrimSpace(out) == "" {
			t.Errorf("ctl %s: code %d: %s", strings.Join(args, " "), code, out)
		}
	}
	if out, code := p.ctl("models", "rm", "m"); code != 0 {
		t.Errorf("ctl models rm: code %d: %s", code, out)
	}
	until(t, "the engine is gone", soon, func() (bool, any) { return len(n.engines()) == 0, n.engines() })
	p.end(syscall.SIGTERM)
	if out, code := p.ctl("models", "list"); code == 0 || !strings.Contains(out, strings.TrimPrefix(p.Admin, "http://")) {
		t.Errorf("without a server: code %d: %s", code, out)
	}
}

// TestOrderlyEnd: a control plane that is told to end lets a stream finish, and
// its row is on record afterwards.
func TestOrderlyEnd(t *testing.T) {
	t.Parallel()
	p := startServe(t)
	p.startNode("n1", "")
	p.add(simModel("m", scaling(1, 1), "--say", "word", "--output-tokens", "150", "--inter-token-latency", "20ms"))
	p.untilReady("m", 1)
	body := say("m", "hello")
	body.MaxTokens = 0
	st := p.client().mustStream(t, body)
	st.next()
	p.signal(syscall.SIGTERM)
	until(t, "no new request is taken", soon, func() (bool, any) {
		// A new connection: one that is kept could still be served.
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := c.Get(p.Client + "/v1/models")
		if err == nil {
			resp.Body.Close()
		}
		return err != nil, resp
	})
	if err := st.rest(); err != nil || strings.Count(st.text.String(), "word") != 150 {
		t.Errorf("the stream: %v after %d words", err, strings.Count(st.text.String(), "word"))
	}
	p.end(syscall.SIGTERM)
	p.start()
	if row := p.untilRow(st.resp.Header.Get("X-Request-Id")); row.Outcome != "ok" || row.CompletionTokens != 150 {
		t.Errorf("row: %+v", row)
	}
	p.untilReady("m", 1)
}
