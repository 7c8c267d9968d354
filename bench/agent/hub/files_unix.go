//go:build unix

package main

import (
	"fmt"
	"syscall"
)

// enoughFiles raises the limit of open files as far as it may, for this process
// and for the hub's.
func enoughFiles(want int) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	if l.Max < uint64(want) {
		l.Max = uint64(want) // root may
	}
	l.Cur = l.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("%d files have to be open at once, and that may not be: run ulimit -n %d as root first: %w", want, want, err)
	}
	return nil
}
