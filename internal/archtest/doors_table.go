package archtest

// doors says where each third party comes in, so that each can be replaced or
// left out. What stands in no row comes in nowhere. The longest path that fits
// an import decides.
func doors() []door {
	return []door{
		// Decoding and scanning.
		{module: "github.com/goccy/go-yaml", at: []string{"config*.go", "adminapi/ctl", "cmd/llmgw-agent"}},
		{module: "github.com/prometheus/common", at: []string{"agent/engines", "router"}},

		// Databases.
		{module: "github.com/jackc/pgx/v5", at: []string{"storage/bunstore"}},
		{module: "modernc.org/sqlite", at: []string{"storage/bunstore"}},
		{module: "github.com/uptrace/bun", at: []string{"storage/bunstore"}},

		// The host.
		{module: "github.com/klauspost/cpuid/v2", at: []string{"agent/discovery"}},
		{module: "golang.org/x/sys", at: []string{"agent/discovery", "agent/fetch", "agent/process"}},
		{module: "golang.org/x/sys", at: []string{"agent/discovery", "agent/fetch"}},
		{module: "github.com/NVIDIA/go-nvml", at: []string{"agent/discovery/gpu"}},

		// HTTP, rates and telemetry.
		{module: "github.com/go-chi/chi/v5", at: []string{"adminapi", "router", "agent/hub", "examples/..."}},
		{module: "golang.org/x/time", at: []string{"router", "adminapi/auth", "agent/hub"}},
		{module: "go.opentelemetry.io/otel", at: []string{root, "router", "placement/control", "agent", "internal/telemetry"}},
		{module: "go.opentelemetry.io/otel/sdk", at: []string{"internal/telemetry"}, tests: true},
		{module: "go.opentelemetry.io/otel/exporters", at: []string{"internal/telemetry"}},
		{module: "github.com/prometheus/client_golang", at: []string{"internal/telemetry"}},

		// The terminal.
		{module: "github.com/urfave/cli/v3", at: []string{"cmd/...", "adminapi/ctl"}},
		{module: "github.com/jedib0t/go-pretty/v6", at: []string{"cmd/...", "adminapi/ctl"}},
		{module: "github.com/schollz/progressbar/v3", at: []string{"cmd/...", "adminapi/ctl"}},
		{module: "github.com/mattn/go-isatty", at: []string{"cmd/...", "adminapi/ctl"}},
		{module: "github.com/dustin/go-humanize", at: []string{"cmd/...", "adminapi/ctl"}},
		{module: "golang.org/x/term", at: []string{"cmd/...", "adminapi/ctl"}},

		// Releases. The hash is for tests, which sign by themselves.
		{module: "github.com/jedisct1/go-minisign", at: []string{"internal/release"}},
		{module: "golang.org/x/crypto", tests: true},

		// Tests and their helpers, anywhere.
		{module: "github.com/cockroachdb/datadriven", tests: true},
		{module: "github.com/google/go-cmp", tests: true},
		{module: "pgregory.net/rapid", tests: true},
		{module: "go.uber.org/goleak", tests: true},
	}
}
