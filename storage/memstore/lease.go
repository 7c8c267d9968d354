package memstore

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"llmgw.io/llmgw/storage"
)

// Acquire takes the lease when it is free, past its end or the holder's own.
func (s *Store) Acquire(ctx context.Context, holder string) (storage.Lease, error) {
	var out storage.Lease
	err := s.do(ctx, func() error {
		if err := storage.CheckHolder(holder); err != nil {
			return err
		}
		now := utc(time.Now())
		if s.lease.Live(now) && s.lease.Holder != holder {
			return s.lease.Held()
		}
		s.lease = storage.Lease{Holder: holder, Epoch: s.lease.Epoch + 1, ExpiresAt: now.Add(storage.LeaseLife)}
		out = s.lease
		return nil
	})
	return out, err
}

// Renew extends the lease.
func (s *Store) Renew(ctx context.Context, l storage.Lease) (storage.Lease, error) {
	var out storage.Lease
	err := s.do(ctx, func() error {
		if s.lease.Epoch != l.Epoch || s.lease.Holder == "" || s.lease.Holder != l.Holder {
			return fmt.Errorf("lease of %q at epoch %d: %w", l.Holder, l.Epoch, storage.ErrLost)
		}
		s.lease.ExpiresAt = utc(time.Now()).Add(storage.LeaseLife)
		out = s.lease
		return nil
	})
	return out, err
}

// Release gives the lease up.
func (s *Store) Release(ctx context.Context, l storage.Lease) error {
	return s.do(ctx, func() error {
		if s.lease.Epoch == l.Epoch && s.lease.Holder == l.Holder {
			s.lease.Holder, s.lease.ExpiresAt = "", time.Time{}
		}
		return nil
	})
}

// Lead returns the handle of the leader of an epoch.
func (s *Store) Lead(epoch int64) storage.Leader { return &leader{store: s, epoch: epoch} }

type leader struct {
	store *Store
	epoch int64
}

// LoadAssignments returns what was ordered.
func (l *leader) LoadAssignments(ctx context.Context) (storage.Assignments, error) {
	s := l.store
	out := storage.Assignments{Replicas: []storage.Assignment{}, Memory: []storage.ModelMemory{}}
	err := s.do(ctx, func() error {
		for _, id := range slices.Sorted(maps.Keys(s.replicas)) {
			out.Replicas = append(out.Replicas, decode[storage.Assignment](s.replicas[id]))
		}
		for _, name := range slices.Sorted(maps.Keys(s.memory)) {
			out.Memory = append(out.Memory, storage.ModelMemory{Model: name, Data: bytes.Clone(s.memory[name])})
		}
		out.Next = s.next
		return nil
	})
	return out, err
}

// ChangeAssignments makes all of the change, or none of it.
func (l *leader) ChangeAssignments(ctx context.Context, c storage.AssignmentChange) error {
	rows := make([][]byte, len(c.Put))
	for i := range c.Put {
		var err error
		if rows[i], err = encode(c.Put[i]); err != nil {
			return err
		}
	}
	s := l.store
	return s.do(ctx, func() error {
		if s.lease.Epoch != l.epoch {
			return storage.Fenced(l.epoch, s.lease.Epoch)
		}
		for _, id := range c.Delete {
			delete(s.replicas, id)
		}
		for i := range c.Put {
			s.replicas[c.Put[i].Replica] = rows[i]
		}
		for _, name := range c.DeleteMemory {
			delete(s.memory, name)
		}
		for _, m := range c.PutMemory {
			s.memory[m.Model] = bytes.Clone(m.Data)
		}
		s.next = max(s.next, c.Next)
		return nil
	})
}
