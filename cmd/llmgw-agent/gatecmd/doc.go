// Package gatecmd is the command gate of llmgw-agent: the small process that
// stands in front of an engine. Agents start it; people have no need to.
//
// It reads its arguments and hands them to agent/gate, where all the work is.
// Start reading at gate.go.
package gatecmd
