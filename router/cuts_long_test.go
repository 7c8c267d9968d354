//go:build long

package router_test

// With -tags long every place is tried twice.
const (
	manyCuts = 10_000
	cutEvery = 1
)
