package inventorytest_test

import (
	"errors"
	"testing"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/inventory/inventorytest"
)

func TestStoreGuardsRevisions(t *testing.T) {
	t.Parallel()
	var s inventorytest.Store
	by := inventory.Author{Principal: "token:ops"}
	row, err := s.PutNodeSettings(t.Context(), inventory.NodeSettings{Node: "a"}, 0, by)
	if err != nil || row.Revision != 1 {
		t.Fatalf("want revision 1, got %+v, %v", row, err)
	}
	if _, err := s.PutNodeSettings(t.Context(), row, 0, by); !errors.Is(err, inventory.ErrStale) {
		t.Errorf("want ErrStale for a revision that is past, got %v", err)
	}
	if err := s.DeleteNode(t.Context(), "a", by); err != nil {
		t.Fatal(err)
	}
	if rows, err := s.ListNodeSettings(t.Context()); err != nil || len(rows) != 0 {
		t.Errorf("want no rows after a delete, got %v, %v", rows, err)
	}
	if got := len(s.Authors()); got != 2 {
		t.Errorf("want 2 writes with authors, got %d", got)
	}
}
