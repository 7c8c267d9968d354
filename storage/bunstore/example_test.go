package bunstore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/bunstore"
)

// A store is one file, which one process has open at a time.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "llmgw")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	s, err := bunstore.Open(ctx, bunstore.Config{DSN: filepath.Join(dir, "llmgw.db")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	if err := s.AppendUsage(ctx, []storage.Request{{ID: "req-1", Model: "tiny", Outcome: storage.OutcomeOK, CostMicros: 12}}); err != nil {
		fmt.Println(err)
		return
	}
	sums, err := s.SumUsage(ctx, storage.UsageQuery{By: storage.ByModel})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, sum := range sums {
		fmt.Println(s.Kind(), sum.ID, sum.Requests, sum.CostMicros)
	}
	// Output: sqlite tiny 1 12
}
