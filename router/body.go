package router

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// keepBuffer is the largest buffer that goes back into the pool: one huge prompt
// must not hold its memory for hours.
const keepBuffer = 1 << 20

var errTooLarge = errors.New("router: the request is too large")

var bodies = sync.Pool{New: func() any { return new(buffer) }}

// Most bodies have less than smallBody bytes; none costs more than firstRoom
// before more of it has come.
const (
	smallBody = 2 << 10
	firstRoom = 16 << 10
)

// buffer is pooled memory that several may read at once: the transport goes on
// reading a request's body after it has given up the exchange.
type buffer struct {
	b    []byte
	refs atomic.Int32
}

func newBuffer() *buffer {
	b := bodies.Get().(*buffer)
	b.b = b.b[:0]
	b.refs.Store(1)
	return b
}

func (b *buffer) retain() { b.refs.Add(1) }

func (b *buffer) release() {
	if b != nil && b.refs.Add(-1) == 0 && cap(b.b) <= keepBuffer {
		bodies.Put(b)
	}
}

// fill reads a body of at most limit bytes. declared is the length its sender
// gave, -1 for none; memory is taken as bytes come, not as they are announced.
func (b *buffer) fill(body io.Reader, declared, limit int64) error {
	if declared > limit {
		return errTooLarge
	}
	if first := min(max(declared+1, smallBody), firstRoom); int64(cap(b.b)) < first {
		b.b = make([]byte, 0, first)
	}
	for {
		if len(b.b) == cap(b.b) {
			b.grow(declared)
		}
		n, err := body.Read(b.b[len(b.b):cap(b.b)])
		b.b = b.b[:len(b.b)+n]
		if int64(len(b.b)) > limit {
			return errTooLarge
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// grow makes room: up to the declared length once a sixteenth of it has come.
func (b *buffer) grow(declared int64) {
	size := 2 * cap(b.b)
	if declared > 0 && declared < int64(16*len(b.b)) {
		size = max(int(declared)+1, len(b.b)+1)
	}
	grown := make([]byte, len(b.b), size)
	copy(grown, b.b)
	b.b = grown
}

// readBody reads the request's body into a buffer. A client that sends nothing
// for too long is gone.
func readBody(w http.ResponseWriter, req *http.Request, limit int64) (*buffer, error) {
	b := newBuffer()
	rc := http.NewResponseController(w)
	// Not every writer has deadlines; those of net/http do.
	_ = rc.SetReadDeadline(time.Now().Add(clientBody))
	err := b.fill(&patient{body: req.Body, rc: rc, next: time.Now().Add(clientBody / 2)}, req.ContentLength, limit)
	if err != nil {
		b.release()
		return nil, err // the deadline stays: the server reads what is left of the body
	}
	_ = rc.SetReadDeadline(time.Time{}) // else the wait for the client's end would run into it
	return b, nil
}

// patient puts the deadline off while bytes come.
type patient struct {
	body io.Reader
	rc   *http.ResponseController
	next time.Time
}

func (p *patient) Read(b []byte) (int, error) {
	n, err := p.body.Read(b)
	if now := time.Now(); err == nil && now.After(p.next) {
		_ = p.rc.SetReadDeadline(now.Add(clientBody)) // as in readBody
		p.next = now.Add(clientBody / 2)
	}
	return n, err
}

// sentBody is a request's body on its way to a replica: pieces of a buffer, and
// small ones beside.
type sentBody struct {
	mu     sync.Mutex
	buf    *buffer  // nil when closed
	pieces [][]byte // shared with others who send the same
	off    int      // of the first
	whole  [1][]byte
}

// send gives the buffer's bytes, or pieces of them with others between.
func (b *buffer) send(pieces [][]byte) *sentBody {
	b.retain()
	s := &sentBody{buf: b, pieces: pieces}
	if pieces == nil {
		s.whole[0] = b.b
		s.pieces = s.whole[:]
	}
	return s
}

// Slices gives the bytes at once, of a body that was not read yet; they stay as
// they are until Close.
func (s *sentBody) Slices() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pieces
}

// Read gives the next bytes; after Close there are none, since the memory may
// belong to another request by then.
func (s *sentBody) Read(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buf == nil {
		return 0, errOver
	}
	if len(s.pieces) == 0 {
		return 0, io.EOF
	}
	n = copy(p, s.pieces[0][s.off:])
	if s.off += n; s.off == len(s.pieces[0]) {
		s.pieces, s.off = s.pieces[1:], 0
	}
	return n, nil
}

// Close gives the memory back.
func (s *sentBody) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf.release()
	s.buf, s.pieces = nil, nil
	return nil
}

// length is how many bytes there are.
func (s *sentBody) length() (n int64) {
	for _, p := range s.pieces {
		n += int64(len(p))
	}
	return n
}
