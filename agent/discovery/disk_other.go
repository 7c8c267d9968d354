//go:build !linux

package discovery

import "errors"

// statRoom is not known here: engines run on Linux.
func statRoom(string) (diskRoom, error) {
	return diskRoom{}, errors.New("this agent looks at disks on Linux only")
}
