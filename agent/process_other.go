//go:build !linux

package agent

import (
	"errors"
	"syscall"
	"time"
)

const termSignal = syscall.SIGTERM

// errLinux is why nothing is started elsewhere: a tree of processes could not
// be ended for certain.
var errLinux = errors.New("engines are started on Linux only; run the agent there, or declare an engine that runs elsewhere as a static endpoint")

func startProcess(launch) (*process, error) { return nil, errLinux }

func adoptProcess(processID, string, string, time.Duration) (*process, bool) { return nil, false }

func signalGroup(*process, syscall.Signal) {}

func killTree(tree) error { return nil }

func killStrays(string, map[string]bool) int { return 0 }

func bootID() string { return "unknown" }

func processMemory(tree) (bytes int64, ticks uint64) { return 0, 0 }

func findCgroup(string) string { return "" }

func pruneCgroups(string) {}

func makeCgroup(string, string) string { return "" }
