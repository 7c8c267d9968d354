package gate

import (
	"fmt"
	"os"
	"syscall"
)

// silence is after how long a router that confirms nothing of what it was sent is
// gone, in milliseconds. The kernel alone would wait for a quarter of an hour.
const silence = 60_000

// tcpUserTimeout is TCP_USER_TIMEOUT, which package syscall does not name.
const tcpUserTimeout = 0x12

// noticeSilence is set on the listener and inherited by its connections.
func noticeSilence(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, silence) // an old kernel waits longer
	})
}

// short is a name of a folder that is short enough for a socket in it, until
// release is called: the kernel takes no more than 107 bytes.
func short(dir string) (name string, release func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d", f.Fd()), func() { _ = f.Close() }, nil
}
