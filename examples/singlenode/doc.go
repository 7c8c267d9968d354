// Command singlenode is a control plane, a router and an agent in one process:
// a model is added, placed on a node in memory, and answers a chat.
//
// It is an example of embedding all of llmgw, and of testing against it: there
// is no database, no TLS and no process beside this one. The engine is the
// simulated one, which says so in its answers. Start reading at system.go.
package main
