// Command bare is the router as a library with its features off: no records, no
// metrics, no traces, a key that is declared, replicas that are given. What it
// costs less than the router as shipped is what the features cost.
//
// It is a target of the gateway harness and nothing else. Start reading at
// run.go.
package main
