package llmgw

import (
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
)

func TestParseFile(t *testing.T) {
	t.Parallel()
	f, err := ParseFile([]byte(`
cluster: {name: lab}
listen:
  client: {address: ":9000", trusted_proxies: [10.0.0.0/8]}
limits: {idle: 30s, cold_wait: 600000000000}
models:
  - name: org/tiny
    source: file:///srv/tiny.gguf
    scaling: {min: 0, max: 2, idle_timeout: 10m}
    profiles:
      - name: cpu
        engine: llamacpp
        min_memory_gb: 2
`))
	if err != nil {
		t.Fatal(err)
	}
	m := f.Models[0]
	if m.Name != "org/tiny" || !m.OnDemand() || m.IdleAfter() != 10*time.Minute || m.Profiles[0].MemoryGB != 2 {
		t.Errorf("the model reads as %+v", m)
	}
	if time.Duration(f.Limits.Idle) != 30*time.Second || f.Limits.ColdWait != catalog.Duration(10*time.Minute) {
		t.Errorf("limits read as %+v", f.Limits)
	}
	if f.Listen.Client.TrustedProxies[0].String() != "10.0.0.0/8" {
		t.Errorf("proxies read as %v", f.Listen.Client.TrustedProxies)
	}
	if _, err := ParseFile(nil); err != nil {
		t.Errorf("an empty file: %v", err)
	}
	if _, err := ParseFile([]byte("# nothing yet\n")); err != nil {
		t.Errorf("a file of comments: %v", err)
	}
}

// TestParseFileRefuses shows that a wrong file is refused whole, and that the
// message says where and what to write instead.
func TestParseFileRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, want string }{
		"an unknown key":                 {"cluster: {name: a}\nlisten: {clint: {}}", "clint"},
		"an unknown key of a model":      {"models:\n  - name: a\n    sauce: x", "sauce"},
		"a key that stands twice":        {"cluster: {name: a}\ncluster: {name: b}", "already defined"},
		"no YAML":                        {"models: [", "1"},
		"a wrong duration":               {"limits: {total: soon}", "10m"},
		"an address":                     {"listen: {client: {address: localhost}}", "listen.client.address"},
		"TLS of agents":                  {"listen: {agents: {tls: {cert: a, key: b}}}", "listen.agents.tls"},
		"half a certificate":             {"listen: {admin: {tls: {cert: a}}}", "listen.admin.tls"},
		"a level":                        {"log: {level: loud}", "log.level"},
		"proxies before admin":           {"listen: {admin: {trusted_proxies: [10.0.0.0/8]}}", "listen.admin.trusted_proxies"},
		"names of the client":            {"listen: {client: {names: [a.example]}}", "listen.client.names"},
		"pprof for all":                  {"debug: {pprof: \":6060\"}", "debug.pprof"},
		"a limit below zero":             {"limits: {queue: -1}", "limits.queue"},
		"moves above all":                {"limits: {moves: 101}", "limits.moves"},
		"moves below zero":               {"limits: {moves: -2}", "limits.moves"},
		"lost before unreachable":        {"limits: {node_unreachable: 60s, node_lost: 10s}", "limits.node_lost"},
		"a key with another hash":        {"keys: [{name: a, id: abcdefghij, hash: " + strings.Repeat("x", 64) + "}]", "keys[0]"},
		"an alias of a class for itself": {"class_aliases: {h100: h100}", "stands for itself"},
		"an alias of an alias":           {"class_aliases: {h100: hopper, hopper: H100-80}", `"h100": "hopper" is an alias too, of "H100-80"`},
		"aliases in a circle":            {"class_aliases: {a: b, b: a}", `"b": "a" is an alias too, of "b"`},
		"an alias of nothing":            {"class_aliases: {h100: ''}", "class_aliases"},
		"an alias that is no word":       {"class_aliases: {'big one': H100-80}", `class_aliases: "big one"`},
		"an alias that stands twice":     {"class_aliases: {h100: H100-80, h100: H100-94}", "already defined"},
		"a fabric without a match":       {"fabrics: [{name: ib0, match: mlx5}]", `fabrics[0]: match: "mlx5" is not key=value`},
		"a fabric called any":            {"fabrics: [{name: any, match: 'hca=*'}]", `fabrics[0]: "any" cannot be the name`},
		"a manager that is none":         {"fabrics: [{name: ib0, match: 'sm_guid=xyz'}]", "want 16 hexadecimal digits"},
		"a network that is none":         {"fabrics: [{name: a, match: 'hca=*'}, {name: b, match: 'network=10.1'}]", "fabrics[1]: match: network=10.1"},
		"a wildcard that is not closed":  {"fabrics: [{name: a, match: 'hca=[a'}]", "wildcards"},
		"an instance that is a card":     {"class_aliases: {3g.40gb: H100-80}", "class_aliases: \"3g.40gb\": an instance"},
		"a key without a hash":           {"keys: [{name: a, id: b, hash: c}]", "keys[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseFile([]byte(c.file))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want an error about %q, got %v", c.want, err)
			}
		})
	}
}

func TestParseFileComplainsOfAllAtOnce(t *testing.T) {
	t.Parallel()
	_, err := ParseFile([]byte("log: {level: loud, format: xml}\nlimits: {queue: -1, body: -1}"))
	for _, want := range []string{"log.level", "limits.queue", "limits.body"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not complained of in: %v", want, err)
		}
	}
}
