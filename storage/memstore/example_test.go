package memstore_test

import (
	"context"
	"errors"
	"fmt"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/memstore"
)

// A definition is written at a revision, and whoever comes too late is told.
func ExampleNew() {
	ctx, s := context.Background(), memstore.New()
	by := inventory.Author{Principal: "token:ann", Reason: "a first try"}

	first, _ := s.PutModel(ctx, catalog.Model{Name: "tiny"}, 0, by)
	_, _ = s.PutModel(ctx, catalog.Model{Name: "tiny", Owner: "ann"}, first.Revision, by)
	_, err := s.PutModel(ctx, catalog.Model{Name: "tiny", Owner: "bob"}, first.Revision, by)
	fmt.Println(errors.Is(err, catalog.ErrStale))

	events, _ := s.ListAudit(ctx, storage.AuditQuery{Object: "model:tiny"})
	for _, e := range events {
		fmt.Println(e.Seq, e.Principal, e.Action, e.Before, e.After)
	}
	// Output:
	// true
	// 2 token:ann models.put {"name":"tiny"} {"name":"tiny","owner":"ann"}
	// 1 token:ann models.put  {"name":"tiny"}
}
