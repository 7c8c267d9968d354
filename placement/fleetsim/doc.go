// Package fleetsim runs a described fleet, a catalog and a trace of events in
// virtual time, through the code that decides for real fleets: the reconciler
// with its memory, the live inventory with times as arguments, and Verify where
// a decision was overtaken.
//
// What is around that code is modelled: agents with their engines, a network
// that delays, loses and repeats, a store with a fence, routers. Everything that
// happens is held against the laws of laws.go, by what the modelled machines
// really do and not only by what the control plane believes. It opens no file
// and no socket, and knows no real engine; the same scenario and seed give the
// same report, to the byte.
//
// The command llmgw-control sim calls it, and tests do. A [Scenario] is read
// only once it is parsed, so that many runs may share one; a run is one call of
// [Run] from one goroutine.
//
// Start reading at scenario.go, which has the form of the text, then sim.go.
// agent.go, control.go and router.go are the parts that speak to each other.
package fleetsim
