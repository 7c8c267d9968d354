// Package gate is what stands in front of an engine where routers are on other
// machines: a small server that ends their mutual TLS, lets through what asks for
// an answer and nothing that steers the engine, puts the engine's own key in
// place of whatever credentials came, counts what is in flight, and takes nothing
// new while it drains.
//
// It runs in a process of its own, llmgw-gate, beside the engine, so that
// neither the end nor the upgrade of the agent ends a request. It knows no model
// and no replica, keeps nothing on disk, and reads two files: its configuration,
// once, and the node's certificate for gates, again whenever that has changed.
//
// The agent starts it, and asks and tells it over a socket in its folder, which
// [Client] speaks. Routers reach it as router/upstream does. A [Gate] serves any
// number of requests at once; a Client may be used by many goroutines.
//
// Start reading at gate.go, then forward.go; allow.go is the list of what passes.
package gate
