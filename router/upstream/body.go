package upstream

import (
	"errors"
	"io"
	"math"
)

// Body is the body of an answer of a Pool.
type Body interface {
	io.ReadCloser
	// Next waits until something has come and returns it as it lies in memory,
	// until the next call of any method. more tells that further bytes are at hand,
	// or the end is, so that the next call will not wait. The error is io.EOF at the
	// end of a body that was whole; there is no piece with an error.
	Next() (piece []byte, more bool, err error)
}

// maxLine bounds the lines between chunks.
const maxLine = 256

// maxTrailer bounds what may stand behind the last chunk, in bytes.
const maxTrailer = 8 << 10

// stage is where a body stands.
type stage uint8

const (
	inData stage = iota
	afterData
	atSize
	inTrailer
	ended
)

// body is what is left of an answer.
type body struct {
	c       *conn       // nil once it is given back
	stop    func() bool // ends the watch of the context; false: it closed the connection
	sending *sending    // nil: the request is sent
	stage   stage
	left    int64 // of the chunk, or of the whole body
	chunked bool
	toClose bool // the body ends with the connection
	keep    bool
	trailer int
	wrong   error // between chunks; what came before it is given first
	err     error // that the body ended with
}

// begin sets out from an answer's head.
func (b *body) begin(h *head) {
	b.keep, b.chunked = h.keep, h.chunked
	switch {
	case h.chunked:
		b.stage = atSize
	case h.length >= 0:
		b.left = h.length
	default:
		b.left, b.toClose, b.keep = math.MaxInt64, true, false
	}
	if b.left == 0 && b.stage == inData {
		b.stage = ended
	}
}

// Next is as Body says.
func (b *body) Next() (piece []byte, more bool, err error) {
	if err := b.ready(); err != nil {
		return nil, false, err
	}
	in := &b.c.in
	for len(in.buffered()) == 0 {
		if err := in.more(blockBytes); err != nil {
			return nil, false, b.fail(err)
		}
	}
	piece = in.buffered()
	piece = piece[:min(int64(len(piece)), b.left)]
	in.from += len(piece)
	return piece, b.took(len(piece)), nil
}

// Read reads as io.Reader has it. The error at the end may come with bytes.
func (b *body) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := b.ready(); err != nil {
		return 0, err
	}
	in := &b.c.in
	if p = p[:min(int64(len(p)), b.left)]; len(in.buffered()) == 0 && len(p) >= blockBytes {
		n, err = in.direct(p)
	} else {
		if len(in.buffered()) == 0 {
			err = in.more(blockBytes)
		}
		n = copy(p, in.buffered())
		in.from += n
	}
	if err != nil {
		return n, b.fail(err)
	}
	b.took(n)
	if b.stage == ended {
		return n, b.over()
	}
	return n, nil
}

// ready brings the body to its next bytes, waiting where it must.
func (b *body) ready() error {
	if b.err != nil {
		return b.err
	}
	for {
		ok, err := b.step()
		if err != nil {
			return b.fail(err)
		}
		if ok {
			break
		}
		if err := b.c.in.more(blockBytes); err != nil {
			return b.fail(err)
		}
	}
	if b.stage == ended {
		return b.over()
	}
	return nil
}

// took counts n bytes of data and reports whether the next call need not wait.
func (b *body) took(n int) (more bool) {
	if !b.toClose {
		b.left -= int64(n)
	}
	if b.left == 0 {
		b.stage = ended
		if b.chunked {
			b.stage = afterData
		}
	}
	ok, err := b.step() // an error comes again at the next call
	return err != nil || ok && (b.stage == ended || len(b.c.in.buffered()) > 0)
}

// step reads on between chunks in what has come, to the next data or the end.
// It reports false when more must come.
func (b *body) step() (ok bool, err error) {
	if b.wrong == nil {
		ok, b.wrong = b.walk()
	}
	return ok, b.wrong
}

func (b *body) walk() (ok bool, err error) {
	in := &b.c.in
	for b.stage != inData && b.stage != ended {
		line, ok, err := in.line(maxLine)
		if err != nil || !ok {
			return false, err
		}
		switch b.stage {
		case afterData:
			if len(line) != 0 {
				return false, errMalformed
			}
			b.stage = atSize
		case atSize:
			if b.left, ok = parseSize(line); !ok {
				return false, errMalformed
			}
			b.stage = inData
			if b.left == 0 {
				b.stage = inTrailer
			}
		case inTrailer:
			if err := b.trail(line); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// trail takes a line behind the last chunk; trailers are dropped.
func (b *body) trail(line []byte) error {
	if len(line) == 0 {
		b.stage = ended
		return nil
	}
	b.trailer += len(line)
	if _, _, ok := field(string(line)); !ok || b.trailer > maxTrailer {
		return errMalformed
	}
	return nil
}

// parseSize reads the line before a chunk: hexadecimal digits, and extensions
// that nobody asked for.
func parseSize(line []byte) (n int64, ok bool) {
	digits := 0
	for _, c := range line {
		d := unhex(c)
		if d < 0 {
			break
		}
		if digits++; digits > 15 {
			return 0, false
		}
		n = n<<4 | int64(d)
	}
	rest := line[digits:]
	for len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t') {
		rest = rest[1:]
	}
	return n, digits > 0 && (len(rest) == 0 || rest[0] == ';' && plain(string(rest)))
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// fail ends a body that is not whole.
func (b *body) fail(err error) error {
	switch {
	case errors.Is(err, io.EOF) && b.toClose:
		return b.over()
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	b.err = err
	b.release(false)
	return err
}

// over ends a body that is whole.
func (b *body) over() error {
	b.err = io.EOF
	b.release(true)
	return b.err
}

// Close ends the exchange. The connection is kept only where the body was read
// to its end, which may be at hand.
func (b *body) Close() error {
	if b.err == nil {
		if ok, err := b.step(); ok && err == nil && b.stage == ended {
			_ = b.over() // it is io.EOF
			return nil
		}
		b.err = errClosed
	}
	b.release(false)
	return nil
}

// release gives the connection back, or closes it.
func (b *body) release(whole bool) {
	c := b.c
	if c == nil {
		return
	}
	b.c = nil
	alive := b.stop()
	clean := len(c.in.buffered()) == 0
	c.in.from = c.in.to
	c.in.drop()
	if alive && whole && clean && b.keep {
		b.sending.keep(c)
		return
	}
	c.abort()
}
