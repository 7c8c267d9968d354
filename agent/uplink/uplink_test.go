package uplink

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"llmgw.io/llmgw/agent/protocol"
)

func TestControlURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://host:7443":   "https://host:7443",
		" https://host:7443/": "https://host:7443",
		"https://[::1]:7443":  "https://[::1]:7443",
		"http://host:7443":    "",
		"host:7443":           "",
		"https://":            "",
		"https://h/agent/v1":  "",
		"https://h?x=1":       "",
		"https://me:pass@h":   "",
	} {
		got, err := controlURL(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", in, got, err, want)
		}
	}
	if _, err := controlURL(strings.Repeat("x", 5000)); err == nil || len(err.Error()) > 500 {
		t.Errorf("the refusal repeats all of it: %v", err)
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sub")
	if _, err := New(Config{DataDir: dir}); !errors.Is(err, ErrNotJoined) {
		t.Errorf("nothing is there: %v", err)
	}
	half := identity{Cluster: "c", Node: "n1", Certificate: "cert", CA: "ca"}
	if err := writeIdentity(dir, half); err != nil {
		t.Fatal(err)
	}
	if _, err := readIdentity(dir); !errors.Is(err, ErrNotJoined) || !strings.Contains(err.Error(), "not whole") {
		t.Errorf("an identity without a key: %v", err)
	}
	half.Key = "key"
	if err := writeIdentity(dir, half); err != nil {
		t.Fatal(err)
	}
	if got, err := readIdentity(dir); err != nil || got.Key != "key" || got.Node != "n1" {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := os.WriteFile(identityPath(dir), []byte("{half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readIdentity(dir); err == nil || errors.Is(err, ErrNotJoined) || !strings.Contains(err.Error(), "join again") {
		t.Errorf("a torn file: %v", err)
	}
}

func TestJoinComplainsOfEverything(t *testing.T) {
	t.Parallel()
	err := Join(t.Context(), JoinConfig{Control: []string{"ftp://h"}, Token: "x"})
	for _, want := range []string{"token", "ftp://h", "DataDir"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	c := &Client{control: []string{"https://a", "https://b"}, cfg: Config{Logger: slog.New(slog.DiscardHandler)}}
	steps := []struct {
		what string
		do   func()
		want string
	}{
		{"the first one is silent", func() { c.next("https://a") }, "https://b"},
		{"that is said twice", func() { c.next("https://a") }, "https://b"},
		{"the last one is silent", func() { c.next("https://b") }, "https://a"},
		{"a known one leads", func() { c.follow("https://b/") }, "https://b"},
		{"a new one leads", func() { c.follow("https://c") }, "https://c"},
		{"the leader has no usable address", func() { c.follow("http://d") }, "https://c"},
	}
	for _, s := range steps {
		if s.do(); c.address() != s.want {
			t.Errorf("%s: goes to %s, want %s", s.what, c.address(), s.want)
		}
	}
	for i := range 2 * maxControl {
		c.follow("https://many-" + string(rune('a'+i)))
	}
	if got := c.Control(); len(got) != maxControl || !slices.Contains(got, "https://a") {
		t.Errorf("%d addresses are known, want %d and the first among them", len(got), maxControl)
	}
}

func TestDecodeAnswer(t *testing.T) {
	t.Parallel()
	answer := func(code int, body string) *http.Response {
		return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(body))}
	}
	var out protocol.BeatAnswer
	if err := decodeAnswer(answer(200, `{"seen_seq": 7, "later": 1}`), &out); err != nil || out.SeenSeq != 7 {
		t.Errorf("got %+v, %v", out, err)
	}
	var refusal *protocol.Error
	if err := decodeAnswer(answer(409, `{"code": "not_leader", "error": "ask another", "leader": "https://b"}`), &out); !errors.As(err, &refusal) || refusal.Text != "ask another" {
		t.Errorf("a refusal: %v", err)
	}
	for _, tt := range []struct {
		code int
		body string
		says string
	}{
		{502, "<html>", "answers 502"},
		{404, `{"message": "?"}`, "answers 404"},
		{200, "{half", "cannot be read"},
		{200, strings.Repeat(" ", protocol.MaxFrame+1), "more than"},
	} {
		if err := decodeAnswer(answer(tt.code, tt.body), &out); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%d: %v, want %q in it", tt.code, err, tt.says)
		}
	}
}
