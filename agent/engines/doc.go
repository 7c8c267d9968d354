// Package engines drives inference engines: how each is found, started, asked
// and understood when it ends.
//
// It starts and stops nothing itself. A driver gives a command line and an
// environment, asks an engine that runs, and puts the end of one into words;
// processes, ports, files and deadlines are the agent's. It is no client for
// requests of users either.
//
// The agent calls it, through the interface that it declares; cmd/llmgw-agent
// makes the drivers by [New]. All methods of a driver are safe to call at once.
//
// How engines stop, which the agent has to know: llama-server ends at once on
// the first TERM only when it is idle. With a request in flight it stops
// generating, goes on answering /health with 200, and waits for its clients; the
// second TERM ends it at once, with code 1. So the agent sends TERM twice, and
// only when nothing is in flight any more. The simulated engine does the same.
// vLLM is told alone of all its processes, and from 0.18 on finishes what it has.
//
// What was seen of each engine, and what never was, is in docs/engines.md.
//
// Start reading at engines.go, then llamacpp.go and vllm.go.
package engines
