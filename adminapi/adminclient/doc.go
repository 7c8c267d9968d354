// Package adminclient is the typed client of the admin API: one method for
// each of its routes, over net/http.
//
// It keeps no state but its connections, retries nothing, and follows no
// redirect with its token. The commands of ctl stand on it, and so can the
// tools of others. Refused requests are answered with an [Error], which holds
// the sentence to show.
//
// A Client may be used by any number of goroutines at once.
//
// Start reading at client.go, then models.go.
package adminclient
