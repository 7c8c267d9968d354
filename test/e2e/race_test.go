//go:build race && unix

package e2e

// raced says that the tests look for races, so the binaries do too.
const raced = true
