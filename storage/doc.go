// Package storage is the contract of what is kept: the rows, the seams of their
// readers and writers, and the errors. There is no SQL here.
//
// A Store is composed of small seams, each declared by whoever calls it
// (catalog.Store, inventory.Store) or here. storage/bunstore is the default on
// SQLite, storage/memstore keeps everything in memory, and
// storage/storagetest.Run is the conformance suite for both and for those of
// others.
//
// Every write names its author and is written together with its audit entry, in
// one transaction, or not at all. Everything may be called at once from many
// goroutines.
//
// Start reading at store.go.
package storage
