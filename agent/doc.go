// Package agent is the library of a node agent: it reports to a control plane what
// its machine is, and makes the desired state of its node true.
//
// It fetches weights, starts engines, watches them, adopts those that outlived
// an earlier agent, and keeps them running while the control plane is away. It
// decides nothing about what should run where, and it knows no engine and no
// probe by name: those come in through the seams Engine and Prober.
//
// An Agent runs once; its methods may be called at once from many goroutines.
//
// Start reading at agent.go, then seams.go, beat.go and sync.go; shard.go is the
// life of one shard. Its parts are rooms of their own: fetch has how weights come
// to the machine, process how an engine's processes begin and end, logs what they
// wrote, uplink how the machine joins and speaks to its control plane.
package agent
