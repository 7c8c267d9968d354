// Command node measures a node as it is shipped: the agent's own program, joined
// to the control plane's over real TLS on this machine.
//
// At rest it is a machine with eight cards and nine ports, by trees of the
// kernel's files that are written here and by a stand-in for the driver's library
// that is compiled here; the process that reads it is not counted. Between agent
// and control plane stands a proxy of this program, which holds certificates of
// both and sees what is sent. Then another agent, with gates before two engines
// and streams open through them, is killed without a word, again and again, and it
// is timed until the next one has both engines again. It prints each figure
// beside its goal, and exits with 1 when one is missed.
//
// It runs on Linux, whose /proc it reads, from the root of the repository, and
// wants gcc. The engines are simulated. Start reading at main.go, then rest.go and
// kills.go.
package main
