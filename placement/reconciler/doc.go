// Package reconciler decides what happens next: how many replicas of each model
// there should be, which are started, drained, stopped, tried again or parked.
//
// It is pure: a [World] and a [Memory] go into [Reconciler.Step], a [Plan] and
// the next Memory come out. It asks placement where things go and carries
// nothing out; placement/control does. It may be called at once from many
// goroutines.
//
// Start reading at reconciler.go, then world.go, replica.go and desired.go. The
// rules stand at the head of failure.go, loss.go, drain.go and restart.go; the
// scripts under testdata show them.
package reconciler
