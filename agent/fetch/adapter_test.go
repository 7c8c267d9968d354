package fetch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// vLLM finds the two files of an adapter by their names in one folder, wherever
// they come from; llama.cpp keeps its one file.
func TestAdapters(t *testing.T) {
	t.Parallel()
	pair := map[string]string{"adapter_model.safetensors": tensors(9), "adapter_config.json": `{"peft_type":"LORA"}`}
	page := map[string]string{"adapter_model.safetensors": tensors(9), "adapter_config.json": "<html>"}
	both, alone := folderOf(t, pair), folderOf(t, map[string]string{"adapter_model.safetensors": tensors(9)})
	s := newShelf(t, map[string]string{"adapter_model.safetensors": tensors(9), "law.safetensors": tensors(9), "adapter_config.json": `{}`, "a.gguf": "x"})
	in := map[string]string{"README.md": "x"}
	for name, data := range pair {
		in[name], in["law/"+name] = data, data
	}
	h := newHub(t, in)
	f := hubFetcher(t, h)
	bare := newHub(t, map[string]string{"adapter_model.safetensors": tensors(9), "README.md": "x", "law/adapter_model.safetensors": tensors(9)})
	for _, tt := range []struct {
		name   string
		f      *Fetcher
		engine catalog.Engine
		source string
		says   string // empty: it is there
	}{
		{"folder", f, "vllm", "file://" + both, ""},
		{"weights", f, "vllm", "file://" + both + "/adapter_model.safetensors", ""},
		{"configuration", f, "vllm", "file://" + both + "/adapter_config.json", ""},
		{"weights alone", f, "vllm", "file://" + alone + "/adapter_model.safetensors", "no file " + alone + "/adapter_config.json"},
		{"folder with weights alone", f, "vllm", "file://" + alone, "no file adapter_config.json"},
		{"a page for its configuration", f, "vllm", "file://" + folderOf(t, page), "is no JSON object"},
		{"web folder", f, "vllm", s.URL + "/x", ""},
		{"web weights", f, "vllm", s.URL + "/adapter_model.safetensors#sha256=" + sum([]byte(tensors(9))), ""},
		{"web weights of another name", f, "vllm", s.URL + "/law.safetensors?v=1", ""},
		{"another hash", f, "vllm", s.URL + "/adapter_model.safetensors#sha256=" + strings.Repeat("ab", 32), "has the hash"},
		{"GGUF", f, "vllm", s.URL + "/a.gguf", "vLLM takes adapters as a folder"},
		{"by its hash", f, "vllm", "mirror://sha256:" + strings.Repeat("ab", 32), "needs adapter_config.json beside it"},
		{"pickle", f, "vllm", s.URL + "/adapter_model.bin", "is a pickle"},
		{"safetensors for llama.cpp", f, "llamacpp", s.URL + "/adapter_model.safetensors", "llama.cpp takes adapters as GGUF"},
		{"hub", f, "vllm", "hf://org/name", ""},
		{"hub folder", f, "vllm", "hf://org/name@main/law", ""},
		{"hub weights", f, "vllm", "hf://org/name@main/law/adapter_model.safetensors", ""},
		{"hub without", hubFetcher(t, bare), "vllm", "hf://org/name", "no file adapter_config.json"},
		{"hub folder without", hubFetcher(t, bare), "vllm", "hf://org/name@main/law", "no file law/adapter_config.json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var paths []string
			w, err := Adapter(protocol.DesiredFile{Name: "a", From: []string{tt.source}}, tt.engine)
			if err == nil {
				paths, err = tt.f.Get(t.Context(), w, func(inventory.Fetch, string) {})
			}
			if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("got %v, want %q", err, tt.says)
			}
			if err != nil {
				return
			}
			dir := filepath.Dir(paths[0])
			for name := range pair {
				if _, err := os.Stat(filepath.Join(dir, name)); err != nil || !slices.Contains(paths, filepath.Join(dir, name)) {
					t.Errorf("%s is not among %v: %v", name, paths, err)
				}
			}
		})
	}
}
