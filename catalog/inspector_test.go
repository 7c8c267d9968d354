package catalog

import (
	"context"
	"errors"
	"testing"
)

// critic is an Inspector that refuses one source.
type critic struct{ asked []string }

func (c *critic) Inspect(_ context.Context, m *Model) error {
	c.asked = append(c.asked, m.Source)
	if m.Source == "https://h/bad.gguf" {
		return &InvalidError{Model: m.Name, Field: "source", Problem: "it is no model"}
	}
	return nil
}

func TestWeightsAreInspectedBeforeTheyAreTaken(t *testing.T) {
	t.Parallel()
	c := &critic{}
	s, err := NewService(t.Context(), ServiceConfig{Store: &fakeStore{rows: map[Name]Entry{}}, Inspector: c})
	if err != nil {
		t.Fatal(err)
	}
	bad, good := tiny("m"), tiny("m")
	bad.Source, good.Source = "https://h/bad.gguf", "https://h/good.gguf"
	var invalid *InvalidError
	if _, err := s.Add(t.Context(), bad, Author{}); !errors.As(err, &invalid) || invalid.Field != "source" {
		t.Errorf("got %v", err)
	}
	if _, ok := s.Index().Get("m"); ok {
		t.Error("it was taken all the same")
	}
	if _, err := s.Add(t.Context(), good, Author{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Change(t.Context(), "m", Change{Replace: &bad}, nil, Author{}); !errors.As(err, &invalid) {
		t.Errorf("got %v", err)
	}
	asked := len(c.asked)
	same, broken, owner := good, bad, "us"
	same.Description, broken.Class = "the same weights", "none"
	for _, change := range []Change{{Replace: &same}, {Owner: &owner}, {Replace: &broken}} {
		_, _ = s.Change(t.Context(), "m", change, nil, Author{})
	}
	_, _ = s.Add(t.Context(), bad, Author{}) // the name is taken
	if len(c.asked) != asked {
		t.Errorf("it was asked for nothing: %v", c.asked[asked:])
	}
}
