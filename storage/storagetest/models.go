package storagetest

import (
	"strings"
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/storage"
)

// wholeModel uses every kind of member, so that nothing is lost on the way.
func wholeModel(name catalog.Name) catalog.Model {
	two := 2
	return catalog.Model{
		Name: name, Description: "größer · 模型 · 🙂", Owner: "team", Aliases: []catalog.Name{"alias"},
		Source: "file:///weights/m.gguf", Files: []catalog.File{{Path: "m.gguf", SHA256: "ab", Bytes: 1 << 40}},
		Class: catalog.ClassBatch, Scaling: &catalog.Scaling{Min: 0, Max: &two, IdleTimeout: 7},
		Profiles: []catalog.Profile{{
			Name: "cpu", Engine: catalog.EngineStatic, Args: []string{"--flag", "x=y"}, Env: map[string]string{"A": "b", "HF_TOKEN": "env-secret"},
			Endpoints: []catalog.Endpoint{{URL: "http://127.0.0.1:1", Key: new("endpoint-secret")}},
		}},
		External: &catalog.External{URL: "https://user:url-secret@example.com", Model: "m", Key: new("external-secret")},
		Price:    &catalog.Price{Input: 1, Output: 2},
	}
}

func testModels(t *testing.T, open Opener) {
	t.Run("round trip", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		put := must(s.PutModel(t.Context(), wholeModel("b"), 0, ann()))(t)
		must(s.PutModel(t.Context(), catalog.Model{Name: "a"}, 0, ann()))(t)
		equal(t, "the model put", wholeModel("b"), put.Model)
		if put.Revision < 1 || put.UpdatedBy != "token:ann" || put.Declared {
			t.Errorf("want a revision, the author and no declared model, got %+v", put)
		}
		recent(t, "updated at", put.UpdatedAt)
		list := must(s.ListModels(t.Context()))(t)
		if len(list) != 2 || list[0].Model.Name != "a" {
			t.Fatalf("want a and b in order, got %v", list)
		}
		equal(t, "the model listed", put, list[1])
	})
	t.Run("revisions", func(t *testing.T) {
		t.Parallel()
		testModelRevisions(t, open(t))
	})
	t.Run("noted without secrets", func(t *testing.T) {
		t.Parallel()
		testModelAudit(t, open(t))
	})
	t.Run("names that are none", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		for _, name := range []catalog.Name{"", "a\x00", "\xff"} {
			wantErr(t, storage.ErrInvalid, unnoted(t, s, func() error {
				_, err := s.PutModel(t.Context(), catalog.Model{Name: name}, 0, ann())
				return err
			}))
			wantErr(t, catalog.ErrNotFound, unnoted(t, s, func() error { return s.DeleteModel(t.Context(), name, 1, ann()) }))
		}
	})
	t.Run("callers share no memory", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		m := wholeModel("m")
		got := must(s.PutModel(t.Context(), m, 0, ann()))(t)
		m.Aliases[0], got.Model.Profiles[0].Env["A"] = "changed", "changed"
		equal(t, "the model kept", wholeModel("m"), must(s.ListModels(t.Context()))(t)[0].Model)
	})
}

func testModelRevisions(t *testing.T, s storage.Store) {
	put := func(expected int64) (catalog.Entry, error) {
		return s.PutModel(t.Context(), catalog.Model{Name: "m"}, expected, ann())
	}
	stale := func(want error, write func() error) {
		t.Helper()
		wantErr(t, want, unnoted(t, s, write))
	}
	stale(catalog.ErrStale, func() error { _, err := put(7); return err })
	first := must(put(0))(t)
	stale(catalog.ErrExists, func() error { _, err := put(0); return err })
	second := must(put(first.Revision))(t)
	if second.Revision <= first.Revision {
		t.Errorf("want a later revision than %d, got %d", first.Revision, second.Revision)
	}
	stale(catalog.ErrStale, func() error { _, err := put(first.Revision); return err })
	stale(catalog.ErrStale, func() error { return s.DeleteModel(t.Context(), "m", first.Revision, ann()) })
	stale(catalog.ErrNotFound, func() error { return s.DeleteModel(t.Context(), "other", 1, ann()) })
	ok(t, s.DeleteModel(t.Context(), "m", second.Revision, ann()))
	stale(catalog.ErrNotFound, func() error { return s.DeleteModel(t.Context(), "m", second.Revision, ann()) })
	// One that was removed and made again is another one: a page that was
	// opened before may not overwrite it.
	must(put(0))(t)
	stale(catalog.ErrStale, func() error { _, err := put(first.Revision); return err })
	stale(catalog.ErrStale, func() error { _, err := put(second.Revision); return err })
}

func testModelAudit(t *testing.T, s storage.Store) {
	var entry catalog.Entry
	e := noted(t, s, func() (err error) {
		entry, err = s.PutModel(t.Context(), wholeModel("m"), 0, ann())
		return err
	})
	if !strings.Contains(e.After, storage.Redacted) || !strings.Contains(e.After, `"alias"`) {
		t.Errorf("want the definition with its secrets replaced, got %s", e.After)
	}
	made := e.After
	e.After = ""
	event(t, storage.AuditEvent{
		Principal: "token:ann", Claimed: "ann", Action: "models.put", Object: "model:m", RequestID: "req-1", Reason: "because",
	}, e)

	by := ann()
	by.Action = "models.scale"
	e = noted(t, s, func() (err error) {
		entry, err = s.PutModel(t.Context(), catalog.Model{Name: "m"}, entry.Revision, by)
		return err
	})
	equal(t, "what the model was", made, e.Before)
	equal(t, "what the model is", `{"name":"m"}`, e.After)
	equal(t, "the author's word for it", "models.scale", e.Action)

	e = noted(t, s, func() error { return s.DeleteModel(t.Context(), "m", entry.Revision, ann()) })
	equal(t, "what was removed", `{"name":"m"}`, e.Before)
	equal(t, "what is left", "", e.After)
	noSecrets(t, s, "env-secret", "endpoint-secret", "external-secret", "url-secret")
}

// noSecrets fails when the log holds one of the texts anywhere.
func noSecrets(t *testing.T, s storage.Store, secrets ...string) {
	t.Helper()
	for _, e := range audits(t, s) {
		for _, secret := range secrets {
			if strings.Contains(e.Before+e.After+e.Object+e.Action+e.Principal+e.Reason, secret) {
				t.Errorf("the event %d (%s) holds a secret: %q", e.Seq, e.Action, secret)
			}
		}
	}
}
