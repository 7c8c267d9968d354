// Package safedial makes an http.Client that refuses what it should not reach:
// the machine itself, private and special networks, cloud metadata, odd ports
// and schemes, whether named outright, by DNS, by DNS that changes its mind, by
// an unusual notation, or by a redirect.
//
// It is no proxy and no firewall: it guards the calls made through its client
// and no others. Private networks are common and useful here (a mirror, an
// engine on the LAN), so they may be opened, but only by network and port; no
// switch turns the guard off, and metadata services and our own listeners stay
// shut whatever is allowed.
//
// Everything that dials an address which a person or another machine chose calls
// it: mirror, model import, webhooks, releases, adapters, the agent's downloads.
//
// A Policy never changes and is safe from many goroutines at once, as is its client.
//
// Start reading at policy.go, then url.go (what is refused by looking), address.go
// (which addresses are refused), dial.go (where that is enforced: on the socket
// that is about to connect) and client.go (redirects, limits and errors).
package safedial
