package topology

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// mostName bounds what a node is called: the wire has room for 64 bytes.
const mostName = 128

// text is the rest of a line that is being taken apart from the left. The first
// thing that does not fit makes it bad, and all after it fails.
type text struct {
	rest string
	bad  bool
}

// space skips white space: the tool prints tabs where its manual shows blanks.
func (t *text) space() { t.rest = strings.TrimLeft(t.rest, " \t") }

// word takes a piece that must be next, and reports whether it was.
func (t *text) word(w string) bool {
	rest, ok := strings.CutPrefix(t.rest, w)
	if ok {
		t.rest = rest
	}
	return ok
}

// want takes a piece that must be next.
func (t *text) want(w string) {
	if !t.word(w) {
		t.bad = true
	}
}

// span takes as many bytes as are in a set.
func (t *text) span(in func(byte) bool) string {
	n := 0
	for n < len(t.rest) && in(t.rest[n]) {
		n++
	}
	s := t.rest[:n]
	t.rest = t.rest[n:]
	return s
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isHex(c byte) bool   { return isDigit(c) || c >= 'a' && c <= 'f' }

// number takes a decimal that is no more than what ports and addresses have.
func (t *text) number() int {
	n, err := strconv.ParseUint(t.span(isDigit), 10, 16)
	if err != nil {
		t.bad = true
	}
	return int(n)
}

// guid takes hex digits and fills them up to 16.
func (t *text) guid() string {
	s := t.span(isHex)
	if s == "" || len(s) > 16 {
		t.bad = true
		return ""
	}
	return strings.Repeat("0", 16-len(s)) + s
}

// node takes the quoted kind and GUID of a node.
func (t *text) node() (kind byte, guid string) {
	t.want(`"`)
	if t.rest == "" {
		t.bad = true
		return 0, ""
	}
	kind, t.rest = t.rest[0], t.rest[1:]
	if kind != kindSwitch && kind != kindHost && kind != kindRouter {
		t.bad = true
	}
	t.want("-")
	guid = t.guid()
	t.want(`"`)
	return kind, guid
}

// port takes "[7]", and the number on the housing that may follow it.
func (t *text) port() int {
	t.want("[")
	n := t.number()
	t.want("]")
	if t.word("[ext ") {
		t.number()
		t.want("]")
	}
	return n
}

// portGUID takes "(2c90300a1b2c1)" where it is next.
func (t *text) portGUID() string {
	if !t.word("(") {
		return ""
	}
	g := t.guid()
	t.want(")")
	return g
}

// named takes a quoted name and goes on behind it. A name is free text and may
// hold quotes, so it ends at the last one that has after behind it.
func (t *text) named(after ...string) string {
	t.want(`"`)
	end, size := -1, 0
	for _, a := range after {
		if i := strings.LastIndex(t.rest, `"`+a); i > end {
			end, size = i, 1
		}
	}
	if end < 0 {
		t.bad = true
		return ""
	}
	name := t.rest[:end]
	t.rest = t.rest[end+size:]
	return clean(name)
}

// clean makes a name fit to be shown to people.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return ' '
	}, s)
	s = strings.TrimSpace(s)
	if len(s) > mostName {
		s = strings.TrimSpace(strings.ToValidUTF8(s[:mostName], ""))
	}
	return s
}

// rate takes "4xNDR"; either half may be question marks.
func (t *text) rate() (width int, speed string, gbps int) {
	if !t.question() {
		width = t.number()
	}
	t.word("x")
	if !t.question() {
		speed = t.span(func(c byte) bool { return isDigit(c) || c >= 'A' && c <= 'Z' })
		if speed == "" || len(speed) > 8 {
			t.bad = true
		}
	}
	return width, speed, int(math.Round(lane(speed) * float64(width)))
}

func (t *text) question() bool { return t.span(func(c byte) bool { return c == '?' }) != "" }

// lane is the data rate of one lane in Gb/s. Zero: unknown.
func lane(speed string) float64 {
	switch speed {
	case "SDR":
		return 2.5
	case "DDR":
		return 5
	case "QDR", "FDR10":
		return 10
	case "FDR":
		return 14
	case "EDR":
		return 25
	case "HDR":
		return 50
	case "NDR":
		return 100
	case "XDR":
		return 200
	}
	return 0
}
