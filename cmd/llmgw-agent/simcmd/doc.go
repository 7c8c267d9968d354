// Package simcmd is the command sim-engine of the agent: the simulated engine with
// the process's own signals and exit code. It is called by the agent's main and by
// nothing else.
//
// Start reading at simcmd.go.
package simcmd
