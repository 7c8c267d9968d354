package agent

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// diskRoom says how many bytes a folder's disk has, and how many are free.
func diskRoom(dir string) (total, free int64, known bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, false
	}
	return int64(s.Blocks) * s.Bsize, int64(s.Bavail) * s.Bsize, true
}

// lockFile takes a lock that dies with its holder. held is false when somebody
// else has it.
func lockFile(f *os.File) (held bool, err error) {
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
