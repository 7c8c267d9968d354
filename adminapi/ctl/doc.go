// Package ctl holds the operator's commands over the admin API, as a command
// that any program can put into its own.
//
// [Command] is the whole tree: one command for each thing the API can do, and
// wait. It speaks to a running control plane through adminclient and never past
// it to a store. Answers are tables for people, or JSON and YAML for programs;
// they go to standard output, progress and errors do not.
//
// Exit codes ([ExitCode]): 0 done; 1 refused, failed, or a wait that ended
// badly; 2 the command line itself is wrong.
//
// A command is made for one run and used by one goroutine.
//
// Start reading at ctl.go, then session.go and models.go.
package ctl
