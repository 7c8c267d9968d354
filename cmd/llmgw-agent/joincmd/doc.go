// Package joincmd is the command join of llmgw-agent: flags, the token's ways in,
// and exit codes around agent/uplink, which does the joining.
//
// It is not a library: main calls it. Start reading at join.go.
package joincmd
