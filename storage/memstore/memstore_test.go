package memstore

import (
	"testing"
	"testing/synctest"

	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/storagetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, func(*testing.T) storage.Store { return New() })
}

func TestTampering(t *testing.T) {
	t.Parallel()
	storagetest.RunTampering(t, func(*testing.T) (storage.Store, storagetest.Tamper) {
		s := New()
		return s, storagetest.Tamper{
			Edit: func(_ *testing.T, seq int64, edit func(*storage.AuditEvent)) { edit(&s.audit[seq-1]) },
			Drop: func(_ *testing.T, seq int64) {
				for i := range s.audit {
					if s.audit[i].Seq == seq {
						s.audit = append(s.audit[:i], s.audit[i+1:]...)
						return
					}
				}
			},
			Swap: func(_ *testing.T, a, b int64) {
				x, y := &s.audit[a-1], &s.audit[b-1]
				*x, *y = *y, *x
				x.Seq, y.Seq = a, b
			},
		}
	})
}

func TestLeaseEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { storagetest.TestLeaseEnds(t, New()) })
}
