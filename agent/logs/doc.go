// Package logs has the log files of a node: those that engines write and the
// agent's own. It keeps each in bounds, and reads them by their end or as they
// grow.
//
// An engine keeps its file open and must not notice that it is cut, so engines'
// logs are copied away and cut in place. It reads no line for its meaning: what
// the end of an engine means is said in agent/engines.
//
// The agent calls it; the agent's command makes its log with [OpenFile]. Functions
// may be called at once, but one log is bounded by one goroutine. A File may be
// used by many goroutines at once, a reader by one.
//
// Start reading at engine.go, then reader.go.
package logs
