//go:build e2e && unix

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/internal/tinygguf"
)

// TestSDKs has the public clients of others do what programs do with them,
// against a real engine. What each was told it cost is what is on record.
func TestSDKs(t *testing.T) {
	t.Parallel()
	needLlamaServer(t)
	p := startDev(t, t.TempDir())
	p.untilNode("here", "ready")
	broken, slow := httptest.NewServer(http.HandlerFunc(breakOff)), httptest.NewServer(http.HandlerFunc(takeLong))
	t.Cleanup(broken.Close)
	t.Cleanup(slow.Close)
	model := func(name string, o tinygguf.Options, args ...string) {
		p.add(catalog.Model{Name: catalog.Name(name), Source: "file://" + gguf(t, o), Profiles: []catalog.Profile{
			{Name: "cpu", Engine: catalog.EngineLlamaCPP, Context: 8192, Slots: 4, Args: args},
		}})
	}
	model("tiny", tinygguf.Options{End: -30, Context: 1 << 14})
	model("tools", tinygguf.Options{Tools: true})
	model("vectors", tinygguf.Options{Pooling: "mean"}, "--embeddings")
	for name, url := range map[catalog.Name]string{"broken": broken.URL, "slow": slow.URL} {
		p.add(catalog.Model{Name: name, Profiles: []catalog.Profile{
			{Name: "theirs", Engine: catalog.EngineStatic, Endpoints: []catalog.Endpoint{{URL: url}}},
		}})
	}
	for _, name := range []string{"tiny", "tools", "vectors"} {
		p.untilReady(name, 1)
	}
	t.Run("Go", func(t *testing.T) {
		tour := filepath.Join(t.TempDir(), "tour")
		build := exec.Command("go", "build", "-o", tour, "./tour")
		build.Dir = "../../examples/clients"
		if out, err := build.CombinedOutput(); err != nil {
			t.Skipf("the OpenAI SDK for Go cannot be built here: %v\n%s", err, tail(string(out), 5))
		}
		p.checkProgram(t, exec.Command(tour))
	})
	t.Run("Node", func(t *testing.T) {
		dir := nodeClients(t)
		for _, program := range []string{"openai.mjs", "aisdk.mjs"} {
			t.Run(program, func(t *testing.T) { p.checkProgram(t, exec.Command("node", filepath.Join(dir, program))) })
		}
	})
}

// breakOff is an engine that is cut off in the middle of its answer.
func breakOff(w http.ResponseWriter, req *http.Request) {
	if begins(w, req, "half", "null") {
		panic(http.ErrAbortHandler)
	}
}

// takeLong is an engine whose header comes when its first token does, after the
// client has heard a comment.
func takeLong(w http.ResponseWriter, req *http.Request) {
	if req.URL.Path == "/v1/chat/completions" {
		select {
		case <-req.Context().Done():
			return
		case <-time.After(17 * time.Second):
		}
	}
	if begins(w, req, "at last", `"stop"`) {
		_, _ = w.Write([]byte("data: [DONE]\n\n"))
	}
}

// begins answers with a stream's first event, and other requests than for a chat
// with what probes like.
func begins(w http.ResponseWriter, req *http.Request, text, finish string) bool {
	if req.URL.Path != "/v1/chat/completions" {
		_, _ = w.Write([]byte(`{"status":"ok"}`))
		return false
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":%q},"finish_reason":%s}]}`+"\n\n", text, finish)
	w.(http.Flusher).Flush()
	return true
}

// nodeClients gives a folder with the programs for Node beside what they import.
func nodeClients(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	get := exec.Command("../../scripts/get-node-clients.sh", filepath.Join(cache, "llmgw"))
	get.Stdout, get.Stderr = &out, &said
	if err := get.Run(); err != nil {
		t.Skipf("the clients for Node are not to be had here: %v\n%s", err, tail(said.String(), 5))
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(strings.TrimSpace(out.String()), "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	programs, err := fs.Glob(os.DirFS("clients"), "*.mjs")
	if err != nil || len(programs) == 0 {
		t.Fatalf("programs %v: %v", programs, err)
	}
	for _, name := range programs {
		text, err := os.ReadFile(filepath.Join("clients", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// checkProgram runs a program, and holds what it says it saw against the record.
func (p *plane) checkProgram(t *testing.T, program *exec.Cmd) {
	t.Helper()
	program.Env = append(os.Environ(), "OPENAI_BASE_URL="+p.Client+"/v1", "OPENAI_API_KEY="+p.key)
	var out, said bytes.Buffer
	program.Stdout, program.Stderr = &out, &said
	if err := program.Run(); err != nil {
		t.Fatalf("%v, after\n%s%s", err, out.String(), said.String())
	}
	checks := 0
	for d := json.NewDecoder(&out); d.More(); checks++ {
		var saw struct {
			Check, Request     string
			Prompt, Completion int64
			Cancelled          bool
		}
		if err := d.Decode(&saw); err != nil {
			t.Fatal(err)
		}
		if saw.Request == "" {
			continue
		}
		row := p.untilRow(saw.Request)
		if saw.Prompt != 0 && row.PromptTokens != saw.Prompt || saw.Completion != 0 && row.CompletionTokens != saw.Completion {
			t.Errorf("%s: the client was told %d+%d tokens, on record are %d+%d", saw.Check, saw.Prompt, saw.Completion, row.PromptTokens, row.CompletionTokens)
		}
		if want := map[bool]string{true: "cancelled", false: "ok"}[saw.Cancelled]; row.Outcome != want {
			t.Errorf("%s: on record is %+v", saw.Check, row)
		}
	}
	if checks < 10 {
		t.Errorf("there were %d checks", checks)
	}
}
