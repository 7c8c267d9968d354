package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestPageIsFresh fails when a number in the code is not the one on the page.
func TestPageIsFresh(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	want, err := page(os.DirFS(root), sections())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, "docs", "defaults.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/defaults.md is old; run make generate (- now, + on the page):\n%s", diff)
	}
}

func code() fstest.MapFS {
	return fstest.MapFS{
		"a/a.go": {Data: []byte(`package a

import (
	"time"

	"llmgw.io/llmgw/b"
)

const (
	Wait  = 90 * time.Second
	bytes = 3 << 20
	far   = 2 * b.Day
)

func fill(c *Config) {
	span(&c.Idle, time.Minute)
	c.Queue = 1_000
	c.Low, c.High = 20000, 29999
	fields := []field{{&c.Beat, b.Day}}
	c.Address = ":8080"
	if c.Reset { c.Queue = 0 }
}
`)},
		"a/other.go":  {Data: []byte("package a\n\nfunc other(c *Config) { c.Idle = 5 }\n")},
		"a/a_test.go": {Data: []byte("package a\n\nconst OnlyInTests = 1\n")},
		"b/b.go":      {Data: []byte("package b\n\nimport \"time\"\n\nconst Day = 24 * time.Hour\n")},
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row
		want, complaint string
	}{
		"constant":           {row: row{value: "{a Wait}"}, want: "90 s"},
		"bytes":              {row: row{value: "at most {a bytes:bytes}"}, want: "at most 3 MiB"},
		"another package's":  {row: row{value: "{a far}"}, want: "2 d"},
		"field by address":   {row: row{value: "{a/a.go Idle}"}, want: "1 min"},
		"field in a table":   {row: row{value: "{a Beat}"}, want: "24 h"},
		"field by name":      {row: row{value: "{a Queue}"}, want: "1000"},
		"two at once":        {row: row{value: "{a Low} to {a High}"}, want: "20000 to 29999"},
		"text":               {row: row{value: "{a Address}"}, want: "`:8080`"},
		"same elsewhere":     {row: row{value: "{a Beat}", same: []string{"{b Day}"}}, want: "24 h"},
		"other elsewhere":    {row: row{value: "{a Wait}", same: []string{"{b Day}"}}, complaint: "make them one"},
		"gone":               {row: row{value: "{a Gone}"}, complaint: "no value any more"},
		"folder gone":        {row: row{value: "{c Wait}"}, complaint: "no Go files"},
		"two values":         {row: row{value: "{a Idle}"}, complaint: "name a file"},
		"tests do not count": {row: row{value: "{a OnlyInTests}"}, complaint: "no value any more"},
		"source is there":    {row: row{value: "a minute", holds: "a/a.go: span(&c.Idle, time.Minute)"}, want: "a minute"},
		"source is gone":     {row: row{value: "an hour", holds: "a/a.go: time.Hour"}, complaint: "no longer holds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := &source{fsys: code(), folders: map[string]*folder{}}
			got, err := src.fill(c.row)
			switch {
			case c.complaint == "" && err != nil:
				t.Fatal(err)
			case c.complaint != "" && (err == nil || !strings.Contains(err.Error(), c.complaint)):
				t.Fatalf("the complaint is %v, want one that says %q", err, c.complaint)
			case c.complaint == "" && got != c.want:
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
