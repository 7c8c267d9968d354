package catalog_test

import (
	"errors"
	"testing"

	"llmgw.io/llmgw/catalog"
)

// An index on trial is another one; what a definition leaves out of what can only
// be written is kept, and what would be refused is.
func TestIndexOnTrial(t *testing.T) {
	t.Parallel()
	key := "s3cret"
	away := catalog.Model{Name: "away", External: &catalog.External{URL: "https://models.example.net/v1", Model: "x", Key: &key}}
	plain := catalog.Model{Name: "plain", Source: "file:///w", Fallbacks: []catalog.Name{"away"}, Profiles: []catalog.Profile{{Name: "cpu", Engine: catalog.EngineLlamaCPP, MemoryGB: 1}}}
	x := catalog.NewIndex(7, []catalog.Entry{{Model: away, Revision: 3}, {Model: plain, Revision: 1}})

	next := away
	next.External = &catalog.External{URL: away.External.URL, Model: "y"}
	y, err := x.With(next)
	if err != nil {
		t.Fatal(err)
	}
	e, _ := y.Get("away")
	if e.Revision != 4 || e.Model.External.Model != "y" || e.Model.External.Key == nil || *e.Model.External.Key != key {
		t.Errorf("want the next revision with the key that was kept, got %+v %+v", e, e.Model.External)
	}
	if old, _ := x.Get("away"); old.Revision != 3 || old.Model.External.Model != "x" || y.Version() == x.Version() {
		t.Errorf("the index itself has changed: %+v", old)
	}

	class := catalog.ClassBatch
	if y, err = x.Changed("plain", catalog.Change{Class: &class}); err != nil {
		t.Fatal(err)
	}
	if e, _ = y.Get("plain"); e.Model.Class != catalog.ClassBatch || e.Revision != 2 {
		t.Errorf("want it of class batch at revision 2, got %+v", e)
	}
	if y, err = x.Without("plain"); err != nil || len(y.Entries()) != 1 {
		t.Errorf("want one left, got %v, %v", y, err)
	}

	wrong := catalog.Class("golden")
	_, added := x.With(catalog.Model{Name: "new"})
	_, changed := x.Changed("plain", catalog.Change{Class: &wrong})
	for what, err := range map[string]error{"a definition without profiles": added, "a class that is none": changed} {
		if _, is := errors.AsType[*catalog.InvalidError](err); !is {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if _, err := x.Changed("nobody", catalog.Change{}); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("an unknown name: got %v", err)
	}
	if _, err := x.Without("nobody"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("an unknown name: got %v", err)
	}
	if _, err := x.Without("away"); !errors.Is(err, catalog.ErrInUse) {
		t.Errorf("one that others name: got %v", err)
	}
}
