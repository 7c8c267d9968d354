package storagetest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"llmgw.io/llmgw/storage"
)

// Tamper changes the log behind the store's back, as one would who can write
// its file. Each takes the number of an event.
type Tamper struct {
	// Edit changes one event in place, its hash included where edit sets it.
	Edit func(t *testing.T, seq int64, edit func(*storage.AuditEvent))
	// Drop removes one event.
	Drop func(t *testing.T, seq int64)
	// Swap exchanges the contents of two events, hashes included, and leaves
	// their numbers where they are.
	Swap func(t *testing.T, a, b int64)
}

// RunTampering shows that VerifyAudit finds edits, drops and swaps. open returns
// a fresh store and the ways to tamper with it.
func RunTampering(t *testing.T, open func(t *testing.T) (storage.Store, Tamper)) {
	const events = 9
	edits := map[string]func(*storage.AuditEvent){
		"principal":  func(e *storage.AuditEvent) { e.Principal = "token:bob" },
		"claimed":    func(e *storage.AuditEvent) { e.Claimed += "x" },
		"action":     func(e *storage.AuditEvent) { e.Action = "models.get" },
		"object":     func(e *storage.AuditEvent) { e.Object = "model:other" },
		"before":     func(e *storage.AuditEvent) { e.Before = "" },
		"after":      func(e *storage.AuditEvent) { e.After = `{"n":0}` },
		"request id": func(e *storage.AuditEvent) { e.RequestID = "" },
		"reason":     func(e *storage.AuditEvent) { e.Reason = "" },
		"time":       func(e *storage.AuditEvent) { e.At = e.At.Add(1) },
		"hash":       func(e *storage.AuditEvent) { e.Hash = string(e.Hash[0]^1) + e.Hash[1:] },
		"own hash":   func(e *storage.AuditEvent) { e.Reason = "other"; e.Follow(storage.AuditHead{Seq: e.Seq - 1}) },
	}
	check := func(name string, tamper func(t *testing.T, w Tamper)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := open(t)
			t.Cleanup(func() { ok(t, s.Close()) })
			for i := range events {
				ok(t, s.RecordAudit(t.Context(), ann(), "model:m", `{"n":1}`, fmt.Sprintf(`{"n":%d}`, i+2)))
			}
			ok(t, s.VerifyAudit(t.Context()))
			tamper(t, w)
			wantErr(t, storage.ErrTampered, s.VerifyAudit(t.Context()))
		})
	}
	for name, edit := range edits {
		check("edit "+name, func(t *testing.T, w Tamper) { w.Edit(t, 1+rand.Int64N(events), edit) })
	}
	for _, seq := range []int64{1, 5, events} {
		check(fmt.Sprintf("drop %d of %d", seq, events), func(t *testing.T, w Tamper) { w.Drop(t, seq) })
	}
	check("drop all", func(t *testing.T, w Tamper) {
		for seq := range int64(events) {
			w.Drop(t, seq+1)
		}
	})
	check("swap neighbours", func(t *testing.T, w Tamper) { w.Swap(t, 4, 5) })
	check("swap the ends", func(t *testing.T, w Tamper) { w.Swap(t, 1, events) })
}
