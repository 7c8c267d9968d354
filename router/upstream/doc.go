// Package upstream carries requests to replicas over HTTP/1.1.
//
// [Pool] is a client of its own: connections that are kept for each replica, no
// goroutine for a connection or a request, and buffers that are held only while
// there is something in them. It is strict where two readers of one answer could
// differ. [Standard] is the same seam over net/http; Pool hands it what is not
// plain HTTP/1.1 and no gate, which is every https address. Both pass the same tests, in
// upstreamtest.
//
// An address of the scheme gate ([SchemeGate]) is that of the gate of a node, which
// is spoken to over mutual TLS and must prove to be that node's.
//
// It is no general client: it follows no redirect, undoes no compression, keeps
// no cookies, knows no proxy, asks for no 100-continue and drops trailers. It
// does not know what a model or a replica is beyond a name, and it decides
// nothing about whom to ask: safe addresses are the business of the dialler that
// it is given.
//
// The router calls it, as does whoever embeds the router and wants the other one.
//
// A Pool and a Standard may be used from many goroutines at once. The body of
// one answer belongs to one goroutine; the end of its request's context may come
// from any.
//
// Start reading at pool.go, then peer.go (connections), trip.go (one exchange),
// head.go and body.go (what answers are made of).
package upstream
