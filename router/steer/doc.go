// Package steer keeps what a router knows of a model's replicas from its own traffic: which beginnings of prompts their
// caches hold, what they still have to read, and how quick they are. From that it says, for a prompt and a replica, how
// long the first token would take.
//
// It chooses nothing: the router's Picker does, by what [Model.Expect] says. It asks no engine and keeps no prompt, only
// hashes of one. What it knows is a guess, corrected by every answer: by the first token's time, and by how much of the
// prompt the engine says it found in its cache.
//
// The router calls it for every request, and the routing bench does with a trace. It reads no clock: time is an argument.
//
// Nothing here is safe to call at once: a [Model] is guarded by whoever owns it. A [Hasher] is never written.
//
// Start reading at model.go; learn.go has what answers teach.
package steer
