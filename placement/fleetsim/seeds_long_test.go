//go:build long

package fleetsim_test

// lawSeeds is how many random fleets are tried.
const lawSeeds = 1000
