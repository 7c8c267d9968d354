// Command gateway reads the results of a run of the gateway harness, and of
// command faults, and prints what a request through the router costs beside its
// goals: a table of figure, goal, met or missed. It exits with 1 when one is
// missed; one that was not measured is.
//
// It measures nothing itself: scripts/bench-gateway.sh runs the harness with the
// targets beside this program. Start reading at goals.go.
package main
