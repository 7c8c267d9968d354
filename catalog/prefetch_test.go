package catalog

import (
	"strings"
	"testing"

	"llmgw.io/llmgw/inventory"
)

func TestPrefetchIsChecked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		source string
		p      Prefetch
		says   string // empty: it is sound
	}{
		{"https://h/m.gguf", Prefetch{Nodes: []inventory.NodeID{"a"}}, ""},
		{"https://h/m.gguf", Prefetch{Labels: map[string]string{"zone": "a"}}, ""},
		{"https://h/m.gguf", Prefetch{}, "name nodes, or labels"},
		{"file:///srv/m.gguf", Prefetch{Nodes: []inventory.NodeID{"a"}}, "used where they are"},
		{"https://h/m.gguf", Prefetch{Nodes: []inventory.NodeID{"a", "b", "a"}}, "prefetch.nodes[2]: \"a\" is named twice"},
		{"https://h/m.gguf", Prefetch{Nodes: []inventory.NodeID{""}}, "prefetch.nodes[0]"},
	} {
		m := tiny("m")
		m.Source, m.Prefetch = tt.source, &tt.p
		err := Validate(&m)
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s %+v: got %v, want %q", tt.source, tt.p, err, tt.says)
		}
	}
}
