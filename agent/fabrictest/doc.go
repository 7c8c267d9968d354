// Package fabrictest measures what the network between two nodes carries: how much in
// a time, by the program ib_write_bw over InfiniBand or by several streams of TCP, and
// how long a small echo takes.
//
// One node listens for a bounded time, the other dials; both know a secret that
// was made for the one test, and show that they do before a byte counts. A node is
// an end of one test at a time. TCP spends processors: an engine that reaches its
// adapters directly gets more. ib_write_bw knows no secret; it is run for the one test
// and killed after it. The package knows no wire to the control plane.
//
// The agent has a [Tester]; the control plane brings two ends together with
// [Between]. Both may be used by many goroutines at once.
//
// Start reading at between.go and ib.go, then listen.go, dial.go and ibrun.go.
package fabrictest
