package simengine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"llmgw.io/llmgw/router/openai"
)

// fingerprint is the system_fingerprint of every answer, and owner the owner of every model.
const (
	fingerprint = "simulated"
	owner       = "simulated"
)

// health says 200 once the engine has loaded, and goes on saying so while it hangs, as engines do.
func (e *Engine) health(w http.ResponseWriter) {
	e.mu.Lock()
	leaving := e.stops > 0 && e.Temper().Shutdown != ShutdownHang
	e.mu.Unlock()
	switch {
	case leaving:
		stopping.write(w)
	case !e.loaded():
		loading.write(w)
	default:
		writeJSON(w, http.StatusOK, []byte(`{"status":"ok"}`))
	}
}

// modelMeta is what llama-server tells of a model.
type modelMeta struct {
	ContextSize int  `json:"n_ctx"`
	Simulated   bool `json:"simulated"`
}

// modelEntry is a model as engines list it.
type modelEntry struct {
	openai.Model
	MaxModelLen int       `json:"max_model_len"`
	Meta        modelMeta `json:"meta"`
}

func (e *Engine) models(w http.ResponseWriter, _ *http.Request) {
	t := e.Temper()
	list := struct {
		Object string       `json:"object"`
		Data   []modelEntry `json:"data"`
	}{Object: "list"}
	add := func(name, root, parent string) {
		m := openai.Model{ID: name, Object: "model", Created: e.readyAt.Unix(), OwnedBy: owner, Root: root, Parent: parent}
		list.Data = append(list.Data, modelEntry{Model: m, MaxModelLen: t.MaxModelLen, Meta: modelMeta{ContextSize: t.MaxModelLen, Simulated: true}})
	}
	for _, name := range e.cfg.Models {
		add(name, e.cfg.Root, "")
	}
	for _, name := range e.adapterNames() {
		add(name, name, e.cfg.Models[0])
	}
	answer(w, list)
}

func (e *Engine) adapterNames() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.adapters)
}

func (e *Engine) version(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]string{"version": cmp.Or(e.cfg.Version, "simulated")})
}

// tokenize takes vLLM's "prompt" or "messages", or llama-server's "content".
func (e *Engine) tokenize(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Prompt   string    `json:"prompt"`
		Content  string    `json:"content"`
		Messages []message `json:"messages"`
	}
	if !decode(w, r, &in) {
		return
	}
	tokens := split(in.Prompt + in.Content)
	if len(in.Messages) > 0 {
		tokens = chatPrompt(in.Messages)
	}
	ids := make([]int, len(tokens))
	for i, t := range tokens {
		ids[i] = tokenID(t)
	}
	answer(w, map[string]any{"count": len(ids), "max_model_len": e.Temper().MaxModelLen, "tokens": ids})
}

func (e *Engine) loadAdapter(w http.ResponseWriter, r *http.Request) {
	name, path, ok := adapterName(w, r)
	if !ok {
		return
	}
	if e.cfg.AsVLLM && lacksConfig(path) {
		badRequest("Loading lora %s failed: No adapter found for %s", name, path).write(w)
		return
	}
	e.mu.Lock()
	known := slices.Contains(e.adapters, name) || slices.Contains(e.cfg.Models, name)
	if !known {
		e.adapters = append(e.adapters, name)
	}
	e.mu.Unlock()
	if known {
		badRequest("The lora adapter '%s' has already been loaded.", name).write(w)
		return
	}
	fmt.Fprintf(w, "Success: LoRA adapter '%s' added successfully.", name)
}

func (e *Engine) unloadAdapter(w http.ResponseWriter, r *http.Request) {
	name, _, ok := adapterName(w, r)
	if !ok {
		return
	}
	e.mu.Lock()
	i := slices.Index(e.adapters, name)
	if i >= 0 {
		e.adapters = slices.Delete(e.adapters, i, i+1)
	}
	e.mu.Unlock()
	if i < 0 {
		noModel(name).write(w)
		return
	}
	fmt.Fprintf(w, "Success: LoRA adapter '%s' removed successfully.", name)
}

// lacksConfig reports whether a folder that is there holds no adapter.
func lacksConfig(dir string) bool {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return false // tests name what is not there
	}
	for _, name := range [...]string{"adapter_config.json", "adapter_model.safetensors"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return true
		}
	}
	return false
}

func adapterName(w http.ResponseWriter, r *http.Request) (name, path string, ok bool) {
	var in struct {
		Name string `json:"lora_name"`
		Path string `json:"lora_path"`
	}
	if !decode(w, r, &in) {
		return "", "", false
	}
	if strings.TrimSpace(in.Name) == "" {
		badRequest("Both 'lora_name' and 'lora_path' must be provided.").write(w)
		return "", "", false
	}
	return in.Name, in.Path, true
}

func (e *Engine) showTemper(w http.ResponseWriter, _ *http.Request) { answer(w, e.Temper()) }

// changeTemper takes the fields that are to change and leaves the others.
func (e *Engine) changeTemper(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	t := e.Temper()
	t.Failures = slices.Clone(t.Failures)
	if err == nil {
		if err = decodeTemper(b, &t); err == nil {
			err = e.SetTemper(t)
		}
	}
	if err != nil {
		badRequest("%s", err).write(w)
		return
	}
	answer(w, e.Temper())
}

func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 32<<20)).Decode(into); err != nil {
		badRequest("The body is no JSON object as expected: %s", err).write(w)
		return false
	}
	return true
}

func answer(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil { // our own types always encode
		panic(err)
	}
	writeJSON(w, http.StatusOK, b)
}
