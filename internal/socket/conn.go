package socket

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
)

// Plain reports whether a connection is a plain socket, and gives its raw form.
// A wrapper is none, since its own methods must not be passed by.
func Plain(c net.Conn) (raw syscall.RawConn, ok bool) {
	var err error
	switch c := c.(type) {
	case *net.TCPConn:
		raw, err = c.SyscallConn()
	case *net.UnixConn:
		raw, err = c.SyscallConn()
	default:
		return nil, false
	}
	return raw, err == nil && supported
}

// Conn is a connection that is read and written by raw calls.
type Conn struct {
	net.Conn
	raw   syscall.RawConn
	read  half
	write half
}

// half is one direction: what the poller's call works on.
type half struct {
	mu  sync.Mutex
	try func(fd uintptr) bool // made once
	b   []byte
	n   int
	err error
}

// Quiet gives a plain socket as a Conn, and any other connection as it is.
func Quiet(c net.Conn) net.Conn {
	raw, ok := Plain(c)
	if !ok {
		return c
	}
	q := &Conn{Conn: c, raw: raw}
	q.read.try, q.write.try = q.tryRead, q.tryWrite
	return q
}

// NetConn gives what is below, as tls.Conn does.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// Read reads as net.Conn has it.
func (c *Conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	h := &c.read
	h.mu.Lock()
	defer h.mu.Unlock()
	h.b, h.n, h.err = p, 0, nil
	err := c.raw.Read(h.try)
	h.b = nil
	switch {
	case err != nil:
		return 0, err
	case h.err != nil:
		return 0, c.failed("read", h.err)
	case h.n == 0:
		return 0, io.EOF
	}
	return h.n, nil
}

// tryRead reports false when there is nothing yet.
func (c *Conn) tryRead(fd uintptr) bool {
	c.read.n, c.read.err = Read(fd, c.read.b)
	return !errors.Is(c.read.err, syscall.EAGAIN)
}

// mostWrite bounds one call, which holds up the other goroutines of its thread.
const mostWrite = 64 << 10

// Write writes as net.Conn has it.
func (c *Conn) Write(p []byte) (int, error) {
	h := &c.write
	h.mu.Lock()
	defer h.mu.Unlock()
	h.b, h.n, h.err = p, 0, nil
	err := c.raw.Write(h.try)
	h.b = nil
	if h.err != nil {
		err = c.failed("write", h.err)
	}
	return h.n, err
}

// tryWrite writes on until all is written, and reports false when the socket
// takes no more yet.
func (c *Conn) tryWrite(fd uintptr) bool {
	h := &c.write
	for h.n < len(h.b) {
		n, err := Write(fd, h.b[h.n:min(len(h.b), h.n+mostWrite)])
		if errors.Is(err, syscall.EAGAIN) {
			return false
		}
		if err != nil {
			h.err = err
			return true
		}
		h.n += n
	}
	return true
}

func (c *Conn) failed(op string, err error) error {
	return &net.OpError{Op: op, Net: c.LocalAddr().Network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// Listener gives quiet connections.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return Quiet(c), nil
}
