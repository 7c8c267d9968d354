package openai

import "bytes"

// likeness knows the event that came before. Almost all events of a stream differ in a few letters of one text: when
// what stands before and behind that text is the same, the event says the same, and need not be read. The zero value
// knows nothing.
type likeness struct {
	head, tail []byte
	said       Facts
	learnt     int
}

// relearn bounds how often a stream's events are learnt anew, since it costs more than reading one. Some change their
// form once or twice: from reasoning to an answer, or to a call.
const relearn = 8

// facts gives what an event says without reading it; false when it is unlike the one that was learnt.
func (l *likeness) facts(ev *Event) (Facts, bool) {
	if ev.lines != 1 || ev.Kind != KindData || ev.named {
		return Facts{}, false
	}
	b := ev.Raw[ev.data.Start:ev.data.End]
	if !l.frames(b) {
		return Facts{}, false
	}
	end := len(b) - len(l.tail)
	return l.said, plainRun(b[:end], len(l.head)) == end
}

// frames reports whether what was learnt stands before and behind some text.
func (l *likeness) frames(b []byte) bool {
	return len(l.head) > 0 && len(b) > len(l.head)+len(l.tail) && bytes.HasPrefix(b, l.head) && bytes.HasSuffix(b, l.tail)
}

// learn keeps an event for which others may be taken, if it is one: what it says is that one choice goes on, and that
// it has content. It would say so with any other text in the place of its own, since a text counts by being there.
func (l *likeness) learn(ev *Event, f Facts) {
	want := Facts{Choices: 1, Content: true, Call: f.Call, Whole: true}
	if f != want || ev.lines != 1 || ev.named || l.learnt == relearn {
		return
	}
	b := ev.Raw[ev.data.Start:ev.data.End]
	if l.frames(b) {
		return // its text alone had to be read
	}
	l.learnt++
	for _, name := range [...]string{`"content":"`, `"text":"`, `"reasoning_content":"`, `"reasoning":"`, `"arguments":"`} {
		if i := bytes.Index(b, []byte(name)); i >= 0 && l.take(b, i+len(name), want) {
			return
		}
	}
}

// take keeps what stands around the text at from, where an event with another text there says the same: one that could
// not stand there if it were no text, as in what is no JSON.
func (l *likeness) take(b []byte, from int, want Facts) bool {
	to := plainRun(b, from)
	if to == len(b) || b[to] != '"' {
		return false
	}
	var p Probe
	p.Write(b[:from])
	p.Write([]byte(",x"))
	p.Write(b[to:])
	if p.Facts() != want {
		return false
	}
	l.head, l.tail, l.said = append(l.head[:0], b[:from]...), append(l.tail[:0], b[to:]...), want
	return true
}
