// Package view builds the answers of the admin API: plain structs with their
// wire names, made by pure functions from nouns.
//
// It asks nobody and knows no time of its own: the look at the cluster and the
// moment come in as a [World]. It is not a model of the domain; the packages
// below are, and nothing of theirs that is secret passes through here. The
// admin API calls it, and so do its client, its commands and pages, which need
// the same words.
//
// Everything is a value or a pure function and may be called at once from many
// goroutines. What is absent is left out, never zero: "0" always means that
// somebody counted and found none.
//
// Start reading at world.go, then node.go, model.go and replica.go.
package view
