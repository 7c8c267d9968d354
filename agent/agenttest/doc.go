// Package agenttest has nodes for tests: fakes of what an agent asks of its
// machine, an agent without TLS, a whole node that runs in memory, and a small
// real process to stand in for an engine.
//
// [Node] plays an agent towards a hub: it beats and polls, and makes shards
// ready as it is told, with no process, no port and no file, so that it works
// inside a testing/synctest bubble. [Direct] wires a real agent to a hub within
// one process. [Prober] and [Engine] are fakes with function fields whose zero
// value behaves well. [Toy] is an engine that is a real process.
//
// It is for tests only. A Node and the fakes may be used from many goroutines at
// once as long as nobody changes their fields.
//
// Start reading at node.go.
package agenttest
