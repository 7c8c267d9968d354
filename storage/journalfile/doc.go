// Package journalfile is the file form of storage.Journal: a folder of compressed
// files that are only ever appended to.
//
// It keeps bytes and knows nothing of what decisions are; placement/replay
// encodes them. A folder has one writer, the process that has opened it; others
// may read it meanwhile with [Read], as "llmgw-control sim --replay" does. A
// Journal may be used from many goroutines at once.
//
// Start reading at journalfile.go; form.go has the form of a file, retain.go what
// is dropped.
package journalfile
