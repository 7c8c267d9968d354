package durable

import (
	"errors"
	"os"
	"syscall"
)

// TryLock takes a lock that dies with its holder, or with f. held is false when
// somebody else has it.
func TryLock(f *os.File) (held bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
