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

// relearn bounds how often a stream's events are learnt anew, since it costs more than reading one.
const relearn = 4

// facts gives what an event says without reading it; false when it is unlike the one that was learnt.
func (l *likeness) facts(ev *Event) (Facts, bool) {
	if len(l.head) == 0 || ev.lines != 1 || ev.Kind != KindData {
		return Facts{}, false
	}
	b := ev.Raw[ev.data.Start:ev.data.End]
	end := len(b) - len(l.tail)
	if end <= len(l.head) || ev.named || !bytes.HasPrefix(b, l.head) || !bytes.HasSuffix(b, l.tail) {
		return Facts{}, false
	}
	return l.said, plainRun(b[:end], len(l.head)) == end
}

// learn keeps an event for which others may be taken, if it is one: what it says is that one choice goes on, and that
// it has content. It would say so with any other text in the place of its own, since a text counts by being there.
func (l *likeness) learn(ev *Event, f Facts) {
	want := Facts{Choices: 1, Content: true, Call: f.Call, Whole: true}
	if f != want || ev.lines != 1 || ev.named || l.learnt == relearn {
		return
	}
	l.learnt++
	b := ev.Raw[ev.data.Start:ev.data.End]
	for _, name := range [...]string{`"content":"`, `"text":"`, `"reasoning_content":"`, `"reasoning":"`, `"arguments":"`} {
		if i := bytes.Index(b, []byte(name)); i >= 0 && l.try(b, i+len(name), want) {
			l.said = want
			return
		}
	}
	l.head, l.tail = l.head[:0], l.tail[:0]
}

// try keeps what stands around the text at from, and reports whether an event with another text there says the same:
// one that could not stand there if it were no text, as in what is no JSON.
func (l *likeness) try(b []byte, from int, want Facts) bool {
	to := plainRun(b, from)
	if to == len(b) || b[to] != '"' {
		return false
	}
	l.head, l.tail = append(l.head[:0], b[:from]...), append(l.tail[:0], b[to:]...)
	var p Probe
	p.Write(l.head)
	p.Write([]byte(",x"))
	p.Write(l.tail)
	return p.Facts() == want
}
