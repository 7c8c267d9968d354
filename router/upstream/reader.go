package upstream

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"

	"llmgw.io/llmgw/internal/socket"
)

// blockBytes is what is read at once. A connection holds a block only while
// there are bytes in it, so that thousands of streams that wait share a few.
const blockBytes = 16 << 10

type block [blockBytes]byte

var blocks = sync.Pool{New: func() any { return new(block) }}

// reader is the incoming half of a connection.
type reader struct {
	src net.Conn
	// raw tells when there is something to read without a buffer to read it into.
	// Nil where the connection is not a plain socket: then it reads into a block.
	raw syscall.RawConn
	// below is what src runs over, if that is a plain socket.
	below syscall.RawConn
	try   func(fd uintptr) bool
	peek  func(fd uintptr) bool
	one   [1]byte
	tryN  int
	tryE  error

	own  *block // what buf is made of, unless it grew; nil: nothing is held
	buf  []byte
	from int // what has come and was not taken is buf[from:to]
	to   int
}

var errNoRoom = errors.New("upstream: the answer has a line or a head that is too long")

func (r *reader) init(src, below net.Conn) {
	r.src = src
	if raw, ok := socket.Plain(src); ok {
		r.raw = raw
	}
	if raw, ok := socket.Plain(below); ok {
		r.below = raw
	}
	r.try, r.peek = r.attempt, r.look
}

func (r *reader) buffered() []byte { return r.buf[r.from:r.to] }

// drop gives the block back; nothing may be in it.
func (r *reader) drop() {
	if r.own != nil {
		blocks.Put(r.own)
	}
	r.own, r.buf, r.from, r.to = nil, nil, 0, 0
}

func (r *reader) hold() {
	if r.buf == nil {
		r.own = blocks.Get().(*block)
		r.buf = r.own[:]
	}
}

// more waits for at least one more byte. What was buffered stays, but may move.
// most bounds what may be buffered.
func (r *reader) more(most int) error {
	if r.from == r.to {
		r.from, r.to = 0, 0
	} else if err := r.room(most); err != nil {
		return err
	}
	n, err := r.read()
	if n > 0 {
		r.to += n
		return nil
	}
	if err == nil {
		err = io.EOF
	}
	return err
}

// room makes place behind what is buffered.
func (r *reader) room(most int) error {
	if r.to-r.from >= most {
		return errNoRoom
	}
	if r.to < len(r.buf) {
		return nil
	}
	if r.from > 0 {
		r.to = copy(r.buf, r.buffered())
		r.from = 0
		return nil
	}
	grown := make([]byte, min(2*len(r.buf), most+1))
	n := copy(grown, r.buffered())
	r.drop()
	r.buf, r.to = grown, n
	return nil
}

func (r *reader) read() (int, error) {
	if r.raw == nil {
		r.hold()
		return r.src.Read(r.buf[r.to:])
	}
	r.tryN, r.tryE = 0, nil
	if err := r.raw.Read(r.try); err != nil {
		return 0, err
	}
	return r.tryN, r.tryE
}

// attempt reads what has come, and holds a block only when something has. It
// reports false when it must wait.
func (r *reader) attempt(fd uintptr) bool {
	r.hold()
	n, err := socket.Read(fd, r.buf[r.to:])
	if errors.Is(err, syscall.EAGAIN) {
		if r.from == r.to {
			r.drop()
		}
		return false
	}
	r.tryN, r.tryE = n, err
	return true
}

// quiet reports whether an idle connection is as it was left: still open, and
// nothing came that nobody asked for, which would be taken for the answer to the
// next request. Of what runs over no plain socket it knows what was read.
func (r *reader) quiet() bool {
	if r.from != r.to {
		return false
	}
	if r.below == nil {
		return true
	}
	r.tryE = nil
	err := r.below.Read(r.peek)
	return err == nil && errors.Is(r.tryE, syscall.EAGAIN)
}

// look reads a byte that should not be there.
func (r *reader) look(fd uintptr) bool {
	_, r.tryE = socket.Read(fd, r.one[:])
	return true
}

// direct reads into p where nothing is buffered.
func (r *reader) direct(p []byte) (int, error) {
	r.drop()
	n, err := r.src.Read(p)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// line takes the next line of at most `most` bytes without its CRLF, as far as
// it has come; ok tells that it has come whole.
func (r *reader) line(most int) (line []byte, ok bool, err error) {
	b := r.buffered()
	i := bytes.IndexByte(b, '\n')
	switch {
	case i < 0 && len(b) > most || i > most:
		return nil, false, errNoRoom
	case i < 0:
		return nil, false, nil
	case i == 0 || b[i-1] != '\r':
		return nil, false, errMalformed
	}
	r.from += i + 1
	return b[:i-1], true, nil
}
