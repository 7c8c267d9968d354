package openai

import "bytes"

// Probe finds the facts of one JSON answer that comes in pieces of any size. It keeps no bytes of the answer, so a body
// of gigabytes costs as much memory as a small one, and it gives the same facts for every way of cutting the body. It
// is lenient: what is not JSON ends the search, and what was found until then stands. The zero value is ready.
type Probe struct {
	state state
	role  role // of the value that comes next or is being read
	stack [8]role
	depth int

	nest  int  // containers around us within a value that we only look through
	watch bool // the value is content if its container holds anything
	calls bool // and that content is a call

	inKey   bool
	escaped bool // the last byte was a backslash
	length  int  // bytes of the string
	word    [24]byte
	n       int  // bytes of word
	long    bool // the text does not fit into word, or is not plain

	numbers [numberRoles]int64
	seen    uint16 // a bit for each number
	facts   Facts
	choices int
	listed  bool // there is a list of choices
	counted bool // the usage object is whole: one that was cut would be half a count
	ending  bool // the choice that is being read has come to its end
}

type state uint8

const (
	wantValue state = iota
	wantKey
	wantColon
	afterValue
	inString
	inLiteral
	lookThrough
	finished
)

// Write looks at the next piece of the answer.
func (p *Probe) Write(b []byte) {
	for i := 0; i < len(b); {
		switch p.state {
		case inString:
			i = p.text(b, i)
		case lookThrough:
			i = p.through(b, i)
		case inLiteral:
			i = p.literal(b, i)
		case finished:
			return
		default:
			p.step(b[i])
			i++
		}
	}
}

// Facts gives what was found so far.
func (p *Probe) Facts() Facts {
	f := p.facts
	f.Choices = -1
	if p.listed {
		f.Choices = p.choices
	}
	f.Usage, f.Source = p.usage()
	f.PerChoice = p.perChoice()
	return f
}

// step takes one byte outside strings and literals.
func (p *Probe) step(c byte) {
	if c == ' ' || c == '\n' || c == '\r' || c == '\t' {
		return
	}
	switch {
	case p.state == wantValue && c != ']' && c != '}':
		p.begin(c)
	case p.state == wantKey && c == '"':
		p.startString(true)
	case p.state == wantColon && c == ':':
		p.state = wantValue
	case c == ']' || c == '}':
		p.leave()
	case p.state == afterValue && c == ',':
		if p.stack[p.depth-1] == roleChoices {
			p.role, p.state = roleChoice, wantValue
		} else {
			p.state = wantKey
		}
	default:
		p.state = finished
	}
}

// begin takes the first byte of a value.
func (p *Probe) begin(c byte) {
	if p.role == roleChoice && p.depth > 0 {
		p.choices++
	}
	switch c {
	case '"':
		p.startString(false)
	case '{':
		p.enter(p.role.isObject())
	case '[':
		p.enter(p.role == roleChoices)
	default:
		p.startLiteral(c)
	}
}

func (p *Probe) startLiteral(c byte) {
	if c != 't' && c != 'f' && c != 'n' && c != '-' && (c < '0' || c > '9') {
		p.state = finished
		return
	}
	p.state, p.n, p.long = inLiteral, 0, false
	p.keep(c)
}

// enter steps into a container: one that we know by its role, or one to look through.
func (p *Probe) enter(known bool) {
	if !known {
		p.state, p.nest = lookThrough, 1
		p.watch = p.role == roleText || p.role == roleCalls
		p.calls = p.role == roleCalls
		p.facts.Failed = p.facts.Failed || p.role == roleError
		return
	}
	p.stack[p.depth] = p.role
	p.depth++
	p.state = wantKey
	switch p.role {
	case roleChoices:
		p.state, p.role = wantValue, roleChoice
		p.listed, p.choices = true, 0
	case roleChoice:
		p.seen &^= 1 << roleIndex
		p.ending = false
	case roleUsage:
		p.seen &^= usageNumbers
		p.counted = false
	}
}

// leave steps out of a container.
func (p *Probe) leave() {
	if p.depth--; p.depth <= 0 {
		p.facts.Whole = p.depth == 0 && p.state != wantColon
		p.state = finished
		return
	}
	switch p.stack[p.depth] {
	case roleUsage:
		p.counted = true
	case roleChoice:
		if p.ending {
			p.facts.Ended |= 1 << min(p.number(roleIndex), 63)
		}
	}
	p.state = afterValue
}

func (p *Probe) startString(key bool) {
	p.state, p.inKey, p.escaped = inString, key, false
	p.length, p.n, p.long = 0, 0, false
}

// keep adds a byte to the word, as far as there is room.
func (p *Probe) keep(c byte) {
	if p.n == len(p.word) {
		p.long = true
		return
	}
	p.word[p.n] = c
	p.n++
}

// text reads on in a string and gives the offset at which it stopped.
func (p *Probe) text(b []byte, i int) int {
	for i < len(b) {
		if p.escaped {
			p.escaped = false
			p.length++
			i++
			continue
		}
		j := plainRun(b, i)
		p.length += j - i
		if p.nest == 0 && p.n < len(p.word) {
			p.keepRun(b[i:j])
		} else if j > i {
			p.long = true
		}
		if i = j; i == len(b) {
			return i
		}
		i++
		switch b[j] {
		case '"':
			p.endString()
			return i
		case '\\':
			p.escaped, p.long = true, true
		default:
			p.length++
		}
	}
	return i
}

func (p *Probe) keepRun(run []byte) {
	k := copy(p.word[p.n:], run)
	p.n += k
	p.long = p.long || k < len(run)
}

// endString acts on a string that is whole.
func (p *Probe) endString() {
	switch {
	case p.nest > 0:
		p.state = lookThrough
	case p.inKey:
		p.state, p.role = wantColon, roleSkip
		if !p.long {
			p.role = roleOf(p.stack[p.depth-1], p.word[:p.n])
		}
	default:
		p.stringValue()
		p.ended()
	}
}

// ended goes on behind a value that is not a container.
func (p *Probe) ended() {
	p.state = afterValue
	if p.depth == 0 {
		p.facts.Whole = true
		p.state = finished
	}
}

func (p *Probe) stringValue() {
	word := p.word[:p.n]
	switch p.role {
	case roleText:
		p.facts.Content = p.facts.Content || p.length > 0
	case roleFinish:
		p.finish(word)
	case roleError:
		p.facts.Failed = p.facts.Failed || p.length > 0
	case roleObject:
		p.facts.Failed = p.facts.Failed || string(word) == "error"
	}
}

// finish takes a finish reason. Some engines send an empty one while a choice goes on. One that was aborted has no end:
// engines say so of what they drop when they are shut down.
func (p *Probe) finish(word []byte) {
	if p.length == 0 {
		return
	}
	p.facts.FinishReason = finishReason(word, p.long)
	p.ending = p.facts.FinishReason != FinishAborted
	p.facts.Failed = p.facts.Failed || !p.ending
}

// literal reads on in a number, true, false or null, and leaves the byte that ends it.
func (p *Probe) literal(b []byte, i int) int {
	for ; i < len(b); i++ {
		switch c := b[i]; c {
		case ',', '}', ']', ' ', '\n', '\r', '\t':
			p.endLiteral()
			return i
		default:
			p.keep(c)
		}
	}
	return i
}

func (p *Probe) endLiteral() {
	word := p.word[:p.n]
	switch {
	case p.role == roleError:
		p.facts.Failed = p.facts.Failed || string(word) != "null" && string(word) != "false"
	case p.role > roleTop && p.role < numberRoles && !p.long:
		if n, ok := parseTokens(word); ok {
			p.numbers[p.role] = n
			p.seen |= 1 << p.role
		}
	}
	p.ended()
}

// through reads on in a value that is only looked through.
func (p *Probe) through(b []byte, i int) int {
	for ; i < len(b); i++ {
		c := b[i]
		if c > '"' && c < '[' {
			p.found()
			continue
		}
		switch c {
		case ' ', '\n', '\r', '\t':
			continue
		case '"':
			p.found()
			p.startString(false)
			return i + 1
		case '{', '[':
			p.found()
			p.nest++
		case '}', ']':
			p.watch = false
			if p.nest--; p.nest == 0 {
				p.ended()
				return i + 1
			}
		default:
			p.found()
		}
	}
	return i
}

// found notes that a watched container is not empty.
func (p *Probe) found() {
	if p.watch {
		p.watch, p.facts.Content = false, true
		p.facts.Call = p.facts.Call || p.calls
	}
}

// FinishAborted is the reason of a choice that its engine dropped; OpenAI's list has none for it.
const FinishAborted = "abort"

// finishReason gives the reason from OpenAI's list, so that no text of an engine is kept.
func finishReason(word []byte, long bool) string {
	for _, known := range [...]string{"stop", "length", "tool_calls", "content_filter", "function_call", FinishAborted} {
		if !long && bytes.Equal(word, []byte(known)) {
			return known
		}
	}
	return "other"
}
