//go:build long

package replay_test

// simSeeds is how many random runs are decided again.
const simSeeds = 300
