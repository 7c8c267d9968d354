// Package socket reads and writes plain sockets without telling Go's scheduler.
//
// Before a system call the scheduler takes note that a thread may be away for
// long, and where the process was idle it wakes a thread of its own (sysmon) to
// look after it. For a call that never waits this is for nothing, and it costs
// more than the call: a third of the processor time of a router that forwards
// streams. A socket of package net never waits, since the poller does. So it is
// read and written here by raw calls, and waited for by the poller as before.
//
// It changes nothing else: deadlines, closing and errors are those of package
// net. What is no plain TCP or Unix socket (TLS, pipes, wrappers of others) is
// left alone, and so is everything where the system is not Linux.
//
// The router's way to replicas and the binary's listeners call it. A Conn may be
// read, written and closed from several goroutines at once. Start reading at
// conn.go.
package socket
