package router

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
)

// A stream may last for long, and the goroutine that carries it keeps the stack
// that it once needed. So all that goes deep, to the choice of a replica and to an
// answer's head, is done by another one that ends when the stream's first bytes
// are sent, and the handler's own carries the rest: its stack stays half as large.

// begun finds replicas and asks them until one has answered, of a stream until its
// first bytes are sent.
func (x *exchange) begun() *failure {
	if !x.streams() {
		return x.route()
	}
	return aside(x.route)
}

// ending is how what was done aside ended.
type ending struct {
	f     *failure
	panic any
}

// aside has a goroutine do it. A panic becomes the caller's.
func aside(do func() *failure) *failure {
	over := make(chan ending, 1)
	go func() {
		var e ending
		defer func() {
			e.panic = recover()
			if err, _ := e.panic.(error); e.panic != nil && !errors.Is(err, http.ErrAbortHandler) {
				e.panic = fmt.Sprintf("%v\n%s", e.panic, debug.Stack())
			}
			over <- e
		}()
		e.f = do()
	}()
	e := <-over
	if e.panic != nil {
		panic(e.panic)
	}
	return e.f
}

// carry forwards the rest of a stream.
func (x *exchange) carry() *failure {
	l := x.rest
	if l == nil {
		return nil
	}
	t := l.t
	x.rest = nil
	defer t.leave()
	l.asides = unlikeAside
	_, f := l.run(false)
	f = l.over(f)
	t.judge(f)
	return f
}

// unlikeAside is how many times events are read aside before the stream's form is
// known: to learn it goes deep, and some have none to learn.
const unlikeAside = 4

// look looks at the events that are whole, aside where that may go deep.
func (l *relay) look() *failure {
	if l.asides == 0 || l.tally.Learnt() {
		return l.takeAll()
	}
	l.asides--
	return aside(l.takeAll)
}
