// Package dryrun says what a change of a model, a node or a hold would do: what
// is placed, moved, preempted and lost, and what finds no room.
//
// It plays the reconciler's own steps out on a copy of the world, in which every
// order is obeyed at once: what is placed becomes ready, what drains has no
// request left, what is stopped stops. It is no simulation of a fleet (see
// placement/fleetsim): nothing fails, and time passes only where a step waits for
// it.
//
// It is pure, and every function may be called at once from many goroutines. The
// admin API asks it by way of placement/control.
//
// Start reading at plan.go, then play.go.
package dryrun
