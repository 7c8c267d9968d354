package placement_test

import (
	"testing"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/placement"
)

func TestMixIsSlow(t *testing.T) {
	t.Parallel()
	a, b := onDevices(1, "L4-24"), onDevices(8, "H100-80")
	a.Name, b.Name = "a", "b"
	first := placement.Mix{}.Next([]placement.Wanted{{Model: b, Replicas: 3}, {Model: a, Replicas: 10}, {Model: a}, {Replicas: 5}})
	if first.Version != 1 || len(first.Parts) != 2 || first.Parts[0].Model != a || first.Parts[1].Weight != 3 {
		t.Fatalf("want two parts by name in version 1, got %+v", first)
	}
	again := *a
	for _, c := range []struct {
		name   string
		wanted []placement.Wanted
		fresh  bool
	}{
		{"the same, in another order", []placement.Wanted{{Model: a, Replicas: 10}, {Model: b, Replicas: 3}}, false},
		{"a definition that reads the same", []placement.Wanted{{Model: &again, Replicas: 10}, {Model: b, Replicas: 3}}, false},
		{"one replica more", []placement.Wanted{{Model: a, Replicas: 10}, {Model: b, Replicas: 4}}, false},
		{"all twice", []placement.Wanted{{Model: a, Replicas: 20}, {Model: b, Replicas: 6}}, false},
		{"many refused", []placement.Wanted{{Model: a, Replicas: 10}, {Model: b, Replicas: 3, Refused: 6}}, true},
		{"a model less", []placement.Wanted{{Model: a, Replicas: 10}}, true},
		{"another model", []placement.Wanted{{Model: a, Replicas: 10}, {Model: onDevices(3, ""), Replicas: 3}}, true},
	} {
		next := first.Next(c.wanted)
		if fresh := next.Version != first.Version; fresh != c.fresh {
			t.Errorf("%s: want a new mix: %v, got %v", c.name, c.fresh, fresh)
		}
	}
}

// The mix decides which of two equal rooms is spoiled: the one that fewer ask
// for.
func TestMixKeepsRoomForWhatIsAsked(t *testing.T) {
	t.Parallel()
	fleet := parse(t, "a gpu=8xH100-80 engines=vllm", "b gpu=8xH100-80 engines=vllm+sglang")
	small, large := onDevices(1, "H100-80"), onDevices(8, "H100-80")
	large.Profiles[0].Engine = catalog.EngineSGLang
	for _, c := range []struct {
		want   string
		weight float64
	}{{"a", 1}, {"a", 100}} {
		p := placement.Placer{Mix: placement.Mix{Parts: []placement.MixPart{{Model: small, Weight: 1}, {Model: large, Weight: c.weight}}}}
		d, _ := p.Choose(fleet, placement.Request{Model: small}, nil)
		if got := string(d.Candidate.Spots[0].Node); got != c.want {
			t.Errorf("want %s, which the large one cannot use anyway, got %s", c.want, got)
		}
	}
	// Nothing to go by is no reason to fail.
	none := placement.Placer{Mix: placement.Mix{Parts: []placement.MixPart{{Model: small}, {Model: &catalog.Model{}, Weight: 4}}}}
	if d, _ := none.Choose(fleet, placement.Request{Model: small}, nil); !d.Placed {
		t.Error("want it placed with an empty mix")
	}
}
