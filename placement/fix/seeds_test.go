//go:build !long

package fix_test

// seeds is how many random fleets every check looks at.
const seeds = 1_000
