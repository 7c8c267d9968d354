package reconciler

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
)

// What anything may still ask for is no leftover, whoever asks.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("ab", 32)
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	weights := func(folder, source, sum string) []inventory.Weight {
		return []inventory.Weight{
			{Path: folder + "/w-00001-of-00002.gguf", Bytes: 10, Source: source, SHA256: sum, LastUsed: at},
			{Path: folder + "/w-00002-of-00002.gguf", Bytes: 5, Source: source},
		}
	}
	fleet := func(w ...inventory.Weight) *inventory.Snapshot {
		return inventory.NewSnapshot(1, []*inventory.Node{{ID: "n1", Facts: inventory.Facts{Weights: w}}, {ID: "n2"}})
	}
	old := "https://h/w-00001-of-00002.gguf"
	model := func(edit func(m *catalog.Model)) *catalog.Index {
		m := catalog.Model{Name: "m", Source: "https://h/new.gguf"}
		edit(&m)
		return catalog.NewIndex(1, []catalog.Entry{{Model: m}})
	}
	none := func(*catalog.Model) {}
	leftover := []Leftover{{Node: "n1", Path: "f1", Bytes: 15, LastUsed: at, Source: old}}
	tests := []struct {
		name string
		view View
		want []Leftover
	}{
		{"nothing needs it", View{Catalog: model(none), Fleet: fleet(weights("f1", old, hash)...)}, leftover},
		{"the definition", View{Catalog: model(func(m *catalog.Model) { m.Source = old }), Fleet: fleet(weights("f1", old, "")...)}, nil},
		{"the definition, with a query and a hash", View{Catalog: model(func(m *catalog.Model) { m.Source = old + "?key=x#sha256=" + hash }), Fleet: fleet(weights("f1", old, "")...)}, nil},
		{"the hash of a file", View{Catalog: model(func(m *catalog.Model) { m.Files = []catalog.File{{Path: "x", SHA256: hash}} }), Fleet: fleet(weights("f1", old, hash)...)}, nil},
		{"the hash in a source", View{Catalog: model(func(m *catalog.Model) { m.Source += "#sha256=" + hash }), Fleet: fleet(weights("f1", old, hash)...)}, nil},
		{"the mirror", View{Catalog: model(func(m *catalog.Model) { m.Source = "mirror://sha256:" + hash }), Fleet: fleet(weights("f1", old, hash)...)}, nil},
		{"an adapter", View{Catalog: model(func(m *catalog.Model) { m.Adapters = []catalog.Adapter{{Name: "a", Source: old}} }), Fleet: fleet(weights("f1", old, "")...)}, nil},
		{"a rollback", View{Catalog: model(func(m *catalog.Model) { m.Origin = &catalog.Origin{Previous: &catalog.Previous{Source: old}} }), Fleet: fleet(weights("f1", old, "")...)}, nil},
		{"a replica of an older definition", View{Catalog: model(none), Fleet: fleet(weights("f1", old, "")...), Replicas: []Replica{{ID: "m-1", Model: "m", Source: old}}}, nil},
		{"a rollout that may go back", View{Catalog: model(none), Fleet: fleet(weights("f1", old, "")...), Memory: Memory{Models: map[catalog.Name]ModelMemory{"m": {Former: &Former{Source: old}}}}}, nil},
		{"a file that somebody put there", View{Catalog: model(none), Fleet: fleet(weights("f1", "", hash)...)}, nil},
		{"two of them", View{Catalog: model(none), Fleet: fleet(append(weights("f2", "hf://o/n", ""), weights("f1", old, hash)...)...)}, append(leftover, Leftover{Node: "n1", Path: "f2", Bytes: 15, LastUsed: at, Source: "hf://o/n"})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tt.want, tt.view.Leftovers()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
