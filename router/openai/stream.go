package openai

import (
	"bytes"
	"errors"
)

// ErrEventTooLarge means that an event is longer than Stream.MaxEvent. The stream cannot be followed any further.
var ErrEventTooLarge = errors.New("openai: an event of the stream is too large")

const defaultMaxEvent = 8 << 20

// Stream cuts the bytes of a server-sent event stream into events, whatever pieces they come in: the same bytes give
// the same events for every way of cutting them. The events' Raw bytes, joined and followed by what Finish gives, are
// the bytes that were fed.
//
//	s.Feed(piece)
//	for ev, ok := s.Next(); ok; ev, ok = s.Next() { … }
//
// Lines end with LF, CRLF or a lone CR. An event that lies in one piece is not copied; only the beginning of one that
// does not is kept, so memory is bounded by the longest event that was cut. The zero value is ready.
type Stream struct {
	// MaxEvent is the longest event, in bytes; 0 means 8 MiB.
	MaxEvent int

	buf  []byte // from head on: the beginning of an event that came in an earlier piece
	head int
	rest []byte // what was fed and is not looked at yet
	err  error

	begun bool // the first line of the stream has been seen: no byte order mark comes any more
	block block
	pos   int  // start of the current line, relative to the current event
	scan  int  // where the search for its end goes on
	lf    int  // the next LF at or after scan, or the end of the view; less than scan when not known
	crlf  bool // the last line ended with CRLF
}

// Feed gives the stream its next piece. Call it when Next has nothing more. piece must not change until Next says so
// again.
func (s *Stream) Feed(piece []byte) {
	s.rest = piece
	s.lf = -1
}

// Err tells why the stream cannot be followed; nil while it can.
func (s *Stream) Err() error { return s.err }

// Next gives the next whole event, or false when more bytes are needed or the stream has failed. The event is valid
// until the next call of Next, Feed or Finish.
func (s *Stream) Next() (Event, bool) {
	if s.head == len(s.buf) {
		s.forget()
	}
	for s.err == nil {
		v := s.view()
		if n := s.advance(v); n > 0 {
			return s.take(v, n)
		}
		if !s.more() {
			break
		}
	}
	return Event{}, false
}

// Finish gives what is left when the stream has ended: bytes without the empty line that ends an event. It is false
// when there are none. Such an event is marked Cut; decoders drop it, but its bytes belong to the stream.
func (s *Stream) Finish() (Event, bool) {
	v := s.view()
	if len(v) == 0 {
		return Event{}, false
	}
	from := s.lineStart(v)
	if line := bytes.TrimRight(v[min(from, len(v)):], "\r"); len(line) > 0 {
		s.block.line(line, from)
	}
	ev := s.block.event(v)
	ev.Cut = true
	s.block, s.pos, s.scan, s.lf = block{}, 0, 0, -1
	s.head, s.rest = len(s.buf), nil
	return ev, true
}

// view is the bytes of the current event and what follows it.
func (s *Stream) view() []byte {
	if s.head < len(s.buf) {
		return s.buf[s.head:]
	}
	return s.rest
}

// forget empties the buffer, and gives a large one back: one huge event must not cost its memory for hours.
func (s *Stream) forget() {
	const keep = 64 << 10
	s.buf, s.head = s.buf[:0], 0
	if cap(s.buf) > keep {
		s.buf = nil
	}
}

func (s *Stream) max() int {
	if s.MaxEvent > 0 {
		return s.MaxEvent
	}
	return defaultMaxEvent
}

// take makes the event of the first n bytes of v and moves past it.
func (s *Stream) take(v []byte, n int) (Event, bool) {
	if n > s.max() {
		s.err = ErrEventTooLarge
		return Event{}, false
	}
	ev := s.block.event(v[:n:n])
	s.block, s.pos, s.scan = block{}, 0, 0
	s.lf -= n
	if s.head == len(s.buf) {
		s.rest = s.rest[n:]
	} else if s.head += n; s.head == len(s.buf) {
		s.lf = -1
	}
	return ev, true
}

// more makes the view longer and reports whether it could. An event that was begun in an earlier piece takes one line
// at a time, so that what follows it in this piece need not be copied.
func (s *Stream) more() bool {
	s.lf = -1
	if len(s.view()) > s.max() {
		s.err = ErrEventTooLarge
		return false
	}
	if s.head == len(s.buf) {
		s.buf, s.head = append(s.buf[:0], s.rest...), 0
		s.rest = nil
		return false
	}
	if len(s.rest) == 0 {
		return false
	}
	n := bytes.IndexByte(s.rest, '\n') + 1
	if n == 0 {
		n = len(s.rest)
	}
	if s.head > 0 {
		s.buf, s.head = append(s.buf[:0], s.buf[s.head:]...), 0
	}
	s.buf = append(s.buf, s.rest[:n]...)
	s.rest = s.rest[n:]
	return true
}

// advance reads whole lines of v and gives the length of the event that they end, or 0. An empty line without an event
// before it ends an empty event: it may be there to keep the connection alive, and must not be kept back.
func (s *Stream) advance(v []byte) int {
	for {
		end, next := s.endOfLine(v)
		if next == 0 {
			return 0
		}
		from := s.lineStart(v)
		s.pos, s.scan = next, next
		if end <= from {
			return next
		}
		s.block.line(v[from:end], from)
	}
}

// lineStart gives the start of the current line's text: behind the byte order mark on the first line of the stream.
func (s *Stream) lineStart(v []byte) int {
	from := s.pos
	if !s.begun && bytes.HasPrefix(v, []byte("\ufeff")) {
		from += len("\ufeff")
	}
	s.begun = true
	return from
}

// endOfLine finds the end of the current line and the start of the next one, or 0 when more bytes are needed.
//
// A CR at the end of the view may be half of a CRLF. It is waited for, but not at the empty line of a stream that
// ends its lines with lone CRs: there the event is whole, and its reader must not wait for the next. Should an LF
// follow all the same, it counts as an empty line of its own, however the bytes were cut.
func (s *Stream) endOfLine(v []byte) (end, next int) {
	end = s.search(v)
	if end == len(v) {
		s.scan = end
		return end, 0
	}
	if v[end] == '\n' {
		s.crlf = false
		return end, end + 1
	}
	if end == s.pos && s.block.lines > 0 && !s.crlf {
		return end, end + 1
	}
	if end+1 == len(v) {
		s.scan = end
		return end, 0
	}
	if s.crlf = v[end+1] == '\n'; s.crlf {
		return end, end + 2
	}
	return end, end + 1
}

// search gives the first CR or LF at or after scan, or the length of v. The place of the next LF is kept, so that a
// stream of CRs is not searched to its end for each of them.
func (s *Stream) search(v []byte) int {
	if s.lf < s.scan {
		s.lf = len(v)
		if i := bytes.IndexByte(v[s.scan:], '\n'); i >= 0 {
			s.lf = s.scan + i
		}
	}
	if i := bytes.IndexByte(v[s.scan:s.lf], '\r'); i >= 0 {
		return s.scan + i
	}
	return s.lf
}
