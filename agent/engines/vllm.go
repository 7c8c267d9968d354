package engines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// vllmNames are vLLM's metrics. Its count of generated tokens stands still while
// a long prompt is read, in which the count of its steps moves.
var vllmNames = names{
	running:  "vllm:num_requests_running",
	waiting:  "vllm:num_requests_waiting",
	progress: []string{"vllm:generation_tokens_total", "vllm:iteration_tokens_total"},
	kv:       []string{"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"},
	looked:   "vllm:prefix_cache_queries_total",
	found:    "vllm:prefix_cache_hits_total",
}

// VLLM drives vLLM. [New] makes one.
//
// How it stops: the first TERM is for its first process alone, which ends the
// others; one to the whole group would kill the workers under the requests that
// are still answered. From 0.18 on it takes no new requests then and has
// --shutdown-timeout for the old ones; before, it cuts them at once. It lets
// nobody connect before it is ready, so a refused connection is a start that goes
// on, and it may end with code 0 though its engine died.
type VLLM struct {
	client   *client
	programs []*vllmProgram
	work     work
}

func newVLLM(c *client, paths []string, log *slog.Logger) *VLLM {
	v := &VLLM{client: c}
	if len(paths) == 0 {
		paths = []string{""}
	}
	for _, p := range paths {
		v.programs = append(v.programs, &vllmProgram{program: program{given: p, name: "vllm", log: log}})
	}
	return v
}

// Name is the engine's name in profiles.
func (v *VLLM) Name() catalog.Engine { return catalog.EngineVLLM }

// Installed lists each installation by its build. Of two with one build the first
// counts.
func (v *VLLM) Installed(ctx context.Context) []inventory.Engine {
	var out []inventory.Engine
	seen := map[string]bool{}
	for _, p := range v.programs {
		e, ok := p.installed(ctx)
		if !ok || seen[e.Build] {
			continue
		}
		seen[e.Build] = true
		out = append(out, e)
	}
	return out
}

// path is the program of a build. Empty: it is not installed.
func (v *VLLM) path(build string) string {
	for _, p := range v.programs {
		if path := p.of(build); path != "" {
			return path
		}
	}
	return ""
}

// Ready asks whether the engine at e is ours and generates. A token is asked for
// only where its own work does not show that.
func (v *VLLM) Ready(ctx context.Context, e protocol.Endpoint) error {
	if err := v.client.ours(ctx, e); err != nil {
		return err
	}
	if m, err := v.client.metrics(ctx, e); err == nil && v.work.shown(e.Address, m, vllmNames) {
		return nil
	}
	return v.client.generates(ctx, e)
}

// Use asks for the load.
func (v *VLLM) Use(ctx context.Context, e protocol.Endpoint) (protocol.Use, error) {
	return v.client.use(ctx, e, vllmNames)
}

// Generated is how many tokens and steps the engine has done, which moves with
// every token.
func (v *VLLM) Generated(ctx context.Context, e protocol.Endpoint) (int64, error) {
	return v.client.generated(ctx, e, vllmNames)
}

// Explain puts the end of a vLLM into words.
func (v *VLLM) Explain(e protocol.Exit) protocol.Failure {
	return explain("vLLM", vllmRules, e)
}

// Load loads an adapter while the engine runs.
func (v *VLLM) Load(ctx context.Context, e protocol.Endpoint, a protocol.NamedFile) error {
	there, err := v.client.serves(ctx, e, a.Name)
	if err != nil || there {
		return err
	}
	said, err := v.client.ask(ctx, e.Address, "/v1/load_lora_adapter", e.Key, map[string]string{"lora_name": a.Name, "lora_path": folderOf(a.Path)})
	switch {
	case err != nil:
		return err
	case said.status == http.StatusOK:
		return nil
	case said.status == http.StatusNotFound && !said.spoken():
		return fmt.Errorf("adapter %s: this replica was started without room for adapters; restart it, or give --max-loras in the profile's args so that the next ones have room from the start", clip(a.Name))
	}
	return fmt.Errorf("adapter %s cannot be loaded: vLLM answers %s; see the replica's log", clip(a.Name), said.fault())
}

// Unload takes an adapter out while the engine runs.
func (v *VLLM) Unload(ctx context.Context, e protocol.Endpoint, name string) error {
	there, err := v.client.serves(ctx, e, name)
	if err != nil || !there {
		return err
	}
	if name == e.Model {
		return errors.New("the model itself is no adapter, and is not taken out")
	}
	said, err := v.client.ask(ctx, e.Address, "/v1/unload_lora_adapter", e.Key, map[string]string{"lora_name": name})
	if err == nil && said.status != http.StatusOK {
		return fmt.Errorf("adapter %s cannot be taken out: vLLM answers %s; see the replica's log", clip(name), said.fault())
	}
	return err
}

// serves reports whether the engine lists a name.
func (c *client) serves(ctx context.Context, e protocol.Endpoint, name string) (bool, error) {
	a, err := c.ask(ctx, e.Address, "/v1/models", e.Key, nil)
	if err != nil {
		return false, err
	}
	if a.status != http.StatusOK {
		return false, notYet("/v1/models", a)
	}
	list, err := modelsOf(a.body)
	if err != nil {
		return false, err
	}
	return slices.Contains(list, name), nil
}

// modelsOf are the names in a list of models.
func modelsOf(body []byte) ([]string, error) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("engines: read /v1/models: %w", err)
	}
	var out []string
	for _, m := range list.Data {
		out = append(out, m.ID)
	}
	return out, nil
}
