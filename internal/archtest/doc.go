// Package archtest holds the walls of the house as tests: who may import whom,
// which door a third party comes in by, what the pure core may not do, how long
// a file, a function and an interface may get, and where comments stand.
//
// It is no linter: it knows only rules of this project that no linter knows. It
// reads the source with the parser and nothing else, so it needs no network, no
// build and no tool. It exports nothing; `go test ./internal/archtest` calls it,
// and every change of the tables is a change of the architecture, with a record
// in docs/adr.
//
// Every check is a function over a parsed tree and is safe to call at once. The
// tests show each one failing on a bad sample first, because a check that scans
// nothing finds nothing: a folder that a table names and that has no Go files
// is itself a finding.
//
// Start reading at walls_table.go, then tree.go.
package archtest
