// Package hub is the control plane's end of the agents: an http.Handler that
// takes machines in, hears their beats, answers their polls with what is
// desired of them, and asks them questions.
//
// It decides nothing. What agents say goes to the Registry; what they are told
// comes from Dispatch, whole, with a version and the leader's epoch. Until the
// first Dispatch polls are held: an empty list would empty the fleet. Whatever
// an agent says is taken as a stranger's word: bounded, cleaned, and believed
// of its own node only.
//
// The root mounts it on the agents' listener and hands it to the loop as its
// Dispatcher and to the admin API for what asks a live agent. All methods of a
// Hub may be called at once from many goroutines.
//
// Start reading at hub.go, then exchange.go, dispatch.go and join.go; clean.go
// says what of an agent's word is kept.
package hub
