// Package simcmd is the command "sim" of llmgw-control: it reads a scenario,
// lets placement/fleetsim run it, and prints the report.
//
// It is only files, flags and exit codes: what is simulated, and every law, is
// the library's. The main package next door calls it; it keeps no state and may
// be called by anybody. Start reading at simcmd.go.
package simcmd
