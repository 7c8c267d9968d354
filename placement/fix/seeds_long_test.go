//go:build long

package fix_test

// seeds is how many random fleets are looked at with -tags long.
const seeds = 10_000
