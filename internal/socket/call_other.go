//go:build !linux

package socket

import "syscall"

const supported = false

// Read is for Linux only.
func Read(uintptr, []byte) (int, error) { return 0, syscall.EINVAL }

// Write is for Linux only.
func Write(uintptr, []byte) (int, error) { return 0, syscall.EINVAL }
