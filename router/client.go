package router

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// client is the way to whoever asked. The handler and the heartbeat write to it.
type client struct {
	mu       sync.Mutex
	w        http.ResponseWriter
	rc       *http.ResponseController
	direct   interface{ FlushError() error } // what rc would find; nil: it has to look
	started  bool                            // the status is spent
	stream   bool                            // and what follows are events
	closed   bool
	whole    bool      // what comes may be no stream, so no comment may go before it
	deadline time.Time // of the connection's writes; zero: none set
	sent     time.Time // of the last bytes; of the request before
}

// comment is what a silent stream's client hears.
const comment = ": waiting\n\n"

func (c *client) init(w http.ResponseWriter) {
	c.w, c.rc, c.sent = w, http.NewResponseController(w), time.Now()
	if f, ok := w.(interface{ FlushError() error }); ok {
		c.direct = f
	}
}

func (c *client) begun() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started
}

// events reports whether a stream has begun.
func (c *client) events() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started && c.stream
}

// noComments keeps comments away from here on, and reports whether there was none.
func (c *client) noComments() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whole = !c.started
	return c.whole
}

// comments allows them, since events are waited for.
func (c *client) comments() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whole = false
}

// beginStream sends the header of a stream, once.
func (c *client) beginStream() {
	if c.started {
		return
	}
	h := c.w.Header()
	h["Content-Type"] = []string{"text/event-stream"}
	h["Cache-Control"] = []string{"no-cache"}
	h["X-Accel-Buffering"] = []string{"no"} // proxies before us would hold events back
	c.w.WriteHeader(http.StatusOK)
	c.started, c.stream = true, true
}

// event sends whole events at once.
func (c *client) event(b []byte, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errOver
	}
	c.beginStream()
	return c.write(b, now)
}

// beat sends a comment when there was nothing for so long, and returns how long
// to wait for the next one.
func (c *client) beat(every time.Duration, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.whole {
		return every
	}
	if silent := now.Sub(c.sent); silent < every {
		return every - silent
	}
	c.beginStream()
	// A client that is gone is noticed by its context.
	_ = c.write([]byte(comment), now)
	return every
}

func (c *client) write(b []byte, now time.Time) error {
	c.allow(now)
	c.sent = now
	if _, err := c.w.Write(b); err != nil {
		return err
	}
	if c.direct != nil {
		return c.direct.FlushError()
	}
	return c.rc.Flush()
}

// piece sends a part of an answer that is no stream.
func (c *client) piece(b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started = true
	c.allow(time.Now())
	_, err := c.w.Write(b)
	return err
}

// send sends a whole answer and closes. What the client has not sent yet of its
// request is waited for as little as what it does not read.
func (c *client) send(status int, b []byte) {
	c.mu.Lock()
	c.started = true
	now := time.Now()
	c.allow(now)
	// A server reads what is left of a body before it answers, without a limit of
	// its own. Not every writer has deadlines.
	_ = c.rc.SetReadDeadline(now.Add(clientBody / 2))
	c.w.Header()["Content-Length"] = []string{strconv.Itoa(len(b))}
	c.w.WriteHeader(status)
	_, _ = c.w.Write(b) // a client that is gone needs no answer
	c.mu.Unlock()
	c.close()
}

// allow puts off the time at which a client that reads nothing is given up.
func (c *client) allow(now time.Time) {
	if now.Add(clientWrite / 2).Before(c.deadline) {
		return
	}
	c.deadline = now.Add(clientWrite)
	_ = c.rc.SetWriteDeadline(c.deadline) // not every writer has deadlines
}

// last sends a stream's last event and closes.
func (c *client) last(b []byte) {
	_ = c.event(b, time.Now()) // a client that is gone needs no error
	c.close()
}

// close ends all writing; the connection may carry another request. What the
// server still holds is sent first: later there is no limit to it.
func (c *client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if !c.deadline.IsZero() {
		_ = c.rc.Flush()                       // a client that is gone is no news
		_ = c.rc.SetWriteDeadline(time.Time{}) // as in allow
		c.deadline = time.Time{}
	}
}
