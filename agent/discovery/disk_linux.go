package discovery

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// statRoom asks the kernel. Free is what everybody may use, not root alone.
func statRoom(path string) (diskRoom, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return diskRoom{}, fmt.Errorf("%s: %w", path, err)
	}
	//nolint:unconvert // the block size is an int32 on some architectures
	return diskRoom{total: int64(s.Blocks) * int64(s.Bsize), free: int64(s.Bavail) * int64(s.Bsize)}, nil
}
