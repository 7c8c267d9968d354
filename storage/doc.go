// Package storage is the contract of what is kept: the rows, the seams of their
// readers and writers, the errors, and the pure rules every store obeys. There
// is no SQL here.
//
// A Store is composed of small seams, each declared by whoever calls it
// (catalog.Store, inventory.Store) or here. storage/bunstore is the default, on
// SQLite or PostgreSQL, storage/memstore keeps everything in memory, and
// storage/storagetest.Run is the conformance suite for them and for those of
// others.
//
// Every write that people or nodes make names its author and is written together
// with its audit event, in one transaction, or not at all; acts.go has the
// wording, chain.go the links, redact.go what is left out. What the leader
// orders is fenced by its epoch instead, and usage is a log of its own: neither
// is noted a second time. Why the leader decided is kept apart, in a [Journal],
// whose file form is storage/journalfile. Everything may be called at once from many goroutines.
//
// Start reading at store.go.
package storage
