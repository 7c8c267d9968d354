//go:build unix

package bunstore

import (
	"errors"
	"os"
	"syscall"
)

// openLocked opens a file and takes its lock; free is false when another
// process, or another store of this one, has it.
func openLocked(path string) (f *os.File, free bool, err error) {
	f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return f, true, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, false, nil
	}
	return nil, false, err
}

// unlock gives the lock back by name. Closing the file would not do: a process
// that is being started at this moment has a copy of it until it runs its own
// program.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
