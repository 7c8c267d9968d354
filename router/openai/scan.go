package openai

import (
	"fmt"
	"math"
	"unicode/utf8"
)

const (
	defaultMaxBytes = 32 << 20
	defaultMaxDepth = 64
)

// Scan reads a body once and reports what the router needs of it. It accepts exactly what is JSON by RFC 8259 with an
// object on top, and refuses what two decoders could read differently: a known field given twice, or in another
// case than its own ("Model" is the model to some decoders and nothing to others), after unescaping its name.
//
// The returned request points into no body, but its ranges are those of this one. The error is a *RequestError.
func Scan(body []byte, lim Limits) (Request, error) {
	var r Request
	err := r.Scan(body, lim)
	return r, err
}

// Scan is as the function is, in place: a request is some 2 KiB.
func (r *Request) Scan(body []byte, lim Limits) error {
	*r = Request{N: 1, MaxTokens: -1, Messages: -1, older: -1, newer: -1}
	if lim.MaxBytes == 0 {
		lim.MaxBytes = defaultMaxBytes
	}
	lim.MaxBytes = min(lim.MaxBytes, math.MaxInt32) // see place
	if lim.MaxDepth == 0 {
		lim.MaxDepth = defaultMaxDepth
	}
	if len(body) > lim.MaxBytes {
		return &RequestError{Offset: -1, Problem: fmt.Sprintf("the body has %d bytes and %d are allowed; send less", len(body), lim.MaxBytes)}
	}
	if !utf8.Valid(body) {
		return &RequestError{Offset: invalidUTF8(body), Problem: "the body is not valid UTF-8"}
	}
	s := scanner{cursor: cursor{b: body, maxDepth: lim.MaxDepth}, r: r}
	if err := s.body(); err != nil {
		return err
	}
	s.settle()
	return nil
}

// invalidUTF8 gives the offset of the first byte that is part of no character.
func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(b)
}

// scanner fills a request from a body.
type scanner struct {
	cursor
	r *Request
}

func (s *scanner) body() error {
	s.space()
	if s.i < len(s.b) && s.peek() != '{' {
		return s.fail(s.i, "the body must be a JSON object")
	}
	if s.i >= len(s.b) {
		return &RequestError{Offset: s.i, Problem: "the body is empty; send a JSON object"}
	}
	s.r.open = s.i
	if err := s.topLevel(); err != nil {
		return err
	}
	s.space()
	if s.i < len(s.b) {
		return s.fail(s.i, "something follows the JSON object; send one object and nothing else")
	}
	return nil
}

func (s *scanner) topLevel() error {
	done, err := s.open(1, '}')
	comma := 0
	for !done && err == nil {
		m := member{key: s.i, before: comma, ordinal: s.r.members}
		f, known, err := s.field()
		if err != nil {
			return err
		}
		m.value = s.i
		if known {
			err = s.take(f)
		} else {
			err = s.value(1)
		}
		if err != nil {
			return err
		}
		m.end = s.i
		s.r.members++
		s.space()
		comma = s.i
		if done, err = s.next('}'); err != nil {
			return err
		}
		if !done {
			m.after = comma
		}
		if known {
			s.r.places.put(f, m)
		}
	}
	return err
}

// field reads a name and says which known field it is. A second time, or in another case, it is refused.
func (s *scanner) field() (f Field, known bool, err error) {
	at := s.i
	name, err := s.plainKey()
	if err != nil {
		return 0, false, err
	}
	f, exact, known := lookup(name)
	switch {
	case !known:
		return 0, false, nil
	case !exact:
		return 0, false, &RequestError{Param: f.String(), Offset: at, Problem: fmt.Sprintf("the body has the name %q, which some decoders take for %q; write %[2]q", name, f.String())}
	case s.r.present.Has(f):
		return 0, false, twice(f.String(), at)
	}
	s.r.present |= 1 << f
	return f, true, nil
}

func twice(name string, at int) error {
	return &RequestError{Param: name, Offset: at, Problem: fmt.Sprintf("the body has %q twice; send it once", name)}
}

// plainKey reads a name with its escapes undone.
func (s *scanner) plainKey() ([]byte, error) {
	name, escaped, err := s.key()
	if err == nil && escaped {
		name = appendUnescaped(make([]byte, 0, len(name)), name)
	}
	return name, err
}

// take reads the value of a known field.
func (s *scanner) take(f Field) (err error) {
	switch f {
	case FieldModel:
		s.r.Model, err = s.text(f)
	case FieldUser:
		if s.peek() == 'n' {
			return s.word("null")
		}
		s.r.User, err = s.text(f)
	case FieldStream:
		s.r.Stream, err = s.flag(f.String())
	case FieldStreamOptions:
		err = s.streamOptions()
	case FieldN:
		s.r.N, err = s.count(f, 1)
	case FieldBestOf:
		s.r.BestOf, err = s.count(f, 0)
	case FieldMaxTokens:
		s.r.older, err = s.count(f, -1)
	case FieldMaxCompletionTokens:
		s.r.newer, err = s.count(f, -1)
	case FieldMessages:
		err = s.messages()
	case FieldPrompt, FieldInput:
		err = s.input()
	default:
		err = s.value(1)
	}
	return err
}

// settle decides what can only be decided when all is read.
func (s *scanner) settle() {
	r := s.r
	r.MaxTokens = r.older
	if r.newer >= 0 {
		r.MaxTokens = r.newer
	}
	r.LimitsDiffer = r.older >= 0 && r.newer >= 0 && r.older != r.newer
}

func (s *scanner) wrong(param, shouldBe string) error {
	if s.i >= len(s.b) {
		return s.fail(s.i, "")
	}
	return &RequestError{Param: param, Offset: s.i, Problem: fmt.Sprintf("%q must be %s", param, shouldBe)}
}

func (s *scanner) text(f Field) (string, error) {
	if s.peek() != '"' {
		return "", s.wrong(f.String(), "a string")
	}
	raw, escaped, err := s.str()
	if err == nil && escaped {
		raw = appendUnescaped(make([]byte, 0, len(raw)), raw)
	}
	return string(raw), err
}

// flag reads true, false or null. Strings and numbers are refused, because some engines take "true" and 1 for true.
func (s *scanner) flag(param string) (bool, error) {
	switch s.peek() {
	case 't':
		return true, s.word("true")
	case 'f':
		return false, s.word("false")
	case 'n':
		return false, s.word("null")
	}
	return false, s.wrong(param, "true or false")
}

// count reads a whole number; null gives the value of absence.
func (s *scanner) count(f Field, absent int) (int, error) {
	if s.peek() == 'n' {
		return absent, s.word("null")
	}
	from := s.i
	if b := s.peek(); b != '-' && b-'0' > 9 {
		return 0, s.wrong(f.String(), "a whole number")
	}
	if err := s.number(); err != nil {
		return 0, err
	}
	n, ok := parseCount(s.b[from:s.i])
	if !ok || f == FieldN && n == 0 {
		s.i = from
		return 0, s.wrong(f.String(), "a whole number that is not negative; leave it out for the default")
	}
	return n, nil
}
