package router

import "slices"

// line is who waits for a place at replicas that take only so many requests at
// once: the first to come is the first to be served. The steering's lock guards
// it.
type line struct {
	waiting []chan struct{}
	// called are those that a place was given to and that have not taken it yet.
	called int
}

// busy reports whether somebody was there before who comes now.
func (l *line) busy() bool { return len(l.waiting)+l.called > 0 }

// join stands at the end. The channel gets a value when there is a place.
func (l *line) join() chan struct{} {
	c := make(chan struct{}, 1)
	l.waiting = append(l.waiting, c)
	return c
}

// next calls whoever is first, if anybody waits.
func (l *line) next() {
	if len(l.waiting) == 0 {
		return
	}
	l.waiting[0] <- struct{}{} // there is room for the one value that it ever gets
	l.waiting = slices.Delete(l.waiting, 0, 1)
	l.called++
}

// leave ends a wait. Who was called and goes without having looked for the place
// passes it on.
func (l *line) leave(c chan struct{}, looked bool) {
	if i := slices.Index(l.waiting, c); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		return
	}
	l.called--
	if !looked {
		l.next()
	}
}

// place is a request's own place in the line.
type place struct {
	// may: the request stands in line when it finds no replica. called: it is
	// its turn.
	may, called bool
	// held: the request counts at a replica, and leaves a place there.
	held bool
	in   chan struct{} // nil: it does not stand in line
	// crowded: at the last choice, all replicas had what they take at once.
	crowded bool
}

// leaveLine ends the request's wait in line, if it waits there.
func (x *exchange) leaveLine(s *steering, looked bool) {
	if x.place.in == nil {
		return
	}
	s.mu.Lock()
	s.line.leave(x.place.in, looked)
	s.mu.Unlock()
	x.place.in, x.place.called = nil, false
}
