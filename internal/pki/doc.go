// Package pki is the cluster's own small certificate authority and the rules
// by which the cluster's machines know each other: join tokens, short
// certificates, mutual TLS, renewal, revocation.
//
// It is not a general authority: it issues four kinds of certificate (control,
// node, router, gate) and nothing else, keeps no list and touches no file.
// Certificates and keys go in and out as PEM, so that a store may hold them.
// Names are single SPIFFE-style URIs, spiffe://<cluster>/<kind>/<id>. Host
// names play no part between our own machines, so an address may change without
// a new certificate.
//
// The hub and the root call it on the side of the control plane, the agent and
// its gate on the other side.
//
// Everything is safe to call from many goroutines at once. CA, Trust and
// JoinToken never change; KeyPair may be swapped while it is in use. Time is an
// argument, but for the callbacks of TLS, which take a Now function.
//
// Start reading at identity.go, then ca.go, issue.go and verify.go; token.go
// and client.go tell how a machine joins that trusts nobody yet.
package pki
