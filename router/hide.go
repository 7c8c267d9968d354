package router

import "strings"

const keyStart = "sk-llmgw-"

// hideKeys replaces the secret of every client key in a text that came from
// outside, so that one that was put in the wrong place is kept nowhere. The id
// stays, since it tells whose key it was.
func hideKeys(s string) string {
	at := strings.Index(s, keyStart)
	if at < 0 {
		return s
	}
	var b strings.Builder
	for ; at >= 0; at = strings.Index(s, keyStart) {
		b.WriteString(s[:at+len(keyStart)])
		s = s[at+len(keyStart):]
		end := strings.IndexFunc(s, func(c rune) bool {
			return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_'
		})
		if end < 0 {
			end = len(s)
		}
		if id, _, ok := strings.Cut(s[:end], "-"); ok {
			b.WriteString(id + "-")
		}
		b.WriteString("[redacted]")
		s = s[end:]
	}
	b.WriteString(s)
	return b.String()
}
