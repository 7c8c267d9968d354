// Package provision brings builds of engines to a node: it chooses one that the
// node's devices and driver can run, fetches it from a mirror that a hash pins,
// unpacks it into a folder of its own version, proves it by a run, and only then
// makes it the one that new shards start with.
//
// It is not a package manager: what there is to install stands in a manifest
// whose own hash is in the agent's configuration, so nothing ever moves to a
// "latest" by itself, and a mirror that was broken into can offer nothing else.
// It does not start engines; package agent/engines does, with the programs that
// [Installer.Programs] lists.
//
// [Resolve], [ParseManifest] and [Manifest.Pick] are pure. An [Installer] may be
// used from many goroutines; its Run is called once, and one installation runs at
// a time.
//
// Start reading at resolve.go, then manifest.go and install.go.
package provision
