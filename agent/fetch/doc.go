// Package fetch brings weights to a machine: over https, from a hub or a mirror
// into a folder, in pieces that survive cuts, restarts and full disks; or it
// finds local files and uses them where they are.
//
// What stands under its final name is whole and was verified; everything else is
// under another name. Headers are read before an engine is, so that what is cut
// off or is something else is said with the file's name. Sources are chosen by whoever may define a model, so the
// client reaches public addresses only, unless the configuration allows more. It
// decides nothing about which weights a machine should have, and it removes none.
//
// The agent calls it before it starts an engine. A Fetcher may be used by many
// goroutines at once: one set is fetched once, however many ask for it.
//
// Start reading at fetch.go; set.go says which files a source stands for, hub.go
// which a repository has, download.go how one file comes, and look.go what is
// looked at in it.
package fetch
