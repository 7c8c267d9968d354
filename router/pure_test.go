package router

import (
	"math"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/storage"
)

func TestLeastOutstanding(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		candidates []Candidate
		want       []int // for the turns 0, 1, 2, 3
	}{
		{"one", []Candidate{{Outstanding: 5}}, []int{0, 0, 0, 0}},
		{"least", []Candidate{{Outstanding: 2}, {Outstanding: 1}, {Outstanding: 3}}, []int{1, 1, 1, 1}},
		{"equals take turns", []Candidate{{Outstanding: 1}, {Outstanding: 2}, {Outstanding: 1}, {Outstanding: 1}}, []int{0, 2, 3, 0}},
		{"last resort", []Candidate{{Outstanding: 0, LastResort: true}, {Outstanding: 9}}, []int{1, 1, 1, 1}},
		{"half warm", []Candidate{{Outstanding: 1, Share: 0.5}, {Outstanding: 3, Share: 1}}, []int{0, 1, 0, 1}},
		{"cold", []Candidate{{Outstanding: 0, Share: 0.1}, {Outstanding: 8}}, []int{1, 1, 1, 1}},
		{"only last resorts", []Candidate{{Outstanding: 1, LastResort: true}, {Outstanding: 0, LastResort: true}, {Outstanding: 0, LastResort: true}}, []int{1, 2, 1, 2}},
	} {
		for turn, want := range c.want {
			if got := (LeastOutstanding{}).Pick(c.candidates, Ask{Turn: uint64(turn)}); got != want {
				t.Errorf("%s: turn %d picks %d, want %d", c.name, turn, got, want)
			}
		}
	}
}

func TestPickCostsNoMemory(t *testing.T) {
	many := make([]Candidate, 32)
	if n := testing.AllocsPerRun(100, func() { LeastOutstanding{}.Pick(many, Ask{Turn: 7}) }); n > 0 {
		t.Errorf("a choice costs %v allocations", n)
	}
}

// The first in line is the first to be called, who comes later stands behind who
// was called, and a call that comes to nothing goes to the next.
func TestLine(t *testing.T) {
	t.Parallel()
	var l line
	a, b, c := l.join(), l.join(), l.join()
	l.next(false)
	if len(a) != 1 || len(b)+len(c) != 0 {
		t.Error("the first in line is not called first")
	}
	if !l.ahead(b) || !l.ahead(nil) {
		t.Error("who was called is forgotten, and may be overtaken")
	}
	l.leave(b) // it gives up
	l.back(a)  // it was called in vain
	if l.ahead(a) || !l.ahead(c) {
		t.Error("who was called in vain has lost its place")
	}
	l.leave(a)
	l.next(false)
	if len(c) != 1 {
		t.Error("the next is not called")
	}
	l.leave(c)
	if l.next(false); l.ahead(nil) {
		t.Error("nobody waits any more")
	}
}

func TestCost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		price *catalog.Price
		row   storage.Request
		whole bool
		want  int64
	}{
		{"no price", nil, storage.Request{PromptTokens: 5}, true, 0},
		{"rounded up", &catalog.Price{Input: 1}, storage.Request{PromptTokens: 1}, true, 1},
		{"not rounded", &catalog.Price{Input: 1}, storage.Request{PromptTokens: 1_000_000}, true, 1},
		{"one rounding in all", &catalog.Price{Input: 1, Output: 1}, storage.Request{PromptTokens: 1, CompletionTokens: 1}, true, 1},
		{"cached", &catalog.Price{Input: 10e6, CachedInput: 1e6, Output: 20e6}, storage.Request{PromptTokens: 10, CachedTokens: 4, CompletionTokens: 3}, true, 60 + 4 + 60},
		{"cached without a price", &catalog.Price{Input: 10e6}, storage.Request{PromptTokens: 10, CachedTokens: 4}, true, 100},
		{"request", &catalog.Price{Request: 5}, storage.Request{}, true, 5},
		{"request that broke off", &catalog.Price{Request: 5, Output: 1e6}, storage.Request{CompletionTokens: 2}, false, 2},
		{"beyond all bounds", &catalog.Price{Input: math.MaxInt64, Output: math.MaxInt64, Request: 1}, storage.Request{PromptTokens: math.MaxInt64, CompletionTokens: math.MaxInt64}, true, math.MaxInt64},
	} {
		if got := cost(c.price, &c.row, c.whole); got != c.want {
			t.Errorf("%s: costs %d, want %d", c.name, got, c.want)
		}
	}
}

func TestRequestIDsSort(t *testing.T) {
	t.Parallel()
	now := time.Now()
	a, b, c := newRequestID(now), newRequestID(now), newRequestID(now.Add(time.Millisecond))
	if a == b || a >= c || b >= c || len(a) != 30 || !strings.HasPrefix(a, "req_") || !sane(a) {
		t.Errorf("ids are %s, %s, %s", a, b, c)
	}
}

func TestHideKeys(t *testing.T) {
	t.Parallel()
	_, secret := storage.NewKeySecret()
	id, _ := storage.KeyID(secret)
	for in, want := range map[string]string{
		"":                    "",
		"plain":               "plain",
		"x " + secret + "!":   "x sk-llmgw-" + id + "-[redacted]!",
		secret + secret[:9]:   "sk-llmgw-" + id + "-[redacted]",
		"sk-llmgw-":           "sk-llmgw-[redacted]",
		secret + "," + secret: "sk-llmgw-" + id + "-[redacted],sk-llmgw-" + id + "-[redacted]",
	} {
		if got := hideKeys(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// A configuration's complaints come all at once.
func TestNewComplains(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Limits: Limits{Idle: -1, Body: -1}, Declared: []storage.Key{{}}})
	if err == nil {
		t.Fatal("an empty configuration is taken")
	}
	for _, part := range []string{"Models", "Pepper", "Usage", "Limits.Body", "times of Limits", "declared key 1 of 1"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("nothing is said of %s: %v", part, err)
		}
	}
}
