package fetch

import "golang.org/x/sys/unix"

// diskRoom says how many bytes a folder's disk has, and how many are free.
func diskRoom(dir string) (total, free int64, known bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, false
	}
	return int64(s.Blocks) * s.Bsize, int64(s.Bavail) * s.Bsize, true
}
