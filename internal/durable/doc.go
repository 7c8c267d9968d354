// Package durable writes files that a machine may lose power over: a reader
// finds the old content or the new one, and nothing between.
//
// It knows no format and no folder of its own, and it is no store. Beside whole
// files it has what comes up with them: a lock that dies with its holder, and
// the errors that say that a disk is full. A Background brings to the disk what is
// appended often, while nobody waits.
//
// What keeps files calls it: the agent's state and identity, fetched weights, the
// control plane's secrets, and the router's rows. Functions may be called at once; of
// two writers of one file the later one wins. A Background is for one at a time.
//
// Start reading at files.go.
package durable
