package storage

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Redacted stands where a secret was.
const Redacted = "[redacted]"

var (
	userInfo   = regexp.MustCompile(`://[^/?#@\s]*@`)
	queryValue = regexp.MustCompile(`(?i)([?&][a-z0-9_.-]*(?:key|token|secret|signature|sig|password)=)[^&#\s]+`)
)

// Redact returns JSON in which the values of members, variables, flags and URL
// parts that hold secrets by their name are replaced; an empty value stays, so
// that the log shows that there was none. Text that is no JSON becomes a JSON
// string. Empty stays empty.
func Redact(text string) string {
	if text == "" {
		return ""
	}
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil || d.More() {
		v = text
	}
	b, err := json.Marshal(redact(v))
	if err != nil {
		panic("storage: decoded JSON does not encode: " + err.Error())
	}
	return string(b)
}

func redact(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if s, ok := member.(string); ok && s != "" && secretName(name) {
				v[name] = Redacted
				continue
			}
			v[name] = redact(member)
		}
	case []any:
		redactList(v)
	case string:
		return redactText(v)
	}
	return v
}

// redactList knows lists of arguments, where a flag's value may be the next
// element.
func redactList(list []any) {
	next := false
	for i, v := range list {
		s, ok := v.(string)
		switch {
		case ok && next && s != "":
			list[i], next = Redacted, false
		case ok && strings.HasPrefix(s, "-"):
			name, value, found := strings.Cut(s, "=")
			secret := secretName(strings.TrimLeft(name, "-"))
			list[i] = redactText(s)
			if secret && found && value != "" {
				list[i] = name + "=" + Redacted
			}
			next = secret && !found
		default:
			list[i], next = redact(v), false
		}
	}
}

func redactText(s string) string {
	s = userInfo.ReplaceAllString(CleanText(s), "://"+Redacted+"@")
	return queryValue.ReplaceAllString(s, "${1}"+Redacted)
}

// secretName judges a name by its words: "key", "HF_TOKEN", "--api-key".
func secretName(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	switch last {
	case "key", "apikey", "hash", "pem":
		return true
	}
	if strings.HasSuffix(last, "token") {
		return true
	}
	return slices.ContainsFunc(words, func(w string) bool {
		return strings.Contains(w, "secret") || strings.Contains(w, "passw") || strings.Contains(w, "credential")
	})
}
