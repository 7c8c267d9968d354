package upstream

import (
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"sync"
	"time"
)

// sending is a request that is still being sent while its answer is waited for.
type sending struct {
	mu   sync.Mutex
	over bool
	err  error
	left *conn // the answer was over first: to be kept when the request is
}

// lastWrite bounds the rest of a request whose answer is over.
const lastWrite = time.Second

// message is what is sent.
type message struct {
	head   []byte
	pieces [][]byte // of the body; nil: it has to be read
	body   io.ReadCloser
	length int64 // not above 0: unknown
}

// run writes the request and closes its body.
func (s *sending) run(c *conn, m message, keep func()) {
	err := m.write(c)
	keep()
	_ = m.body.Close() // it is not read any more
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over, s.err = true, err
	switch {
	case err == nil && s.left != nil:
		_ = s.left.SetWriteDeadline(time.Time{}) // if it is broken, the next request finds out
		s.left.peer.put(s.left)
	case s.left != nil, errors.Is(err, errBody): // the replica would wait for the rest
		c.abort()
	}
}

func (m *message) write(c *conn) error {
	if m.pieces != nil {
		return writeAll(c.plain, m.head, m.pieces)
	}
	if _, err := c.Write(m.head); err != nil {
		return err
	}
	from := &source{r: m.body}
	if m.length > 0 {
		n, err := io.Copy(c.Conn, io.LimitReader(from, m.length))
		if err == nil && n < m.length {
			err = fmt.Errorf("%w: it is shorter than it says", errBody)
		}
		return from.failure(err)
	}
	chunks := httputil.NewChunkedWriter(c.Conn)
	_, err := io.Copy(chunks, from)
	if err == nil {
		_, err = io.WriteString(c.Conn, "0\r\n\r\n")
	}
	return from.failure(err)
}

// source tells a body that fails from a connection that does.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = fmt.Errorf("%w: %w", errBody, err)
	}
	return n, err
}

func (s *source) failure(err error) error {
	if s.err != nil {
		return s.err
	}
	return err
}

// keep keeps the connection of an answer that is over, now or when the request is
// sent whole; what was not sent is not worth waiting for long.
func (s *sending) keep(c *conn) {
	if s == nil {
		c.peer.put(c)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.over:
		s.left = c
		_ = c.SetWriteDeadline(time.Now().Add(lastWrite)) // if it is broken, the writer finds out
	case s.err == nil:
		c.peer.put(c)
	default:
		c.abort()
	}
}

// failure is why it could not be sent; nil: it could, or is being sent.
func (s *sending) failure() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
