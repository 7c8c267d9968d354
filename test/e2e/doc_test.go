// Package e2e tries the whole: the real binaries as processes of their own, on
// one machine, over real sockets and real TLS.
//
// It is not the place for a rule that a unit test can show; it shows that the
// parts hold together, and what is left when one of them dies. Nobody calls it.
// Tests may run at once: each has its own folders, addresses and processes, and
// ends them. The ones that take minutes are behind the build tag e2e.
//
// Start reading at main_test.go and plane_test.go, then spine_test.go.
package e2e
