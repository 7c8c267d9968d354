//go:build !long

package fix_test

// How many random fleets every check looks at, and with how many of them it tries
// every two changes.
const (
	seeds     = 1_000
	pairSeeds = 80
)
