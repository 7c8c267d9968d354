package openai

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// cursor walks a JSON text by the strict grammar of RFC 8259. It assumes valid UTF-8, which Scan checks first for the
// whole body at once, and allocates only to report an error.
type cursor struct {
	b        []byte
	i        int
	maxDepth int
}

// fail reports a problem of grammar at an offset. A text that is too short is told apart, because the usual cause is a
// connection that was cut and not a client that cannot write JSON.
func (c *cursor) fail(at int, problem string) error {
	if at >= len(c.b) {
		return &RequestError{Offset: len(c.b), Problem: "the JSON ends in the middle; send the whole body"}
	}
	return &RequestError{Offset: at, Problem: problem}
}

// unexpected reports the byte at the cursor.
func (c *cursor) unexpected(wanted string) error {
	if c.i >= len(c.b) {
		return c.fail(c.i, "")
	}
	r, _ := utf8.DecodeRune(c.b[c.i:])
	return c.fail(c.i, fmt.Sprintf("the JSON has %q where %s should be", r, wanted))
}

// space skips white space.
func (c *cursor) space() {
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case ' ', '\t', '\n', '\r':
			c.i++
		default:
			return
		}
	}
}

// peek gives the byte at the cursor, or 0 at the end; 0 is never valid JSON outside a string.
func (c *cursor) peek() byte {
	if c.i < len(c.b) {
		return c.b[c.i]
	}
	return 0
}

// value skips one value of any kind. depth is the number of containers around it.
func (c *cursor) value(depth int) error {
	switch b := c.peek(); {
	case b == '"':
		_, _, err := c.str()
		return err
	case b == '{':
		return c.object(depth + 1)
	case b == '[':
		return c.array(depth + 1)
	case b == 't':
		return c.word("true")
	case b == 'f':
		return c.word("false")
	case b == 'n':
		return c.word("null")
	case b == '-' || b >= '0' && b <= '9':
		return c.number()
	}
	return c.unexpected("a value")
}

// open steps into a container and reports whether it is empty, in which case it has been left again.
func (c *cursor) open(depth int, closer byte) (empty bool, err error) {
	if depth > c.maxDepth {
		return false, c.fail(c.i, fmt.Sprintf("the JSON is nested deeper than %d levels; flatten it", c.maxDepth))
	}
	c.i++
	c.space()
	if c.peek() == closer {
		c.i++
		return true, nil
	}
	return false, nil
}

// next steps over the comma after an element and reports whether the container ended instead.
func (c *cursor) next(closer byte) (done bool, err error) {
	c.space()
	switch c.peek() {
	case ',':
		c.i++
		c.space()
		return false, nil
	case closer:
		c.i++
		return true, nil
	}
	return false, c.unexpected("a comma or the end")
}

// key reads a member's name and its colon, and stops at the value. The name is given with its quotes left off, still
// escaped.
func (c *cursor) key() (name []byte, escaped bool, err error) {
	if c.peek() != '"' {
		return nil, false, c.unexpected("a name in double quotes")
	}
	name, escaped, err = c.str()
	if err != nil {
		return nil, false, err
	}
	c.space()
	if c.peek() != ':' {
		return nil, false, c.unexpected("a colon")
	}
	c.i++
	c.space()
	return name, escaped, nil
}

func (c *cursor) object(depth int) error {
	done, err := c.open(depth, '}')
	for !done && err == nil {
		if _, _, err = c.key(); err != nil {
			return err
		}
		if err = c.value(depth); err != nil {
			return err
		}
		done, err = c.next('}')
	}
	return err
}

func (c *cursor) array(depth int) error {
	done, err := c.open(depth, ']')
	for !done && err == nil {
		if err = c.value(depth); err != nil {
			return err
		}
		done, err = c.next(']')
	}
	return err
}

func (c *cursor) word(w string) error {
	if !bytes.HasPrefix(c.b[c.i:], []byte(w)) {
		return c.unexpected("a value")
	}
	c.i += len(w)
	return nil
}

func (c *cursor) digits() bool {
	from := c.i
	for c.i < len(c.b) && c.b[c.i]-'0' <= 9 {
		c.i++
	}
	return c.i > from
}

func (c *cursor) number() error {
	if c.peek() == '-' {
		c.i++
	}
	if c.peek() == '0' {
		c.i++
	} else if !c.digits() {
		return c.unexpected("a digit")
	}
	if c.peek() == '.' {
		c.i++
		if !c.digits() {
			return c.unexpected("a digit")
		}
	}
	if b := c.peek(); b == 'e' || b == 'E' {
		c.i++
		if b := c.peek(); b == '+' || b == '-' {
			c.i++
		}
		if !c.digits() {
			return c.unexpected("a digit")
		}
	}
	return nil
}

// str reads a string from its opening quote. The text is given without its quotes and still escaped.
func (c *cursor) str() (text []byte, escaped bool, err error) {
	c.i++
	from := c.i
	for {
		c.i = plainRun(c.b, c.i)
		switch b := c.peek(); {
		case c.i >= len(c.b):
			return nil, false, c.fail(c.i, "")
		case b == '"':
			c.i++
			return c.b[from : c.i-1], escaped, nil
		case b == '\\':
			escaped = true
			if err := c.escape(); err != nil {
				return nil, false, err
			}
		default:
			return nil, false, c.fail(c.i, fmt.Sprintf("a JSON string holds the control character 0x%02x; escape it", b))
		}
	}
}

// escape steps over one escape sequence.
func (c *cursor) escape() error {
	at := c.i
	c.i++
	switch c.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		c.i++
		return nil
	case 'u':
		c.i++
		for range 4 {
			if c.i >= len(c.b) {
				return c.fail(c.i, "")
			}
			if unhex(c.b[c.i]) < 0 {
				return c.fail(at, `a JSON string holds \u without four hexadecimal digits after it`)
			}
			c.i++
		}
		return nil
	}
	if c.i >= len(c.b) {
		return c.fail(c.i, "")
	}
	return c.fail(at, "a JSON string holds an escape sequence that JSON does not have")
}

// plainRun gives the offset of the first quote, backslash or control character at or after i. Prompts are almost all
// plain text, so it looks at eight bytes at a time: each term has a high bit set in the bytes that match.
func plainRun(b []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		hit := (quote-ones)&^quote | (slash-ones)&^slash | (w-ones*0x20)&^w
		if hit&highs != 0 {
			break
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == '"' || c == '\\' || c < 0x20 {
			return i
		}
	}
	return i
}

func unhex(b byte) rune {
	switch {
	case b >= '0' && b <= '9':
		return rune(b - '0')
	case b >= 'a' && b <= 'f':
		return rune(b-'a') + 10
	case b >= 'A' && b <= 'F':
		return rune(b-'A') + 10
	}
	return -1
}

func hex4(b []byte) rune {
	return unhex(b[0])<<12 | unhex(b[1])<<8 | unhex(b[2])<<4 | unhex(b[3])
}

// appendUnescaped appends the text that a checked JSON string stands for. Half of a surrogate pair becomes U+FFFD.
func appendUnescaped(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		if text[i] != '\\' {
			dst = append(dst, text[i])
			i++
			continue
		}
		switch e := text[i+1]; e {
		case 'u':
			r := hex4(text[i+2:])
			i += 6
			if utf16.IsSurrogate(r) {
				low := utf8.RuneError
				if i+6 <= len(text) && text[i] == '\\' && text[i+1] == 'u' {
					low = utf16.DecodeRune(r, hex4(text[i+2:]))
				}
				if r = low; r != utf8.RuneError {
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, unescapeByte(e))
			i += 2
		}
	}
	return dst
}

func unescapeByte(e byte) byte {
	switch e {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return e
}
