package storage

import "strings"

// CleanText is a string that every database can hold and gives back as it was:
// valid UTF-8 without zero bytes. What is kept and hashed is cleaned first, else
// a row would differ from its own hash.
func CleanText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
