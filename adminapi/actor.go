package adminapi

import "strings"

// actorHeader names who the caller says acts.
const actorHeader = "X-Llmgw-Actor"

const longestActor = 64

// cleanActor keeps of a claim what can stand in a log: ASCII letters, digits
// and ._-@, at most 64 of them. Nobody named stays nobody; a name of which
// nothing is left is unknown.
func cleanActor(claim string) string {
	if claim == "" {
		return ""
	}
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._-@", r):
			return r
		}
		return -1
	}, claim)
	if len(clean) > longestActor {
		clean = clean[:longestActor]
	}
	if clean == "" {
		return "unknown"
	}
	return clean
}
