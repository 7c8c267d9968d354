package simengine

import (
	"hash/fnv"
	"unicode"
	"unicode/utf8"
)

// longestToken is how many letters a token has at most.
const longestToken = 12

// split cuts a text into what stands for tokens: words with the white space before them, long ones in pieces. Joined,
// they are the text again. Invalid bytes are kept as they are.
func split(text string) []string {
	var tokens []string
	from, letters := 0, 0
	for i, r := range text {
		space := unicode.IsSpace(r)
		if i > from && (letters == longestToken || space && letters > 0) {
			tokens = append(tokens, text[from:i])
			from, letters = i, 0
		}
		if !space {
			letters++
		}
	}
	if from < len(text) {
		tokens = append(tokens, text[from:])
	}
	return tokens
}

// tokenID gives a token a number, always the same.
func tokenID(token string) int {
	h := fnv.New32a()
	h.Write([]byte(token))
	return int(h.Sum32() % 32000)
}

// validText makes sure that what goes into an answer is UTF-8.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
