//go:build unix

package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/internal/tinygguf"
)

// TestAdapter asks a real engine for an adapter by its name. llama-server answers
// as the model itself to a name that it does not know, so only the words of the
// answer tell whether the adapter ran.
func TestAdapter(t *testing.T) {
	t.Parallel()
	needLlamaServer(t)
	o := tinygguf.Options{}
	adapter := filepath.Join(t.TempDir(), "cherry.gguf")
	if err := tinygguf.WriteAdapter(adapter, o, tinygguf.Adapter{Say: []string{"cherry"}}); err != nil {
		t.Fatal(err)
	}
	p := startDev(t, t.TempDir())
	p.untilNode("here", "ready")
	p.add(catalog.Model{
		Name: "base", Source: "file://" + gguf(t, o),
		Adapters: []catalog.Adapter{{Name: "fruit", Source: "file://" + adapter}},
		Profiles: []catalog.Profile{{Name: "cpu", Engine: catalog.EngineLlamaCPP, Context: 512}},
	})
	p.untilReady("base", 1)
	for name, want := range map[string]bool{"fruit": true, "base": false} {
		r := p.client().chat(t, name)
		if r.status != http.StatusOK || strings.Contains(string(r.body), "cherry cherry") != want {
			t.Errorf("%s, whose adapter is to run: %t, answers %s", name, want, r)
		}
	}
}
