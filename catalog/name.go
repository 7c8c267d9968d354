package catalog

import "strings"

// MaxName is the longest name, in bytes.
const MaxName = 128

// nameRule is how messages describe a name.
const nameRule = "use 1 to 128 letters, digits and . _ : / -, beginning with a letter or digit, without \"..\", \"//\" or a final \"/\" or \".\""

// Valid reports whether n can be the name of a model, an alias or an adapter.
func (n Name) Valid() bool {
	s := string(n)
	if len(s) == 0 || len(s) > MaxName || !alphanumeric(s[0]) {
		return false
	}
	for i := range len(s) {
		if !alphanumeric(s[i]) && !strings.ContainsRune("._:/-", rune(s[i])) {
			return false
		}
	}
	last := s[len(s)-1]
	return last != '/' && last != '.' && !strings.Contains(s, "..") && !strings.Contains(s, "//")
}

// fold is the form in which two names collide: they may not differ only in case.
func (n Name) fold() string { return strings.ToLower(string(n)) }

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// plainWord reports whether s can name a profile, a build, a pool or a class:
// letters, digits and . _ - +, at most 64.
func plainWord(s string) bool {
	if s == "" || len(s) > 64 || !alphanumeric(s[0]) {
		return false
	}
	for i := range len(s) {
		if !alphanumeric(s[i]) && !strings.ContainsRune("._-+", rune(s[i])) {
			return false
		}
	}
	return true
}

func listNames(ns []Name) string {
	out := ""
	for i, n := range ns {
		if i > 0 {
			out += ", "
		}
		out += string(n)
	}
	return out
}
