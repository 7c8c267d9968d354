package socket

import (
	"syscall"
	"unsafe"
)

const supported = true

// Read reads from a socket that does not wait, without telling the scheduler. It
// gives EAGAIN when there is nothing, and 0 without an error at the end.
func Read(fd uintptr, p []byte) (int, error) { return call(syscall.SYS_READ, fd, p) }

// Write writes to a socket that does not wait, without telling the scheduler. It
// gives EAGAIN when there is no room.
func Write(fd uintptr, p []byte) (int, error) { return call(syscall.SYS_WRITE, fd, p) }

func call(number, fd uintptr, p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		n, _, errno := syscall.RawSyscall(number, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			return 0, errAgain // boxed once
		}
		return 0, errno
	}
}

var errAgain error = syscall.EAGAIN
