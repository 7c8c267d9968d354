// Command hub measures what ten thousand agents cost a control plane: the
// processor time and the memory of the hub with its registry while all of them
// beat, poll, measure and report as agents do, and how long a changed assignment
// takes to reach its agent. It prints each figure beside its goal, and exits with
// 1 when one is missed.
//
// The hub is a process of its own, this program again, so that only it is
// measured; the agents are in this one and reach it over loopback, each over a
// connection of its own in HTTP/2, as agents do, but without TLS. Who calls is
// known by its address there, and has a certificate of the cluster all the same,
// which the hub verifies as ever. Nothing places models: the whole of what is
// ordered is made here, and dispatched anew for each change, as the control loop
// does.
//
// Two processes have a file for each agent: 10,000 agents want a limit of 10,200
// open files (ulimit -n). It runs on Linux, whose /proc it reads.
//
// Start reading at main.go, then bench.go; serve.go is the hub's process, fleet.go
// and agent.go are the agents.
package main
