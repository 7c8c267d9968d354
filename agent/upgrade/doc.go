// Package upgrade makes an agent another version of itself, and takes that back
// when the other one does not do.
//
// It has two halves that meet in a file. [Upgrader] is a part of an agent that
// runs: it fetches a release, verifies and proves it, puts it into a folder of its
// own below the data folder, and writes down that it is on trial. [Launcher] is
// what a process does before it is an agent: by what is written down it is the
// agent, becomes another version by exec, or guards one that is on trial: it runs
// it as a child and goes back to being the agent when the child ends again and
// again, or was not answered by the control plane in time.
//
// What is written down survives every process, and every step may be cut off and
// done again. Engines and gates are not touched: the agent that starts adopts them.
//
// It does not say what a release is (internal/release), and upgrades no engines
// (agent/provision). An Upgrader may be used by many goroutines at once; a
// Launcher is used once, by main.
//
// Start reading at state.go and decide.go, then launch_linux.go and
// guard_linux.go; upgrader.go is the other half.
package upgrade
