package engines

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// buildCPU is the build that every llama-server can act as.
const buildCPU = "cpu"

// llamaNames are llama-server's metrics. Its count of generated tokens moves only
// when a request has ended; its count of decodings moves all the time.
var llamaNames = names{
	running:  "llamacpp:requests_processing",
	waiting:  "llamacpp:requests_deferred",
	progress: []string{"llamacpp:n_decode_total"},
	found:    "llamacpp:prompt_tokens_cached_total",
	missed:   "llamacpp:prompt_tokens_total",
}

// LlamaCPP drives llama-server. [New] makes one.
type LlamaCPP struct {
	client  *client
	program program
	work    work
}

// Name is the engine's name in profiles.
func (l *LlamaCPP) Name() catalog.Engine { return catalog.EngineLlamaCPP }

// Installed lists llama-server once for each kind of device it found ("cuda",
// "vulkan"), and last as "cpu", which every build of it can act as. It is asked
// once a file; one that does not start counts as not installed.
func (l *LlamaCPP) Installed(ctx context.Context) []inventory.Engine {
	said, ok := l.program.ask(ctx, "--version", "--list-devices")
	if !ok {
		return nil
	}
	version := llamaVersion(said["--version"])
	var out []inventory.Engine
	for _, b := range append(llamaBackends(said["--list-devices"]), buildCPU) {
		out = append(out, inventory.Engine{Name: string(l.Name()), Build: b, Version: version})
	}
	return out
}

// Ready asks whether the engine at e is ours and generates. A token is asked for
// only where its own work does not show that: the slot that was used longest ago
// would lose the prompt that it keeps, which with one slot is the only one.
func (l *LlamaCPP) Ready(ctx context.Context, e protocol.Endpoint) error {
	if err := l.client.ours(ctx, e); err != nil {
		return err
	}
	if m, err := l.client.metrics(ctx, e); err == nil && l.work.shown(e.Address, m, llamaNames) {
		return nil
	}
	return l.client.generates(ctx, e)
}

// Use asks for the load. What requests take of the room for contexts is in no
// metric of llama-server; its slots say it.
func (l *LlamaCPP) Use(ctx context.Context, e protocol.Endpoint) (protocol.Use, error) {
	u, err := l.client.use(ctx, e, llamaNames)
	if err == nil {
		u.KVUse = l.client.slotsUse(ctx, e)
	}
	return u, err
}

// slotsUse is the share of all slots' contexts that those at work have filled.
// Nil: the engine does not say.
func (c *client) slotsUse(ctx context.Context, e protocol.Endpoint) *float64 {
	a, err := c.ask(ctx, e.Address, "/slots", e.Key, nil)
	if err != nil || a.status != http.StatusOK {
		return nil
	}
	var slots []struct {
		Context int  `json:"n_ctx"`
		Busy    bool `json:"is_processing"`
		// Tokens are in the slot's context, those that were generated among them.
		Tokens *int `json:"n_prompt_tokens"`
	}
	if json.Unmarshal(a.body, &slots) != nil {
		return nil
	}
	room, taken := 0, 0
	for _, s := range slots {
		room += s.Context
		switch {
		case !s.Busy:
		case s.Tokens == nil:
			return nil
		default:
			taken += *s.Tokens
		}
	}
	return share(float64(taken), float64(room))
}

// Generated is how often the engine has decoded, which is at least once a token.
func (l *LlamaCPP) Generated(ctx context.Context, e protocol.Endpoint) (int64, error) {
	return l.client.generated(ctx, e, llamaNames)
}

// Explain puts the end of a llama-server into words.
func (l *LlamaCPP) Explain(e protocol.Exit) protocol.Failure {
	return explain("llama-server", llamaRules, e)
}

var (
	llamaVersionLine = regexp.MustCompile(`(?m)^version: (.+)$`)
	llamaDeviceLine  = regexp.MustCompile(`(?m)^\s+([A-Za-z]+)\d+: `)
)

// llamaVersion is the engine's own word for its version.
func llamaVersion(out string) string {
	if m := llamaVersionLine.FindStringSubmatch(out); m != nil {
		return clip(m[1])
	}
	return ""
}

// llamaBackends are the kinds of devices in a listing.
func llamaBackends(out string) []string {
	var kinds []string
	for _, m := range llamaDeviceLine.FindAllStringSubmatch(out, -1) {
		kind := strings.ToLower(m[1])
		switch kind {
		case "cpu", "blas", "rpc":
			continue
		case "mtl":
			kind = "metal"
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
