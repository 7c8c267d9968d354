package archtest

import "slices"

// walls is the allow-list of imports of ours. Arrows go down only: nouns at the
// bottom, decisions above them, machines above those, wiring on the roof. It is
// a ceiling, not a wish: code may need fewer. A row whose package is gone, and
// an arrow to a package that is gone, are findings, so the table never says
// more than the tree.
//
// To add an arrow, first look whether the code stands in the wrong room; if it
// does not, write a record in docs/adr and add the arrow with it.
func walls() []wall {
	return slices.Concat(decisionWalls(), machineWalls(), roofWalls(), cellarWalls())
}

// decisionWalls are the nouns, what decides over them, and what keeps them.
func decisionWalls() []wall {
	return []wall{
		// What we have, and what to serve.
		{room: "inventory"},
		{room: "inventory/fabrics", may: []string{"inventory", "inventory/topology"}},
		{room: "inventory/facility", may: []string{"inventory"}},
		{room: "inventory/topology"},
		{room: "inventory/inventorytest", may: []string{"inventory"}},
		{room: "inventory/nvlink", may: []string{"inventory"}},
		{room: "catalog", may: []string{"inventory"}},

		// Where, and what next.
		{room: "placement", may: []string{"catalog", "inventory"}},
		{room: "placement/fix", may: []string{"placement", "catalog", "inventory"}},
		{room: "placement/reconciler", may: []string{"placement", "placement/fix", "catalog", "inventory"}},
		{room: "placement/dryrun", may: []string{"placement", "placement/reconciler", "catalog", "inventory"}},
		{room: "placement/fleetsim", may: []string{"placement", "placement/reconciler", "catalog", "inventory", "inventory/facility", "inventory/inventorytest"}},
		{room: "placement/replay", may: []string{"placement", "placement/reconciler", "catalog", "inventory"}},
		{room: "placement/control", may: []string{"placement", "placement/dryrun", "placement/reconciler", "placement/replay", "catalog", "inventory", "storage"}},

		// What is kept.
		{room: "storage", may: []string{"catalog", "inventory"}},
		{room: "storage/memstore", may: []string{"storage", "catalog", "inventory"}},
		{room: "storage/bunstore", may: []string{"storage", "catalog", "inventory"}},
		{room: "storage/journalfile", may: []string{"storage", "internal/durable"}},
		{room: "storage/storagetest", may: []string{"storage/...", "catalog", "inventory"}},
	}
}

// machineWalls are what serves requests, nodes and people.
func machineWalls() []wall {
	return []wall{
		// Requests.
		{room: "router/openai"},
		{room: "router/outlier"},
		{room: "router/steer"},
		{room: "router/upstream", may: []string{"internal/socket"}},
		{room: "router/upstream/upstreamtest", may: []string{"router/upstream"}},
		{room: "router", may: []string{"internal/durable", "router/openai", "router/outlier", "router/steer", "router/upstream", "catalog", "storage"}},
		{room: "router/routertest", may: []string{"router/...", "catalog", "storage"}},

		// Nodes.
		{room: "agent/protocol", may: []string{"catalog", "inventory"}},
		{room: "agent/discovery", may: []string{"agent/discovery/gpu", "agent/discovery/pcipath", "agent/discovery/ports", "inventory", "internal/gguf", "internal/safetensors"}},
		{room: "agent/discovery/gpu", may: []string{"inventory"}},
		{room: "agent/discovery/page", freeTests: true, may: []string{"inventory"}},
		{room: "agent/discovery/pcipath"},
		{room: "agent/discovery/ports", may: []string{"agent/protocol", "inventory"}},
		{room: "agent/engines", may: []string{"agent/protocol", "catalog", "inventory", "internal/safedial", "internal/textbusy"}},
		{room: "agent/engines/simengine", may: []string{"router/openai"}},
		{room: "agent/hub", may: []string{"agent/protocol", "catalog", "inventory", "placement/reconciler", "internal/pki"}},
		{room: "agent/gate", may: []string{"internal/pki", "internal/socket", "router/upstream"}},
		{room: "agent/fabrictest", may: []string{"agent/protocol", "inventory"}},
		{room: "agent/provision", may: []string{"agent/fetch", "agent/protocol", "inventory", "internal/durable", "internal/textbusy"}},
		{room: "agent/upgrade", may: []string{"agent/fetch", "inventory", "internal/durable", "internal/release", "internal/safedial", "internal/textbusy"}},
		{room: "agent/fetch", may: []string{"agent/protocol", "catalog", "inventory", "internal/durable", "internal/gguf", "internal/safedial", "internal/safetensors"}},
		{room: "agent/inspect", may: []string{"agent/fetch", "agent/protocol", "catalog"}},
		{room: "agent/process", may: []string{"agent/protocol", "internal/textbusy"}},
		{room: "agent/logs", may: []string{"internal/durable"}},
		{room: "agent/survey", may: []string{"agent/protocol", "inventory", "inventory/fabrics", "inventory/topology"}},
		{room: "agent/uplink", may: []string{"agent/protocol", "inventory", "internal/durable", "internal/pki"}},
		{room: "agent", may: []string{"agent/protocol", "agent/fabrictest", "agent/fetch", "agent/gate", "agent/logs", "agent/process", "agent/upgrade", "catalog", "inventory", "internal/durable"}},
		{room: "agent/agenttest", may: []string{"agent/...", "catalog", "inventory", "internal/pki"}},

		// People.
		{room: "adminapi/view", may: []string{"catalog", "inventory", "inventory/facility", "inventory/fabrics", "inventory/nvlink", "inventory/topology", "placement", "placement/dryrun", "placement/reconciler", "storage"}},
		{room: "adminapi/adminclient", may: []string{"adminapi/view"}},
		{room: "adminapi/auth", may: []string{"adminapi/view", "storage"}},
		{room: "adminapi/ctl", may: []string{"adminapi/adminclient", "adminapi/view", "catalog"}},
		{room: "adminapi", may: []string{
			"adminapi/view", "adminapi/auth", "catalog", "inventory", "inventory/fabrics", "inventory/topology", "internal/release", "placement", "placement/dryrun", "placement/reconciler", "storage",
		}},
	}
}

// roofWalls are what wires and what is run.
func roofWalls() []wall {
	return []wall{
		// The roof: everything but the agent itself, the SQL store and the commands.
		{room: root, freeTests: true, may: []string{
			"catalog", "inventory", "placement/...", "storage", "storage/journalfile", "storage/memstore", "router", "router/openai",
			"agent/fabrictest", "agent/fetch", "agent/hub", "agent/inspect", "agent/protocol", "agent/survey", "inventory/fabrics", "adminapi", "adminapi/view", "adminapi/auth", "adminapi/adminclient",
			"internal/durable", "internal/pki", "internal/safedial", "internal/socket",
		}},
		{room: "cmd/llmgw-control", freeTests: true, may: []string{
			root, "storage/bunstore", "adminapi/adminclient", "adminapi/ctl", "cmd/llmgw-control/simcmd", "internal/heap", "internal/telemetry",
		}},
		{room: "cmd/llmgw-control/simcmd", freeTests: true, may: []string{
			root, "placement/fleetsim", "placement/replay", "storage", "storage/journalfile",
		}},
		{room: "cmd/llmgw-agent", freeTests: true, may: []string{
			"agent", "agent/discovery", "agent/discovery/gpu", "agent/discovery/ports", "agent/engines", "agent/fetch", "agent/logs",
			"agent/provision", "agent/uplink",
			"cmd/llmgw-agent/...",
		}},
		{room: "cmd/llmgw-agent/gatecmd", freeTests: true, may: []string{"agent/gate"}},
		{room: "cmd/llmgw-gate", freeTests: true, may: []string{"agent/gate"}},
		{room: "cmd/llmgw-agent/gpucmd", freeTests: true, may: []string{"agent/discovery", "agent/discovery/gpu", "agent/process"}},
		{room: "cmd/llmgw-agent/joincmd", freeTests: true, may: []string{"agent/uplink"}},
		{room: "cmd/llmgw-agent/probecmd", freeTests: true, may: []string{"agent/discovery/page", "inventory"}},
		{room: "cmd/llmgw-agent/upgradecmd", freeTests: true, may: []string{"agent", "agent/fetch", "agent/upgrade"}},
		{room: "cmd/llmgw-agent/simcmd", freeTests: true, may: []string{"agent/engines/simengine"}},
		{room: "examples/...", freeTests: true, may: []string{"..."}, never: []string{"internal/...", "cmd/..."}},
	}
}

// cellarWalls are leaves, and what makes and measures.
func cellarWalls() []wall {
	return []wall{
		// The cellar: leaves.
		{room: "internal/archtest"},
		{room: "internal/durable"},
		{room: "internal/gguf"},
		{room: "internal/heap"},
		{room: "internal/pki"},
		{room: "internal/release"},
		{room: "internal/release/releasetest"},
		{room: "internal/safedial"},
		{room: "internal/safetensors"},
		{room: "internal/socket"},
		{room: "internal/telemetry"},
		{room: "internal/textbusy"},
		{room: "internal/tinygguf"},
		{room: "scripts/tinygguf", may: []string{"internal/tinygguf"}},
		{room: "bench/agent", may: []string{"bench/agent/figure"}},
		{room: "bench/agent/figure"},
		{room: "bench/agent/gate", may: []string{"agent/gate", "bench/agent/figure", "internal/pki"}},
		{room: "bench/agent/hub", may: []string{
			"agent/hub", "agent/protocol", "bench/agent/figure", "catalog", "internal/heap", "internal/pki", "inventory", "placement/reconciler", "storage", "storage/memstore",
		}},
		{room: "bench/agent/node", may: []string{
			"adminapi/adminclient", "adminapi/view", "agent/protocol", "bench/agent/figure", "catalog", "internal/pki", "storage/bunstore",
		}},
		{room: "bench/gateway"},
		{room: "bench/gateway/bare", may: []string{"router", "catalog", "storage", "internal/socket"}},
		{room: "bench/gateway/faults", may: []string{"router", "router/routertest", "catalog", "storage"}},
		{room: "bench/placement", may: []string{"placement", "placement/fix", "placement/reconciler", "catalog", "inventory", "inventory/inventorytest"}},
		{room: "bench/routing", may: []string{"router", "router/steer"}},

		// What writes docs/defaults.md: it reads the source, and imports none of it.
		{room: "scripts/defaults"},
	}
}

// testHelpers are the rooms that any test may import, beside its own house:
// fakes, conformance suites, and makers of fleets and models.
func testHelpers() []string {
	return []string{
		"inventory/inventorytest", "storage/storagetest", "storage/memstore", "agent/agenttest",
		"agent/engines/simengine", "router/routertest", "internal/release/releasetest", "internal/tinygguf",
	}
}
