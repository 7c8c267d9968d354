// Package inventorytest makes fleets from a few lines of text, for tests,
// examples and simulations, and keeps node settings in memory.
//
// It is no discovery and no configuration form: what it cannot say, a test
// sets on the nodes it gets. The form is described at [Parse]. Everything but
// [Store] is a plain function, safe to call at once; a Store is safe too.
//
// Start reading at parse.go.
package inventorytest
