// Package llmgw serves large language models on machines that people own.
//
// A control plane knows which models should run (catalog) and what machines
// there are (inventory), decides where each replica goes (placement), keeps it
// so (placement/reconciler, placement/control) and answers for every decision
// (adminapi). An agent on each machine (agent) fetches weights and runs engines.
// A router (router) gives clients one OpenAI-compatible address for all of it.
//
// It is a library first. There are five ways to use it:
//
//   - Run the binaries llmgw-control and llmgw-agent.
//   - Embed the whole control plane: [New] with a [Config], then
//     [ControlPlane.Run].
//   - Mount parts of it in a server of yours: [ControlPlane.OpenAI] and
//     [ControlPlane.Admin] are http.Handlers.
//   - Embed the scheduler alone: placement, placement/reconciler and what asks
//     them (placement/fix, placement/dryrun, placement/replay) are pure functions
//     over values.
//   - Replace a part: a Store of your own (proved by storage/storagetest), an
//     engine (agent.Engine), a filter or a scorer (placement.Placer).
//
// This package only wires: it decides nothing and keeps nothing. It is not the
// agent, which is a program of its own on every machine. A [ControlPlane] may be
// used by any number of goroutines at once, and several may live in one process.
//
// Start reading at llmgw.go, then config.go.
package llmgw
