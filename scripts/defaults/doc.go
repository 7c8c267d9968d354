// Command defaults writes docs/defaults.md: every number that a person may ask
// about, with its reason.
//
// The numbers are read from the source that uses them, exported or not, so the
// page cannot say another one than the code. What the table names and the code
// no longer has is an error, and a test fails while the page is old. The reasons
// stand in the table, since no code holds them.
//
// It is no configuration and knows no type: it reads the source with the parser
// alone. `make generate` calls it. Every function is safe to call at once.
//
// Start reading at table.go; lookup.go finds a number, value.go works it out.
package main
