// Package gatecmd is the command gate of llmgw-agent: the small process that
// stands in front of an engine. Agents start it; people have no need to. Where
// llmgw-gate lies beside the agent's program, that is started instead.
//
// It reads its arguments and hands them to agent/gate, where all the work is.
// Start reading at gate.go.
package gatecmd
