//go:build unix

package upstream

import (
	"errors"
	"syscall"
)

// canTry says that reading a socket can be tried without waiting.
const canTry = true

// attempt reads what has come, and holds a block only when something has. It
// reports false when it must wait.
func (r *reader) attempt(fd uintptr) bool {
	r.hold()
	for {
		n, err := syscall.Read(int(fd), r.buf[r.to:])
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			if r.from == r.to {
				r.drop()
			}
			return false
		}
		r.tryN, r.tryE = max(n, 0), err
		return true
	}
}

// quiet reports whether an idle connection is as it was left: still open, and
// nothing came that nobody asked for, which would be taken for the answer to the
// next request.
func (r *reader) quiet() bool {
	if r.from != r.to {
		return false
	}
	if r.raw == nil {
		return true
	}
	r.tryE = nil
	err := r.raw.Read(r.peek)
	return err == nil && errors.Is(r.tryE, syscall.EAGAIN)
}

// look reads a byte that should not be there.
func (r *reader) look(fd uintptr) bool {
	_, r.tryE = syscall.Read(int(fd), r.one[:])
	return true
}
