// Package fabrictest measures what the network between two nodes carries, over
// TCP: how much in a time by several streams, and how long a small echo takes.
//
// One node listens for a bounded time, the other dials; both know a secret that
// was made for the one test, and show that they do before a byte counts. A node is
// an end of one test at a time. It measures TCP alone, which spends processors: an
// engine that reaches its adapters directly gets more. It knows no wire to the
// control plane.
//
// The agent has a [Tester]; the control plane brings two ends together with
// [Between]. Both may be used by many goroutines at once.
//
// Start reading at between.go, then listen.go and dial.go.
package fabrictest
