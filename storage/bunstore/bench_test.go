package bunstore

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"llmgw.io/llmgw/storage"
)

// BenchmarkAppendUsage writes batches of the size that routers send.
func BenchmarkAppendUsage(b *testing.B) {
	s, err := Open(b.Context(), Config{DSN: filepath.Join(b.TempDir(), "llmgw.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const batch = 1000
	n := 0
	for b.Loop() {
		rows := make([]storage.Request, batch)
		for i := range rows {
			n++
			rows[i] = storage.Request{
				ID: fmt.Sprintf("req-%020d", n), At: time.Now(), KeyID: "abcdefghij", Model: "m", ServedModel: "m", Replica: "m-1", Endpoint: "chat",
				Status: 200, Outcome: storage.OutcomeOK, Latency: time.Second, PromptTokens: 100, CompletionTokens: 100, CostMicros: 7,
				Attempts: []storage.Attempt{{Replica: "m-1", Status: 200}},
			}
		}
		if err := s.AppendUsage(b.Context(), rows); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}
