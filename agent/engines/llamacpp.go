package engines

import (
	"context"
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
	progress: "llamacpp:n_decode_total",
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

// Use asks for requests running and waiting.
func (l *LlamaCPP) Use(ctx context.Context, e protocol.Endpoint) (running, waiting int, err error) {
	return l.client.use(ctx, e, llamaNames)
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
