//go:build linux

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/agent/provision"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/internal/tinygguf"
)

// llamaPlayed stands in for a llama-server: it takes its flags and its key, and the
// simulated engine answers with the version as its only word. %[1]s is that, %[2]s the
// agent's program, %[3]d what it exits with when it is asked for its version.
const llamaPlayed = `#!/bin/sh
case "$1" in
--version) echo "version: %[1]s"; exit %[3]d ;;
--list-devices) echo "Available devices:"; exit 0 ;;
esac
while [ $# -gt 0 ]; do
	case "$1" in
	--host) host=$2 ;;
	--port) port=$2 ;;
	--alias) name=$2 ;;
	esac
	shift
done
export SIM_API_KEY="$LLAMA_API_KEY"
exec %[2]s sim-engine --model "$name" --served-model-name "$name" --host "$host" --port "$port" --say %[1]s
`

// mirror serves one release of llama.cpp below a manifest.
type mirror struct {
	*httptest.Server
	dir string
}

// publish puts a release there and answers the manifest's pin.
func (m *mirror) publish(t *testing.T, version string, exit int) (pin string) {
	t.Helper()
	script := fmt.Sprintf(llamaPlayed, version, agentBin, exit)
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: "llama-server", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(script))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(script)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	name := "llama-" + version + ".tar.gz"
	manifest, err := json.Marshal(provision.Manifest{Releases: []provision.Release{{
		Engine: "llamacpp", Version: version, Build: "cpu", OS: runtime.GOOS, Arch: runtime.GOARCH, Kind: provision.KindArchive, Program: "llama-server",
		Files: []provision.File{{Path: name, SHA256: sum(archive.Bytes()), Bytes: int64(archive.Len())}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for file, b := range map[string][]byte{name: archive.Bytes(), "manifest.json": manifest} {
		if err := os.WriteFile(filepath.Join(m.dir, file), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return sum(manifest)
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// configured is an agent's configuration with the mirror and a pin of its manifest,
// and without any llama-server of the machine.
func (m *mirror) configured(pin string) string {
	at := strings.TrimPrefix(m.URL, "http://")
	return fmt.Sprintf("engines: {llama_server: /nowhere/llama-server, mirror: %q, manifest_sha256: %s}\nreach: {private: [%q], plain_http: true}\n", m.URL, pin, at)
}

// TestProvision brings an engine to a node that has none, by the order of a person:
// it is fetched from the mirror, proved, placed on and served by. A broken one that is
// pinned later is shown as such, and what was there serves on.
func TestProvision(t *testing.T) {
	t.Parallel()
	m := &mirror{dir: t.TempDir()}
	m.Server = httptest.NewServer(http.FileServer(http.Dir(m.dir)))
	t.Cleanup(m.Close)
	p := startServe(t)
	n := p.startNode("n1", m.configured(m.publish(t, "b1", 0)))
	p.add(catalog.Model{
		Name: "m", Source: "file://" + gguf(t, tinygguf.Options{}), Scaling: scaling(1, 1),
		Profiles: []catalog.Profile{{Name: "cpu", Engine: catalog.EngineLlamaCPP, Build: "cpu"}},
	})
	until(t, "the model waits for its engine", soon, func() (bool, any) {
		ex, err := p.admin.Explain(t.Context(), "m")
		return err == nil && !ex.Placed && len(ex.Rejections) > 0, ex
	})
	for engine, build := range map[string]string{"llamacpp": "cu999", "sglang": "cpu"} {
		if _, err := p.admin.SetBuild(t.Context(), "n1", view.NodeEngineRequest{Engine: engine, Build: build}); err == nil {
			t.Errorf("build %s of %s was taken", build, engine)
		}
	}
	if _, err := p.admin.SetBuild(t.Context(), "n1", view.NodeEngineRequest{Engine: "llamacpp", Build: "cpu"}); err != nil {
		t.Fatal(err)
	}
	p.untilReady("m", 1)
	p.answersWith("m", "b1")

	// The configuration pins another manifest, whose build does not run.
	config := n.args[slices.Index(n.args, "--config")+1]
	before, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(before), "plain_http: true}\n") // its ports
	n.end(syscall.SIGTERM)
	if err := os.WriteFile(config, []byte(m.configured(m.publish(t, "b2", 3))+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	n.start()
	until(t, "the broken build is shown", soon, func() (bool, any) {
		node, err := p.admin.Node(t.Context(), "n1")
		return err == nil && slices.ContainsFunc(node.Provision, func(e view.EngineInstall) bool {
			return e.Engine == "llamacpp" && e.State == "failed" && strings.Contains(e.Error, "does not run")
		}), node.Provision
	})
	if _, err := p.admin.ScaleModel(t.Context(), "m", view.ScaleRequest{Min: 2}); err != nil {
		t.Fatal(err)
	}
	p.untilReady("m", 2)
	p.answersWith("m", "b1")
}

// answersWith wants each answer of a model to be made of a word.
func (p *plane) answersWith(model, word string) {
	p.t.Helper()
	for range 4 { // replicas take turns
		if r := p.client().chat(p.t, model); r.status != http.StatusOK || !strings.Contains(string(r.body), word+" "+word) {
			p.t.Errorf("want answers of %q, got %s", word, r)
		}
	}
}
