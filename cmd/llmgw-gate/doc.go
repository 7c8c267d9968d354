// Command llmgw-gate is what stands in front of an engine for routers on other
// machines: agent/gate, and nothing else. Agents start one for each replica;
// people have no need to.
//
// It is a program of its own because there are many of it: as a command of the
// agent's program, most of what it had in memory was code that it never runs.
//
// Nothing here may be called by others. Start reading at main.go.
package main
