// Package gpucmd is how the agent reads GPUs: hidden commands that call the
// driver's library in a process of their own, and the wiring that runs them. It is
// called by the agent's main and by nothing else.
//
// Start reading at gpucmd.go.
package gpucmd
