package memstore

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

var _ storage.Store = (*Store)(nil)

// Store keeps everything in memory. Definitions, settings and assignments lie
// encoded, so that no caller shares memory with it and what comes back is what
// any other store would give.
type Store struct {
	mu     sync.Mutex
	closed bool

	// revision is the last one given out. It is one counter for all rows, so a
	// row that was deleted and made again never has an old revision.
	revision int64

	models map[catalog.Name]modelRow
	nodes  map[inventory.NodeID]nodeRow
	holds  map[inventory.Domain]inventory.Hold

	certPEM, keyPEM []byte
	joinTokens      map[string]joinRow
	certificates    map[string]certificateRow
	revocations     map[inventory.NodeID]time.Time

	keys        map[string]storage.Key
	adminTokens map[string]storage.AdminToken

	usage map[string][]byte

	audit []storage.AuditEvent
	head  storage.AuditHead

	lease    storage.Lease
	replicas map[string][]byte
	memory   map[catalog.Name][]byte
	next     int64
}

// New returns an empty store.
func New() *Store {
	return &Store{
		models:       map[catalog.Name]modelRow{},
		nodes:        map[inventory.NodeID]nodeRow{},
		holds:        map[inventory.Domain]inventory.Hold{},
		joinTokens:   map[string]joinRow{},
		certificates: map[string]certificateRow{},
		revocations:  map[inventory.NodeID]time.Time{},
		keys:         map[string]storage.Key{},
		adminTokens:  map[string]storage.AdminToken{},
		usage:        map[string][]byte{},
		replicas:     map[string][]byte{},
		memory:       map[catalog.Name][]byte{},
		next:         1,
	}
}

// Kind is "memory".
func (s *Store) Kind() string { return "memory" }

// Ping answers nil until the store is closed.
func (s *Store) Ping(ctx context.Context) error {
	return s.do(ctx, func() error { return nil })
}

// Close forgets nothing, but every later call answers ErrClosed.
func (s *Store) Close() error {
	return s.do(context.Background(), func() error {
		s.closed = true
		return nil
	})
}

// do runs one call under the lock.
func (s *Store) do(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return storage.ErrClosed
	}
	return f()
}

// plan is one write that has been looked at: what to note and what to do. A nil
// apply means that there is nothing to do, and nothing is noted either.
type plan struct {
	act   storage.Act
	apply func()
}

// change makes one write with its audit event. look may read but not write;
// nothing is done unless it can be noted.
func (s *Store) change(ctx context.Context, by inventory.Author, look func(now time.Time) (plan, error)) error {
	return s.do(ctx, func() error {
		if err := storage.CheckAuthor(by); err != nil {
			return err
		}
		now := utc(time.Now())
		p, err := look(now)
		if err != nil || p.apply == nil {
			return err
		}
		if err := s.note(now, by, p.act); err != nil {
			return err
		}
		p.apply()
		return nil
	})
}

// bump gives out the next revision.
func (s *Store) bump() int64 {
	s.revision++
	return s.revision
}

// utc is a time as it is kept: without a zone and without the monotonic clock.
func utc(t time.Time) time.Time { return t.UTC().Round(0) }

func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode a row: %w", err)
	}
	return b, nil
}

// decode reads what encode wrote, so it cannot fail.
func decode[T any](b []byte) T {
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		panic("memstore: a row of its own does not decode: " + err.Error())
	}
	return v
}
