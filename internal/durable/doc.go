// Package durable writes files that a machine may lose power over: a reader
// finds the old content or the new one, and nothing between.
//
// It knows no format and no folder of its own, and it is no store. Beside whole
// files it has what comes up with them: a lock that dies with its holder, and
// the errors that say that a disk is full.
//
// What keeps files calls it: the agent's state and identity, fetched weights, and
// the control plane's secrets. Functions may be called at once; of two writers of one file
// the later one wins.
//
// Start reading at files.go.
package durable
