// Package gpu finds the GPUs of a machine, and what is wrong with them.
//
// It has three floors. A [Source] reads the driver once and gives a [Snapshot] in
// plain structs; [Bus] says what the bus and the kernel's files know without the
// driver. What is remembered of each card's failures, resets and messages is
// [Health], and what the node reports is assembled from all of these, purely.
// [Cards] holds them together, and is what agent/discovery asks.
//
// The driver's library is never called in the agent's own process: a call that
// hangs cannot be taken back, and a function that an older driver lacks ends the
// process. [Child] runs a hidden command of the agent for each reading, which
// calls [ReadDriver] and prints JSON, and gives it up after a while; there is never
// a second one beside one that cannot be killed. A build without cgo reads no
// driver, and says so.
//
// It changes nothing on a card: it resets none, and makes no partition.
//
// A Cards may be asked from many goroutines; a Health may not.
//
// Start reading at snapshot.go, then devices.go and health.go; class.go is the one
// place where a product's name becomes a class.
package gpu
