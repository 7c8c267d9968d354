package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/storage"
)

type assignmentRow struct {
	bun.BaseModel `bun:"table:assignments"`

	Replica string `bun:"replica,pk"`
	Model   string `bun:"model"`
	Data    string `bun:"data"`
	// Epoch is the leader's that wrote the row.
	Epoch int64 `bun:"epoch"`
}

type memoryRow struct {
	bun.BaseModel `bun:"table:model_memory"`

	Model string `bun:"model,pk"`
	Data  []byte `bun:"data"`
	Epoch int64  `bun:"epoch"`
}

// leader is the fenced handle of one epoch.
type leader struct {
	store *Store
	epoch int64
}

// Lead returns the handle of the leader of an epoch.
func (s *Store) Lead(epoch int64) storage.Leader { return &leader{store: s, epoch: epoch} }

// LoadAssignments returns what was ordered.
func (l *leader) LoadAssignments(ctx context.Context) (storage.Assignments, error) {
	out := storage.Assignments{Replicas: []storage.Assignment{}, Memory: []storage.ModelMemory{}}
	err := l.store.readWhole(ctx, func(ctx context.Context, tx bun.Tx) error {
		var rows []assignmentRow
		if err := tx.NewSelect().Model(&rows).Order("replica").Scan(ctx); err != nil {
			return err
		}
		for i := range rows {
			var a storage.Assignment
			if err := decode("assignment of replica "+rows[i].Replica, rows[i].Data, &a); err != nil {
				return err
			}
			out.Replicas = append(out.Replicas, a)
		}
		var memory []memoryRow
		if err := tx.NewSelect().Model(&memory).Order("model").Scan(ctx); err != nil {
			return err
		}
		for _, m := range memory {
			out.Memory = append(out.Memory, storage.ModelMemory{Model: catalog.Name(m.Model), Data: m.Data})
		}
		return tx.QueryRowContext(ctx, `SELECT value FROM counters WHERE name = ?`, counterReplica).Scan(&out.Next)
	})
	return out, err
}

// ChangeAssignments makes all of the change, or none of it.
func (l *leader) ChangeAssignments(ctx context.Context, c storage.AssignmentChange) error {
	rows := make([]assignmentRow, len(c.Put))
	for i := range c.Put {
		data, err := encode(c.Put[i])
		if err != nil {
			return err
		}
		rows[i] = assignmentRow{Replica: c.Put[i].Replica, Model: string(c.Put[i].Model), Data: data, Epoch: l.epoch}
	}
	memory := make([]memoryRow, len(c.PutMemory))
	for i, m := range c.PutMemory {
		memory[i] = memoryRow{Model: string(m.Model), Data: append([]byte{}, m.Data...), Epoch: l.epoch}
	}
	rows = lastOf(rows, func(r assignmentRow) string { return r.Replica })
	memory = lastOf(memory, func(r memoryRow) string { return r.Model })
	return l.store.write(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := l.fence(ctx, tx); err != nil {
			return err
		}
		if err := changeRows(ctx, tx, rows, c.Delete); err != nil {
			return err
		}
		if err := changeMemory(ctx, tx, memory, c.DeleteMemory); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE counters SET value = ? WHERE name = ? AND value < ?`, c.Next, counterReplica, c.Next)
		return err
	})
}

// lastOf drops rows that a later one replaces: a statement may not write a row
// twice.
func lastOf[T any](rows []T, key func(T) string) []T {
	at := map[string]int{}
	out := rows[:0:0]
	for _, r := range rows {
		if i, ok := at[key(r)]; ok {
			out[i] = r
			continue
		}
		at[key(r)] = len(out)
		out = append(out, r)
	}
	return out
}

// fence lets the transaction go on only while the epoch is current. The update
// takes the row's lock, so no later leader can come up before the transaction
// has ended.
func (l *leader) fence(ctx context.Context, tx bun.Tx) error {
	current, err := changed(tx.ExecContext(ctx, `UPDATE leases SET epoch = epoch WHERE name = ? AND epoch = ?`, leaseLeader, l.epoch))
	if err != nil || current {
		return err
	}
	var epoch int64
	if err := tx.QueryRowContext(ctx, `SELECT epoch FROM leases WHERE name = ?`, leaseLeader).Scan(&epoch); err != nil {
		return err
	}
	return storage.Fenced(l.epoch, epoch)
}

func changeRows(ctx context.Context, tx bun.Tx, put []assignmentRow, remove []string) error {
	if len(remove) > 0 {
		if _, err := tx.NewDelete().Model((*assignmentRow)(nil)).Where("replica IN (?)", bun.List(remove)).Exec(ctx); err != nil {
			return err
		}
	}
	if len(put) == 0 {
		return nil
	}
	_, err := tx.NewInsert().Model(&put).On("CONFLICT (replica) DO UPDATE").
		Set("model = EXCLUDED.model").Set("data = EXCLUDED.data").Set("epoch = EXCLUDED.epoch").Exec(ctx)
	return err
}

func changeMemory(ctx context.Context, tx bun.Tx, put []memoryRow, remove []catalog.Name) error {
	if len(remove) > 0 {
		if _, err := tx.NewDelete().Model((*memoryRow)(nil)).Where("model IN (?)", bun.List(remove)).Exec(ctx); err != nil {
			return err
		}
	}
	if len(put) == 0 {
		return nil
	}
	_, err := tx.NewInsert().Model(&put).On("CONFLICT (model) DO UPDATE").
		Set("data = EXCLUDED.data").Set("epoch = EXCLUDED.epoch").Exec(ctx)
	return err
}
