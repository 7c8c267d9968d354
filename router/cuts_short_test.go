//go:build !long

package router_test

// How often each recording is cut many times, and how many places lie between
// two at which it is cut once: with usage asked and without, all are tried.
const (
	manyCuts = 40
	cutEvery = 2
)
