// Package page shows what a machine is and measures to people, as text in
// sections, and to programs, as JSON.
//
// It finds nothing and judges nothing: it is given facts and a sample. Columns
// that no row fills are left out, what nobody said reads so and never as zero, and
// no name can move a terminal. The command probe of the agent calls it. All of it
// may be called at once.
//
// Start reading at text.go.
package page
