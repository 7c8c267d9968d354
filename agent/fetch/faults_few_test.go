//go:build !long

package fetch

// faultRuns is how many random plans are tried; with -tags long, 200.
const faultRuns = 20
