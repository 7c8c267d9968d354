// Package uplink connects a machine to its control plane: it joins a cluster with
// a one-time token, keeps the machine's identity, and speaks the agents' wire over
// HTTP/2 with mutual TLS. It is the other end of agent/hub.
//
// It knows what travels and not what for: when to beat, what to report and what to
// do about an order is the agent's. It makes the machine's key, which does not
// leave the machine, and it believes no control plane that cannot prove to be of
// the cluster.
//
// The agent's command calls [Join] once, and gives a [Client] to the agent as its
// Control. A Client may be used by many goroutines at once.
//
// Start reading at join.go, then client.go and renew.go.
package uplink
