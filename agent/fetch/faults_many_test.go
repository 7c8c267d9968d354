//go:build long

package fetch

const faultRuns = 200
