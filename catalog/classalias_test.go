package catalog

import (
	"strings"
	"testing"

	"llmgw.io/llmgw/inventory"
)

func cards(name Name, class inventory.Class, count int) Model {
	return Model{Name: name, Source: "file:///srv/m", Profiles: []Profile{
		{Name: "main", Engine: EngineVLLM, GPU: &GPU{Class: class, Count: count}},
		{Name: "other", Engine: EngineVLLM, GPU: &GPU{Count: 1}},
		{Name: "cpu", Engine: EngineLlamaCPP, MemoryGB: 1},
	}}
}

// TestClassAliases shows that a definition is checked, kept and answered with the
// class that an alias stands for, whichever way it comes in.
func TestClassAliases(t *testing.T) {
	t.Parallel()
	store := &fakeStore{rows: map[Name]Entry{"older": {Model: cards("older", "h100", 1), Revision: 1}}}
	s, err := NewService(t.Context(), ServiceConfig{
		Store: store, Declared: []Model{cards("declared", "h100", 2)},
		ClassAliases: inventory.ClassAliases{"h100": "H100-80", "half": "3g.40gb"},
	})
	if err != nil {
		t.Fatal(err)
	}
	added := cards("added", "h100", 2)
	e, err := s.Add(t.Context(), added, inventory.Author{})
	if err != nil || e.Model.Profiles[0].GPU.Class != "H100-80" {
		t.Errorf("want the class in the answer, got %+v, %v", e.Model.Profiles, err)
	}
	if added.Profiles[0].GPU.Class != "h100" {
		t.Error("the caller's definition was changed")
	}
	tried, err := s.Index().With(cards("tried", "h100", 1))
	if err != nil {
		t.Fatal(err)
	}
	again, err := tried.With(cards("again", "h100", 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []Name{"older", "declared", "added", "tried", "again"} {
		e, ok := again.Get(name)
		if !ok || e.Model.Profiles[0].GPU.Class != "H100-80" || e.Model.Profiles[1].GPU.Class != "" {
			t.Errorf("want %s on H100-80, got %+v", name, e.Model.Profiles)
		}
	}
	if _, err := s.Reload([]Model{cards("declared", "h100", 4)}); err != nil {
		t.Fatal(err)
	}
	if e, _ := s.Index().Get("declared"); e.Model.Profiles[0].GPU.Class != "H100-80" {
		t.Errorf("want the class after a reload, got %v", e.Model.Profiles[0].GPU.Class)
	}
	for _, err := range []error{
		second(s.Add(t.Context(), cards("two", "half", 2), inventory.Author{})),
		second(s.Index().With(cards("two", "half", 2))),
		second(s.Reload([]Model{cards("two", "half", 2)})),
	} {
		if err == nil || !strings.Contains(err.Error(), "instances of a partitioned card (3g.40gb)") {
			t.Errorf("two instances must be refused under another name too, got %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestClassAliasesRefused shows that a service does not start on bad aliases, and
// names every one of them.
func TestClassAliasesRefused(t *testing.T) {
	t.Parallel()
	_, err := NewService(t.Context(), ServiceConfig{ClassAliases: inventory.ClassAliases{
		"a": "b", "b": "a", "c": "c", "d": "", "e f": "H100-80", "1g.10gb": "H100-80", "good": "H100-80",
	}})
	if err == nil {
		t.Fatal("bad aliases are taken")
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 6 || strings.Contains(err.Error(), `"good"`) {
		t.Errorf("want six complaints, got\n%v", err)
	}
}
