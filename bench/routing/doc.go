// Command routing holds the router's choice of replicas against published rules, on a simulated fleet: it plays traces
// through a simulator of another program and prints a table of figure, goal, met or missed. It exits with 1 when one is
// missed.
//
//	routing SIMULATOR TRACES    the table; the output of BenchmarkDecision is its input
//	routing picker              the router's picker, in the simulator's protocol
//
// The picker is the router's very own: router.LeastDelay over what router/steer knows, told of nothing but what a router
// sees of its own traffic and how many tokens a replica's cache holds.
//
// scripts/bench-routing.sh builds both and calls it. Start reading at main.go.
package main
