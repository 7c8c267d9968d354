package router

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"llmgw.io/llmgw/router/openai"
	"llmgw.io/llmgw/storage"
)

// heldBytes is how much of a stream is held back at most before its content.
const heldBytes = 64 << 10

// sentBytes is how much is gathered at most before it is sent on.
const sentBytes = 16 << 10

// relay is a stream on its way through. Whole events are forwarded as they come,
// byte for byte; those before the first content are held back, so that another
// replica can be asked when this one fails without having said anything.
type relay struct {
	t      *try
	from   source
	events openai.Stream
	tally  openai.Tally
	out    []byte    // events for the client
	now    time.Time // when the piece came that is looked at
	open   bool      // nothing is held back any more
	hide   bool      // the usage event was our wish, not the client's
	ev     openai.Event
	asides int // how many times events may yet be read aside
}

// relays are on the heap, and so are attempts: thousands of streams that wait
// should do with the stack that net/http needs anyway.
var relays = sync.Pool{New: func() any { return new(relay) }}

func (t *try) relay(res *http.Response) *failure {
	x := t.x
	l := relays.Get().(*relay)
	l.t, l.from, l.hide = t, sourceOf(res.Body), x.asked.Stream && !x.asked.IncludeUsage
	over, f := l.run(true)
	if !over {
		x.rest = l
		return nil
	}
	return l.over(f)
}

// over gives back what the stream held.
func (l *relay) over(f *failure) *failure {
	if l.t.x.shown {
		l.t.x.use(&l.tally, false)
	}
	*l = relay{out: l.out[:0]}
	relays.Put(l)
	return f
}

// run forwards what comes to the end, or until something was sent where only the
// first is asked for.
func (l *relay) run(first bool) (over bool, f *failure) {
	for {
		f, over = l.step()
		if over || first && l.t.x.shown {
			return over, f
		}
	}
}

// step forwards what has come. What lies there already is looked at too before
// anything is sent, so that many events cost one system call.
func (l *relay) step() (f *failure, over bool) {
	for {
		piece, more, err := l.from.Next()
		if err != nil {
			return l.end(err), true
		}
		l.now = time.Now()
		l.events.Feed(piece)
		if f := l.look(); f != nil {
			return l.stop(f), true
		}
		if l.events.Err() != nil {
			return l.stop(broken("event too large", "The replica sent an event that is too large; ask for a shorter answer.")), true
		}
		if more && len(l.out) < sentBytes {
			continue
		}
		f := l.flush()
		return f, f != nil
	}
}

// takeAll looks at the events that are whole.
func (l *relay) takeAll() *failure {
	ok := false
	for l.ev, ok = l.events.Next(); ok; l.ev, ok = l.events.Next() {
		if f := l.take(&l.ev); f != nil {
			return f
		}
	}
	return nil
}

// take looks at one event and puts it up for the client, unless it is the usage
// that only we asked for.
func (l *relay) take(ev *openai.Event) *failure {
	facts := l.tally.Add(ev)
	if facts.Failed {
		return l.engineFailed(ev)
	}
	if !l.hide || ev.Kind != openai.KindData || !facts.UsageOnly() {
		l.out = append(l.out, ev.Raw...)
	}
	if ev.Kind == openai.KindData && (facts.Content || l.open) && !l.tally.Done {
		l.progress(&facts)
	}
	l.open = l.open || facts.Content || facts.FinishReason != "" || l.tally.Done || len(l.out) > heldBytes
	return nil
}

// progress takes note of data. Engines that read tool calls as they are made hold
// back pieces of them for as long as they take, so within one there may be as much
// silence as before the first token.
func (l *relay) progress(facts *openai.Facts) {
	x, now := l.t.x, l.now
	if facts.Content && x.row.FirstByte == 0 {
		x.row.FirstByte = now.Sub(x.start)
	}
	if facts.Content {
		l.t.heard(now)
	}
	limit := x.r.cfg.Limits.Idle
	if facts.Call {
		limit = max(limit, x.r.cfg.Limits.FirstToken)
	}
	l.t.w.progress(now, limit)
}

// flush sends what is up for the client. The row is written before the end mark
// is sent: who has seen a whole answer finds it in the books.
func (l *relay) flush() *failure {
	if !l.open || len(l.out) == 0 {
		return nil
	}
	x := l.t.x
	if l.tally.Done && !x.settled {
		l.t.w.progress(l.now, afterDone)
		l.settle()
	}
	if !x.shown {
		x.shown = true
		x.letGo()
	}
	err := x.out.event(l.out, l.now)
	if l.out = l.out[:0]; cap(l.out) > heldBytes {
		l.out = nil // one huge event must not hold its memory for hours
	}
	if err != nil && !l.tally.Done {
		return gone()
	}
	return nil
}

func (l *relay) settle() {
	x := l.t.x
	x.row.Status, x.row.Outcome = http.StatusOK, storage.OutcomeOK
	x.use(&l.tally, true)
	x.settle("")
}

// stop sends what came whole before the trouble.
func (l *relay) stop(f *failure) *failure {
	if l.open {
		if gone := l.flush(); gone != nil {
			return gone
		}
	}
	return f
}

// end judges how a stream ended. One without an end mark is whole only when every
// choice had come to its end; else nobody may take what came for an answer.
func (l *relay) end(err error) *failure {
	whole := l.tally.Done || errors.Is(err, io.EOF) && l.tally.Whole(l.t.x.asked.Choices())
	if ev, ok := l.events.Finish(); ok && errors.Is(err, io.EOF) {
		before := len(l.out)
		if f := l.take(&ev); f != nil {
			return l.stop(f)
		}
		if whole = whole || l.tally.Done; !whole {
			l.out = l.out[:before] // half an event, with an error to come after it
		}
	}
	if !whole {
		return l.stop(l.t.interrupted("broke off", "The replica broke off in the middle of its answer; try again."))
	}
	if f := l.flush(); f != nil {
		return f
	}
	if !l.t.x.settled {
		l.settle()
	}
	l.t.x.out.close()
	return nil
}

// engineFailed is an error that an engine sent as an event, under a status that
// said that all was well.
func (l *relay) engineFailed(ev *openai.Event) *failure {
	data := ev.Data(nil)
	status := http.StatusInternalServerError
	if l.tally.FinishReason == openai.FinishAborted {
		return broken("aborted", "The replica gave up in the middle of its answer; try again.")
	}
	if e, ok := openai.ReadError(data); ok {
		if n, err := strconv.Atoi(e.Code); err == nil && n >= 400 && n < 600 {
			status = n
		}
	}
	f := engineFailure(status, nil, data, l.t.secrets()...)
	f.upstream = http.StatusOK
	return f
}
