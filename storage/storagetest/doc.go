// Package storagetest is the conformance suite of storage.Store: whoever keeps
// rows in another way runs it, and a store that passes may be given to a
// control plane.
//
// It is for tests only. [Run] covers the whole contract on fresh stores;
// [RunJournal] does so for a journal; [RunTampering] needs a way to change the audit log behind the store's back,
// which only its author can give. Every test opens stores of its own and may
// run beside the others.
//
// Start reading at storagetest.go; there is one file for each area.
package storagetest
