//go:build unix

package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"

	"llmgw.io/llmgw/adminapi/view"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/internal/tinygguf"
)

// needLlamaServer skips the test where there is no real engine.
func needLlamaServer(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("llama-server"); err != nil {
		t.Skip("there is no llama-server; set LLMGW_LLAMA_SERVER, or run make llama")
	}
}

// gguf writes a small model that really runs.
func gguf(t *testing.T, o tinygguf.Options) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := tinygguf.Write(path, o); err != nil {
		t.Fatal(err)
	}
	return path
}

// scaling is bounds in short.
func scaling(least, most int) *catalog.Scaling { return &catalog.Scaling{Min: least, Max: &most} }

// simModel is a model that the simulated engine plays, with its flags.
func simModel(name string, s *catalog.Scaling, args ...string) catalog.Model {
	return catalog.Model{
		Name: catalog.Name(name), Scaling: s,
		Profiles: []catalog.Profile{{Name: "sim", Engine: catalog.EngineSim, Args: args}},
	}
}

func (p *plane) add(m catalog.Model) {
	p.t.Helper()
	if _, err := p.admin.AddModel(p.t.Context(), m); err != nil {
		p.t.Fatal(err)
	}
}

func (p *plane) model(name string) (view.ModelView, bool) {
	p.t.Helper()
	list, err := p.admin.Models(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	for _, m := range list {
		if m.Name == name {
			return m, true
		}
	}
	return view.ModelView{}, false
}

// untilReady waits for so many ready replicas, and no others.
func (p *plane) untilReady(name string, n int) {
	p.t.Helper()
	until(p.t, name+" has exactly so many ready replicas: "+itoa(n), 3*soon, func() (bool, any) {
		m, _ := p.model(name)
		return m.ReadyReplicas == n && m.TotalReplicas == n, m
	})
}

func (p *plane) replicas(name string) []view.Replica {
	p.t.Helper()
	list, err := p.replicasNow(name)
	if err != nil {
		p.t.Fatal(err)
	}
	return list
}
