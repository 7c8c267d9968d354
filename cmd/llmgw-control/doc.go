// Command llmgw-control is the control plane and the router.
//
// It parses flags and wires defaults: everything it can do, a user of package
// llmgw can do. "serve" runs a control plane, "dev" a whole system on one
// machine, "router" requests alone, "sim" a fleet that is only described; the
// others speak to a running server or to a store that no server has open.
//
// Nothing here may be called by others. Start reading at main.go, then serve.go.
package main
