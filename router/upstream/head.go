package upstream

import (
	"bytes"
	"errors"
	"net/http"
	"net/textproto"
	"strings"
)

// maxHead bounds an answer's status line and headers, in bytes.
const maxHead = 32 << 10

var errMalformed = errors.New("upstream: the answer is not HTTP/1.1 as it should be")

// head is what stands before an answer's body.
type head struct {
	status  int
	text    string // as in "200 OK"
	minor   int    // of the version 1.x
	header  http.Header
	length  int64 // of the body; -1: not said
	chunked bool
	keep    bool // the connection may carry another exchange
	closes  bool // it may not, whatever else is said
}

// headEnd gives the length of the head that b begins with, its empty line
// included, or 0 and where to look on when more has come. Lines end with CRLF or,
// as HTTP allows a reader, with LF.
func headEnd(b []byte, from int) (end, next int) {
	for {
		i := bytes.IndexByte(b[from:], '\n')
		if i < 0 {
			return 0, len(b)
		}
		at := from + i + 1
		switch {
		case at < len(b) && b[at] == '\n':
			return at + 1, 0
		case at+1 < len(b) && b[at] == '\r' && b[at+1] == '\n':
			return at + 2, 0
		case at >= len(b), b[at] == '\r' && at+1 == len(b):
			return 0, at - 1
		}
		from = at
	}
}

// parseHead reads a whole head. It refuses what two readers could take for two
// things: lengths that are given twice or beside chunks, folded lines, and names
// with spaces.
func parseHead(b []byte) (head, error) {
	s := string(b)
	line, rest := cutLine(s)
	h := head{length: -1}
	if err := h.statusLine(line); err != nil {
		return h, err
	}
	lines := strings.Count(rest, "\n") - 1
	h.header = make(http.Header, max(lines, 0))
	values := make([]string, max(lines, 0)) // one piece of memory for all
	h.keep = h.minor == 1
	for line, rest = cutLine(rest); line != ""; line, rest = cutLine(rest) {
		name, value, ok := field(line)
		if !ok {
			return h, errMalformed
		}
		if err := h.framing(name, value); err != nil {
			return h, err
		}
		if had := h.header[name]; had != nil {
			h.header[name] = append(had, value)
			continue
		}
		values[0] = value
		h.header[name] = values[:1:1]
		values = values[1:]
	}
	if h.chunked && (h.length >= 0 || h.minor == 0) {
		return h, errMalformed
	}
	h.keep = h.keep && !h.closes
	return h, nil
}

func cutLine(s string) (line, rest string) {
	line, rest, _ = strings.Cut(s, "\n")
	return strings.TrimSuffix(line, "\r"), rest
}

// statusLine reads a line such as "HTTP/1.1 200 OK".
func (h *head) statusLine(line string) error {
	rest, ok := strings.CutPrefix(line, "HTTP/1.")
	if !ok || len(rest) < 5 || rest[0] != '0' && rest[0] != '1' || rest[1] != ' ' {
		return errMalformed
	}
	h.minor = int(rest[0] - '0')
	h.text = rest[2:]
	if len(h.text) > 3 && h.text[3] != ' ' || !plain(h.text) {
		return errMalformed
	}
	for _, c := range []byte(h.text[:3]) {
		if c < '0' || c > '9' {
			return errMalformed
		}
		h.status = 10*h.status + int(c-'0')
	}
	if h.status < 100 {
		return errMalformed
	}
	return nil
}

// field reads a header's line.
func field(line string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(line, ":")
	if !ok || !token(name) {
		return "", "", false
	}
	value = strings.Trim(value, " \t")
	return textproto.CanonicalMIMEHeaderKey(name), value, plain(value)
}

// framing takes note of what says where the body ends.
func (h *head) framing(name, value string) error {
	switch name {
	case "Content-Length":
		n, ok := parseLength(value)
		if !ok || h.length >= 0 {
			return errMalformed
		}
		h.length = n
	case "Transfer-Encoding":
		if h.chunked || !strings.EqualFold(value, "chunked") {
			return errMalformed
		}
		h.chunked = true
	case "Connection":
		for option := range strings.SplitSeq(value, ",") {
			switch option = strings.Trim(option, " \t"); {
			case strings.EqualFold(option, "close"):
				h.closes = true
			case strings.EqualFold(option, "keep-alive"):
				h.keep = true
			}
		}
	}
	return nil
}

// parseLength reads digits and nothing else.
func parseLength(s string) (n int64, ok bool) {
	if s == "" || len(s) > 18 {
		return 0, false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}

// token reports whether s is a name as RFC 9110 has them.
func token(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// plain reports whether s has no control characters but tabs.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
