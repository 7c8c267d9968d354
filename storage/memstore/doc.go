// Package memstore is a store that keeps everything in memory and forgets it
// with its process.
//
// It is for tests, demonstrations and embedders who want nothing kept; it obeys
// the whole contract of package storage, revisions, audit chain and fences
// included. Journal does the same for decisions. It is not a cache and has no file form.
//
// Everything may be called at once from many goroutines. Start reading at
// memstore.go.
package memstore
