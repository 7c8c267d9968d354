// Package placement decides where a replica goes, and says why.
//
// It is pure: a snapshot of the fleet and a request go in, a decision and its
// trace come out. It reserves nothing, starts nothing and knows no time;
// placement/control carries decisions out. Explain, headroom and dry runs are
// the same function on a copy of the world.
//
// Every function may be called at once from many goroutines: the arguments are
// read, never changed. An Index is its caller's own, and for one goroutine at a
// time.
//
// A rule or a taste of one's own is a field of the [Placer]; examples/custom-scorer
// has both.
//
// Start reading at filter.go (the ordered list of checks), then choose.go; then
// index.go, which remembers the answers.
package placement
