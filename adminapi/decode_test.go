package adminapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/adminapi/view"
)

// form has a field of every kind that bodies use.
type form struct {
	Name   string            `json:"name"`
	Count  int               `json:"count,omitempty"`
	Share  float64           `json:"share,omitempty"`
	On     bool              `json:"on,omitempty"`
	Idle   *view.Duration    `json:"idle,omitempty"`
	Until  time.Time         `json:"until,omitzero"`
	List   []part2           `json:"list,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Deep   *part2            `json:"deep,omitempty"`
}

type part2 struct {
	Key   string `json:"key"`
	Value int    `json:"value,omitempty"`
}

func TestStrictDecoding(t *testing.T) {
	t.Parallel()
	deep := `{"name":"x","deep":` + strings.Repeat(`[`, 70) + strings.Repeat(`]`, 70) + `}`
	cases := []struct {
		name, body string
		code       code // empty: it is taken
		says       []string
	}{
		{"whole", `{"name":"x","count":1,"share":0.5,"on":true,"idle":"10m","until":"2026-01-31T12:00:00Z","list":[{"key":"a"}],"labels":{"a":"1","A":"2"}}`, "", nil},
		{"nanoseconds", ` {"name":"x","idle":5} `, "", nil},
		{"empty", ``, codeInvalid, []string{"the form is empty"}},
		{"spaces", "  \n", codeInvalid, []string{"the form is empty"}},
		{"null", `null`, codeInvalid, []string{"must be a JSON object"}},
		{"a list", ` [1]`, codeInvalid, []string{"must be a JSON object", "byte 2"}},
		{"cut", `{"name":"x"`, codeInvalid, []string{"the form is not valid JSON", "byte 11"}},
		{"a comma too much", `{"name":"x",}`, codeInvalid, []string{"not valid JSON", "byte 13"}},
		{"trailing", `{"name":"x"} {}`, codeInvalid, []string{"not valid JSON", "byte 14"}},
		{"not UTF-8", "{\"name\":\"\xff\"}", codeInvalid, []string{"UTF-8"}},
		{"unknown, with the rest", `{"name":"x","foo":{"bar":[1]},"baz":2}`, codeUnknownField, []string{`"foo"`, `"baz"`}},
		{"unknown below", `{"name":"x","list":[{"key":"a"},{"key":"b","nope":1}]}`, codeUnknownField, []string{`"list[1].nope"`, "only key, value"}},
		{"another case", `{"Name":"x","name":"x"}`, codeUnknownField, []string{`write it "name"`}},
		{"another case below", `{"name":"x","deep":{"KEY":"a","key":"b"}}`, codeUnknownField, []string{`"deep.KEY"`}},
		{"twice", `{"name":"x","name":"y"}`, codeInvalid, []string{`"name" is there twice`}},
		{"twice below", `{"name":"x","list":[{"key":"a","key":"b"}]}`, codeInvalid, []string{`"list[0].key" is there twice`}},
		{"twice in a map", `{"name":"x","labels":{"a":"1","a":"2"}}`, codeInvalid, []string{`"labels.a" is there twice`}},
		{"twice, written otherwise", `{"name":"x","n\u0061me":"y"}`, codeInvalid, []string{`"name" is there twice`}},
		{"missing", `{"count":1}`, codeInvalid, []string{`"name" is missing`}},
		{"everything at once", `{"foo":1,"count":2,"count":3}`, codeInvalid, []string{`"foo"`, `"count" is there twice`, `"name" is missing`}},
		{"a text for a number", `{"name":"x","count":"3"}`, codeInvalid, []string{`"count" must be a whole number, not string`, "byte"}},
		{"a fraction", `{"name":"x","count":1.5}`, codeInvalid, []string{"whole number"}},
		{"too large a number", `{"name":"x","count":9223372036854775808}`, codeInvalid, []string{"whole number"}},
		{"a number for a text", `{"name":3}`, codeInvalid, []string{`"name" must be a text, not number`}},
		{"no duration", `{"name":"x","idle":"soon"}`, codeInvalid, []string{`"soon" is not a duration`}},
		{"no time", `{"name":"x","until":"tomorrow"}`, codeInvalid, []string{"tomorrow", "2026-01-31T12:00:00Z"}},
		{"too deep", deep, codeInvalid, []string{"deeper than 64"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var f form
			err := unmarshal([]byte(c.body), "the form", &f)
			var r *refusal
			switch {
			case c.code == "" && err == nil:
				return
			case c.code == "" || !errors.As(err, &r):
				t.Fatalf("want %q, got %v", c.code, err)
			case r.status != http.StatusBadRequest || r.code != c.code || !strings.Contains(r.text, "the form"):
				t.Errorf("want 400 %s about the form, got %d %s: %s", c.code, r.status, r.code, r.text)
			}
			for _, s := range c.says {
				if !strings.Contains(r.text, s) {
					t.Errorf("want it to say %q, got %q", s, r.text)
				}
			}
		})
	}
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	const limit = 64
	fits := `{"name":"` + strings.Repeat("x", limit-11) + `"}`
	cases := []struct {
		name, body string
		length     int64
		status     int
	}{
		{"fits", fits, -1, 0},
		{"one byte too many", fits + " ", -1, 413},
		{"announced", fits + " ", limit + 1, 413},
		{"announced and broken off", `{"na`, limit + 1, 413},
		{"too large and cut off inside", strings.Repeat(`{"name":`, 20), -1, 413},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(c.body))
			r.ContentLength = c.length
			b, err := readBody(httptest.NewRecorder(), r, "the form", limit)
			var refused *refusal
			if errors.As(err, &refused) != (c.status != 0) || (refused != nil && refused.status != c.status) {
				t.Errorf("want %d, got %v", c.status, err)
			}
			if c.status == 0 && string(b) != c.body {
				t.Errorf("want it whole, got %q", b)
			}
		})
	}
}

func TestOnlyJSONIsTaken(t *testing.T) {
	t.Parallel()
	for kind, ok := range map[string]bool{
		"application/json": true, "application/json; charset=utf-8": true, "Application/JSON": true,
		"": false, "text/plain": false, "application/x-www-form-urlencoded": false, "multipart/form-data; boundary=x": false, "application/jsonp": false,
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Content-Type", kind)
		if err := wantJSON(r, "the form"); (err == nil) != ok {
			t.Errorf("%q: want %v, got %v", kind, ok, err)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Content-Encoding", "gzip")
	if err := wantJSON(r, "the form"); err == nil {
		t.Error("a packed body must be refused")
	}
}

func TestActorsAreCleaned(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "ann@example.org": "ann@example.org", "ann\r\nX: y": "annXy", "\u202eann": "ann", "änn": "nn", "  ": "unknown", "☃": "unknown",
		strings.Repeat("a", 200): strings.Repeat("a", 64), "token:ops": "tokenops",
	} {
		if got := cleanActor(in); got != want {
			t.Errorf("%q: want %q, got %q", in, want, got)
		}
	}
}

func FuzzDecoding(f *testing.F) {
	f.Add(`{"name":"x","list":[{"key":"a"}]}`)
	f.Add(`{"name":1,"labels":{"a":{}}}`)
	f.Fuzz(func(t *testing.T, body string) {
		var v form
		if err := unmarshal([]byte(body), "the form", &v); err != nil && err.Error() == "" {
			t.Error("a refusal without a word: " + fmt.Sprintf("%q", body))
		}
	})
}
