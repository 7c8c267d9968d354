// Command faults measures what the gateway harness does not: how soon an engine
// is told that a client left, on each route, before and after the first byte of
// the answer; and how much memory a long prompt takes. It starts the router as it
// is shipped before an engine of its own, and writes a JSON file that command
// gateway reads.
//
// All its traffic is on 127.0.0.1, and it ends the one process that it starts.
// Start reading at run.go, then trial.go.
package main
