// Package fabrics reports on the networks between nodes: which there are, by
// what their ports say of them, against the names that people gave them, and
// what is wrong with them.
//
// A network is its subnet manager's port GUID, or the network of its RoCE ports.
// The manager may hand over to another, and then the network goes on under a new
// key: Watch remembers what ports said, tells that from a cable that was moved,
// and notes it. It also remembers counters, so that errors are those that grow
// and traffic has a rate.
//
// It is a report and nothing more: it decides nothing, asks nobody and knows no
// clock. What placement takes for a network is [inventory.Node.Fabrics]; the keys
// are the same.
//
// agent/survey calls Watch on each look, and asks for maps; the admin API's views
// call Analyze and LiveOf. Every function is pure and safe to call at once; a Memory
// is never changed.
//
// Start reading at report.go, then watch.go and rename.go, then fabrics.go and
// problems.go; scan.go and live.go are about maps.
package fabrics
