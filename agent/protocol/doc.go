// Package protocol holds the bodies that agents and the control plane exchange.
//
// The agent dials out, over HTTP/2 with mutual TLS 1.3, and speaks JSON: a beat
// every five seconds, a poll for the whole desired state of its node, and
// answers to asks. Both sides ignore keys they do not know, so that they may be
// one minor version apart. Nothing imperative is ever sent: what is desired is
// sent whole, with a version, so a repetition is harmless.
//
// It is not a client and not a server: package agent has the one, agent/hub the
// other. Everything here is a plain value.
//
// Start reading at protocol.go, then beat.go and sync.go.
package protocol
