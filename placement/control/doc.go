// Package control makes it so: the loop that takes the newest catalog and
// fleet, asks the reconciler what should happen, keeps it, reserves room and
// hands it to the agents.
//
// It decides nothing itself. Everything it touches comes in through the seams
// of seams.go, and it is the only place where a plan is carried out. Any number
// of processes may run a loop on one store: one leads, the others wait for its
// lease. The methods of a Loop may be called at once from many goroutines.
//
// Start reading at loop.go, then pass.go, apply.go and seams.go.
package control
