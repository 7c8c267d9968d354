//go:build long

package fix_test

// How many random fleets are looked at with -tags long, and with how many of them
// every two changes are tried.
const (
	seeds     = 10_000
	pairSeeds = 1_500
)
