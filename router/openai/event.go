package openai

import "bytes"

// Kind says what an event is.
type Kind uint8

// The kinds of events.
const (
	// KindOther has no data: fields that decoders drop, or nothing but an empty line.
	KindOther Kind = iota
	// KindComment has comments only; engines send them to keep a connection alive.
	KindComment
	// KindData has data.
	KindData
	// KindDone is the end mark, "data: [DONE]".
	KindDone
)

// Event is one event of a stream.
type Event struct {
	// Raw is the event's bytes as they came, with the empty line that ends it.
	Raw []byte
	// Kind says what the event is.
	Kind Kind
	// Cut is true when the stream ended within the event. Only Finish gives such events.
	Cut bool

	data  Span // the first data line's value
	lines int  // data lines
	named bool // the event's name is "error"
}

// Data gives the event's data: the values of its data lines, joined by LF. A single line is not copied; several are
// appended to dst.
func (e *Event) Data(dst []byte) []byte {
	if e.lines <= 1 {
		return e.Raw[e.data.Start:e.data.End]
	}
	rest := e.Raw[e.data.Start:]
	dst = append(dst, e.Raw[e.data.Start:e.data.End]...)
	rest = rest[e.data.End-e.data.Start:]
	for len(rest) > 0 {
		var text []byte
		text, rest = cutLine(rest)
		if name, value := splitField(text); string(name) == "data" {
			dst = append(append(dst, '\n'), value...)
		}
	}
	return dst
}

// Facts reads what the event's data says. Only KindData has any.
func (e *Event) Facts() Facts {
	var p Probe
	if e.Kind == KindData {
		p.Write(e.Data(nil))
	}
	f := p.Facts()
	f.Failed = f.Failed || e.named
	return f
}

// cutLine takes the first line off.
func cutLine(b []byte) (line, rest []byte) {
	i := bytes.IndexAny(b, "\r\n")
	switch {
	case i < 0:
		return b, nil
	case b[i] == '\r' && i+1 < len(b) && b[i+1] == '\n':
		return b[:i], b[i+2:]
	}
	return b[:i], b[i+1:]
}

// splitField takes a line apart. One space after the colon is not part of the value; a line without a colon is a name
// with an empty value.
func splitField(line []byte) (name, value []byte) {
	name, value, _ = bytes.Cut(line, []byte(":"))
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return name, value
}

// block gathers the lines of one event.
type block struct {
	lines   int // lines that are not empty
	fields  int // those of them that are no comments
	data    Span
	datas   int
	done    bool
	isError bool
}

// line takes a line that begins at the offset at of the event.
func (b *block) line(text []byte, at int) {
	b.lines++
	if text[0] == ':' {
		return
	}
	b.fields++
	name, value := splitField(text)
	switch string(name) {
	case "data":
		b.value(value, at+len(text))
		b.done = b.datas == 1 && string(bytes.TrimSpace(value)) == "[DONE]"
	case "event":
		b.isError = string(value) == "error"
	case "error":
		// Older llama-servers name the field, not the event.
		b.isError = true
		b.value(value, at+len(text))
	}
}

// value takes the value of a line of data that ends at the offset end of the event.
func (b *block) value(value []byte, end int) {
	if b.datas++; b.datas == 1 {
		b.data = Span{end - len(value), end}
	}
}

func (b *block) event(raw []byte) Event {
	ev := Event{Raw: raw, data: b.data, lines: b.datas, named: b.isError}
	switch {
	case b.datas == 1 && b.done:
		ev.Kind = KindDone
	case b.datas > 0:
		ev.Kind = KindData
	case b.lines > 0 && b.fields == 0:
		ev.Kind = KindComment
	}
	return ev
}
