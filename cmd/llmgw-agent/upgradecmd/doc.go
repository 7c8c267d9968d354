// Package upgradecmd wires agent/upgrade into the command run of llmgw-agent: where
// releases come from and who signs them by default, and which version is to run.
//
// It is not a library: main calls it. Start reading at upgrade.go.
package upgradecmd
