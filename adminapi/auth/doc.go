// Package auth says who calls the admin API and what they may do.
//
// [Bearer] checks admin tokens against the store, [Insecure] lets everybody on
// the same machine in, for listeners on loopback alone. It opens no listener
// and knows no route: the admin API asks it who is calling, and compares the
// answer's scopes with what the route needs.
//
// Everything may be called at once from many goroutines.
//
// Start reading at scope.go, then bearer.go and limit.go.
package auth
