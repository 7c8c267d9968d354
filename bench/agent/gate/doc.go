// Command gate measures what a gate costs: its memory at rest and with streams
// open, and the processor time of a chunk beside that of httputil.ReverseProxy
// with the same certificates, on the same streams, in the same run. It prints each
// figure beside its goal, and exits with 1 when one is missed.
//
// It is its own engine and its own clients. The gate is the real program, given by
// -gate; the other proxy is this program again. It runs on Linux, whose /proc it
// reads. Start reading at main.go.
package main
