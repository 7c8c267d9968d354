// Package replay writes down what a pass of the control loop looked at and what it
// decided, as bytes, and decides it again.
//
// It is pure: an [Encoder] turns passes into entries, [Run] takes entries, asks a
// reconciler again and reports what it would do otherwise. It keeps nothing
// itself: placement/control gives entries to a storage.Journal, and whoever reads
// one back calls Run. An Encoder and a Decoder belong to one goroutine each.
//
// What is written is what decisions rest on. Measurements (load, sensors, when a
// node was last seen, how far a download is) and requests that no rule looks at
// are left out, and so are secrets.
//
// Start reading at pass.go, then form.go, encode.go and run.go.
package replay
