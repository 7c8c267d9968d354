// Package router is the data plane: an http.Handler that speaks the OpenAI API
// and carries each request to a replica of the model it asks for.
//
// It checks the client's key, scans the body once, finds the model, waits for a
// replica where one is being started, forwards the answer byte for byte as it
// comes, tries another replica while the client has seen nothing, and keeps a
// row for every request, written ahead so that a killed process loses none.
//
// Which replica is asked is a Picker's choice, by what package steer knows of
// each from this router's own traffic: [LeastDelay], or [LeastOutstanding].
//
// It starts no replica and decides nothing about where one stands: it tells
// demand and counts what is in flight ([Router.Traffic]). It is no client of
// the admin API, and it never keeps a prompt or an answer.
//
// The wiring of a control plane calls it, and embedders who have replicas of
// their own: only the seams of seams.go are asked. The handler serves requests
// without [Router.Run] running; static endpoints are probed and rows are
// shipped to the store only while it does.
//
// Everything may be called at once from many goroutines.
//
// Start reading at chat.go: it reads as the list of a request's steps.
package router
