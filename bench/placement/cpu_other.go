//go:build !unix

package main

import "time"

// cpuTime is what this process has used of processors. Zero: not known here.
func cpuTime() time.Duration { return 0 }
