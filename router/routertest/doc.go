// Package routertest has what tests of a router need: a fake engine with a
// scripted temper, a network in memory, and fakes of the router's seams.
//
// It is no simulation: an [Engine] answers what its script says. For an engine
// that behaves like a real one see agent/engines/simengine.
//
// Tests of the router call it, and those of embedders who write a seam of their
// own. Everything may be called at once from many goroutines; nothing needs a
// real port, so all of it works in a bubble of testing/synctest.
//
// Start reading at engine.go.
package routertest
