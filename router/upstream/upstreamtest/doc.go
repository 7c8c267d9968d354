// Package upstreamtest holds the tests that every way to a replica passes: how
// answers are framed, what is refused, when a connection is used again, and what
// happens when either side goes away. Real sockets are used, against a replica
// that says its bytes by a script.
//
// It is for tests only, and knows nothing of models or of the OpenAI API. The
// tests of package upstream call it; whoever writes another implementation can.
//
// Run may be called from several tests at once. Start reading at suite.go.
package upstreamtest
