package storagetest

import (
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/storage"
)

// texts are names and words that have broken stores before.
func texts() []string {
	return []string{"é", "e\u0301", "模型/名:タグ", "🏳️‍🌈", "O'Brien\"; DROP TABLE models; --", "a?b??c", "%s{0}$1", "\\n\\", "a\nb\tc\r", " space ", "ﷺ", "\u202eright"}
}

func testValues(t *testing.T, open Opener) {
	t.Run("unicode", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		for _, text := range texts() {
			must(s.PutModel(t.Context(), catalog.Model{Name: catalog.Name(text), Owner: text}, 0, ann()))(t)
			ok(t, s.CreateKey(t.Context(), storage.Key{ID: text, Name: text, Hash: "h", Models: []string{text}}, ann()))
			ok(t, s.AppendUsage(t.Context(), []storage.Request{{ID: text, EndUser: text, Model: text, Tags: map[string]string{text: text}}}))

			k := must(s.Key(t.Context(), text))(t)
			equal(t, "a key", [2]string{text, text}, [2]string{k.Name, k.Models[0]})
			r := must(s.Request(t.Context(), text))(t)
			equal(t, "a request", [3]string{text, text, text}, [3]string{r.EndUser, r.Model, r.Tags[text]})
		}
		equal(t, "models", len(texts()), len(must(s.ListModels(t.Context()))(t)))
		for _, e := range must(s.ListModels(t.Context()))(t) {
			equal(t, "a model's owner", string(e.Model.Name), e.Model.Owner)
		}
		ok(t, s.VerifyAudit(t.Context()))
	})
	t.Run("bytes that are no text", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		ok(t, s.AppendUsage(t.Context(), []storage.Request{{ID: "r", EndUser: "a\x00b\xff", Tags: map[string]string{"k": "\xff"}}}))
		r := must(s.Request(t.Context(), "r"))(t)
		equal(t, "an end user", "a\uFFFDb\uFFFD", r.EndUser)
		equal(t, "a tag", "\uFFFD", r.Tags["k"])
		wantErr(t, storage.ErrInvalid, s.CreateKey(t.Context(), storage.Key{ID: "k", Name: "\x00", Hash: "h"}, ann()))
	})
	t.Run("large", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		m := catalog.Model{Name: "m", Description: strings.Repeat("größe ", 1<<20/7)}
		entry := must(s.PutModel(t.Context(), m, 0, ann()))(t)
		must(s.PutModel(t.Context(), m, entry.Revision, ann()))(t)
		if got := must(s.ListModels(t.Context()))(t)[0].Model.Description; got != m.Description {
			t.Errorf("want a description of %d bytes, got %d", len(m.Description), len(got))
		}
		ok(t, s.VerifyAudit(t.Context()))
	})
	t.Run("times", func(t *testing.T) {
		t.Parallel()
		testTimes(t, open(t))
	})
}

// testTimes knows that an end that cannot be kept as it is may not turn into no
// end.
func testTimes(t *testing.T, s storage.Store) {
	now := time.Now()
	for name, c := range map[string]struct {
		end    time.Time
		active bool
	}{
		"none":                    {time.Time{}, true},
		"the start of 1970":       {time.Unix(0, 0), false},
		"before 1970":             {time.Unix(-5, 5), false},
		"long ago":                {time.Date(1, 2, 3, 4, 5, 6, 7, time.UTC), false},
		"far ahead":               {time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), true},
		"a minute ago, elsewhere": {now.Add(-time.Minute).In(time.FixedZone("east", 14*3600)), false},
		"in a minute, elsewhere":  {now.Add(time.Minute).In(time.FixedZone("west", -12*3600)), true},
	} {
		ok(t, s.CreateKey(t.Context(), storage.Key{ID: name, Hash: "h", ExpiresAt: c.end}, ann()))
		k := must(s.Key(t.Context(), name))(t)
		if k.Active(now) != c.active {
			t.Errorf("a key that ends %s: want active %v, got %v with the end %v", name, c.active, k.Active(now), k.ExpiresAt)
		}
		if !k.ExpiresAt.IsZero() && k.ExpiresAt.Location() != time.UTC {
			t.Errorf("a key that ends %s: want the end in UTC, got %v", name, k.ExpiresAt)
		}
	}
	equal(t, "nanoseconds", true, func() bool {
		at := moment()
		ok(t, s.CreateKey(t.Context(), storage.Key{ID: "ns", Hash: "h", CreatedAt: at}, ann()))
		return must(s.Key(t.Context(), "ns"))(t).CreatedAt.Equal(at)
	}())
}
