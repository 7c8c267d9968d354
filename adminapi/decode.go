package adminapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// decode reads the body of a request into a value, strictly: bounded, one JSON
// object, no field that is not there, none twice, nothing behind it.
func (c *call) decode(into any) error {
	if err := wantJSON(c.r, c.route.what); err != nil {
		return err
	}
	body, err := readBody(c.w, c.r, c.route.what, c.route.limit)
	if err != nil {
		return err
	}
	return unmarshal(body, c.route.what, into)
}

// wantJSON refuses other kinds of bodies: a page of others can make a browser
// send a form or a text here, but not JSON.
func wantJSON(r *http.Request, what string) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return invalid("%s must be JSON; send it with \"Content-Type: application/json\"", what)
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return invalid("%s must be sent without a content encoding, not as %q", what, e)
	}
	return nil
}

// sendBody is how long a caller may take to send a body.
const sendBody = 30 * time.Second

// readBody reads through a limit. A body that says it is too large is refused
// before it is read, so one that also breaks off is still called too large.
func readBody(w http.ResponseWriter, r *http.Request, what string, limit int64) ([]byte, error) {
	tooLarge := refuse(http.StatusRequestEntityTooLarge, codeTooLarge, "%s is larger than %d bytes", what, limit)
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		return nil, tooLarge
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(sendBody)) // connections in memory have none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	_ = rc.SetReadDeadline(time.Time{})
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge
	case err != nil:
		return nil, invalid("%s could not be read whole: it broke off, or came too slowly, after %d bytes", what, len(body))
	}
	return body, nil
}

// unmarshal decodes strictly. Every wrong field is named at once.
func unmarshal(body []byte, what string, into any) error {
	if err := wellFormed(body, what); err != nil {
		return err
	}
	w := newWalk(body)
	w.value(reflect.TypeOf(into).Elem(), "", 0)
	if len(w.problems) > 0 {
		c := codeInvalid
		if w.unknownOnly {
			c = codeUnknownField
		}
		return refuse(http.StatusBadRequest, c, "%s is wrong: %s", what, strings.Join(w.problems, "; "))
	}
	if err := json.Unmarshal(body, into); err != nil {
		return invalid("%s is wrong: %s", what, typeProblem(err))
	}
	return nil
}

// wellFormed says where the body ceases to be one JSON object.
func wellFormed(body []byte, what string) error {
	if !utf8.Valid(body) {
		return invalid("%s is not valid JSON: it is not UTF-8", what)
	}
	var whole json.RawMessage
	err := json.Unmarshal(body, &whole)
	var syntax *json.SyntaxError
	switch {
	case len(strings.TrimSpace(string(body))) == 0:
		return invalid("%s is empty; send a JSON object", what)
	case errors.As(err, &syntax):
		return invalid("%s is not valid JSON: %s (at byte %d)", what, syntax, syntax.Offset)
	case err != nil:
		return invalid("%s is not valid JSON", what)
	case whole[0] != '{':
		return invalid("%s must be a JSON object (at byte %d)", what, strings.IndexByte(string(body), whole[0])+1)
	}
	return nil
}

// typeProblem says in words what does not fit.
func typeProblem(err error) string {
	var kind *json.UnmarshalTypeError
	var at *time.ParseError
	switch {
	case errors.As(err, &kind):
		return fmt.Sprintf("%q must be %s, not %s (at byte %d)", kind.Field, kindText(kind.Type), kind.Value, kind.Offset)
	case errors.As(err, &at):
		return fmt.Sprintf("%s is not a time; write it as in 2026-01-31T12:00:00Z", at.Value)
	}
	return err.Error()
}

// kindText is a Go type in words for people.
func kindText(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Pointer:
		return kindText(t.Elem())
	}
	return "something else"
}
