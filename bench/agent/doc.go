// Command agent prints the figures of nodes that the programs below it have kept,
// as one table beside their goals, and exits with 1 when one is missed.
// scripts/bench-agent.sh runs those programs and then this one.
//
// It measures nothing. Start reading at main.go.
package main
