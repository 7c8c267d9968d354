// Command llmgw-agent is the agent of one node.
//
// It parses flags and a small file and wires defaults: everything it can do, a
// user of package agent can do. "join" makes a machine a node, "run" is what the
// service starts, "probe" shows what the machine is, "sim-engine" is the
// simulated engine.
//
// Nothing here may be called by others. Start reading at main.go, then run.go.
package main
