// Package control makes it so: the loop that takes the newest catalog and
// fleet, asks the reconciler what should happen, keeps it, reserves room and
// hands it to the agents.
//
// It decides nothing itself. Everything it touches comes in through the seams
// of seams.go, and it is the only place where a plan is carried out. Its
// methods may be called at once from many goroutines.
//
// Start reading at loop.go, then seams.go and apply.go.
package control
