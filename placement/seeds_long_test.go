//go:build long

package placement_test

// How many generated cases the tests look at with -tags long.
const (
	bruteSeeds        = 50_000
	differentialSeeds = 2_000
)
