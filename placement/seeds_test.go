//go:build !long

package placement_test

// How many generated cases the tests look at in every check.
const (
	bruteSeeds        = 10_000
	differentialSeeds = 60
)
