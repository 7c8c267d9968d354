// Package process starts, adopts, measures and ends an engine's process with all
// that it starts in turn.
//
// An engine is the machine's and not the agent's: its process has a session of
// its own, no pipe to the agent, and goes on when the agent ends. So a tree of
// processes is known by what outlives an agent: by a mark in the environment of
// each, by the leader's session, and by a cgroup and a user of its own where it may
// have them. A process id alone is never believed, since numbers are given out
// again.
//
// It knows no engine and no shard, keeps no record and restarts nothing. It works
// on Linux; elsewhere nothing can be started, and an error says so.
//
// The agent calls it. A Process may be used by many goroutines at once.
//
// Start reading at process.go; tree_linux.go says which processes belong to a tree.
package process
