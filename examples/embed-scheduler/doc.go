// Command embed-scheduler uses the scheduler alone: a fleet as text and a model
// as JSON go in, a decision and the reasons for it come out.
//
// It is an example of embedding placement in another program: no server, no
// store, no agent. Start reading at main.go.
package main
