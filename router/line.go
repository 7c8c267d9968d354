package router

import "slices"

// line is who waits for a place at replicas that take only so many requests at
// once: the first to come is the first to be served. The steering's lock guards
// it.
type line struct {
	waiting []chan bool
	// called are those that a place was given to and that have not taken it yet.
	called int
}

// ahead reports whether somebody was there before who stands at c; nil stands
// nowhere yet.
func (l *line) ahead(c chan bool) bool {
	return l.called > 0 || len(l.waiting) > 0 && l.waiting[0] != c
}

// join stands at the end. The channel gets a value when there is a place: true
// when there may be more of them.
func (l *line) join() chan bool {
	c := make(chan bool, 1)
	l.waiting = append(l.waiting, c)
	return c
}

// back puts who was called in vain where it stood.
func (l *line) back(c chan bool) {
	l.called--
	l.waiting = slices.Insert(l.waiting, 0, c)
}

// next calls whoever is first, if anybody waits.
func (l *line) next(more bool) {
	if len(l.waiting) == 0 {
		return
	}
	l.waiting[0] <- more // there is room: who stands here has heard no call
	l.waiting = slices.Delete(l.waiting, 0, 1)
	l.called++
}

// leave ends a wait.
func (l *line) leave(c chan bool) {
	if i := slices.Index(l.waiting, c); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	} else {
		l.called--
	}
}

// place is a request's own place in the line.
type place struct {
	// may: the request stands in line when it finds no replica. called: it is
	// its turn.
	may, called bool
	// more: there may be more places than the one it was called for.
	more bool
	// held: the request counts at a replica, and leaves a place there.
	held bool
	in   chan bool // nil: it does not stand in line
	// crowded: at the last choice, all replicas had what they take at once.
	crowded bool
}

// leaveLine ends the request's wait in line, if it waits there. Who was called
// and goes passes the place on; who found one without a call, since endpoints
// have come up, calls the next to look for more.
func (x *exchange) leaveLine(s *steering, served bool) {
	p := &x.place
	if p.in == nil {
		return
	}
	s.mu.Lock()
	s.line.leave(p.in)
	if served != p.called || p.more {
		s.line.next(served)
	}
	s.mu.Unlock()
	p.in, p.called, p.more = nil, false, false
}
