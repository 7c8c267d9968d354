package storagetest

import (
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

func testLeases(t *testing.T, open Opener) {
	s := open(t)
	wantErr(t, storage.ErrInvalid, func() error { _, err := s.Acquire(t.Context(), ""); return err }())
	first := must(s.Acquire(t.Context(), "a"))(t)
	if first.Holder != "a" || first.Epoch < 1 {
		t.Errorf("want a to lead at some epoch, got %+v", first)
	}
	recent(t, "the end of the lease less its life", first.ExpiresAt.Add(-storage.LeaseLife))

	_, err := s.Acquire(t.Context(), "b")
	wantErr(t, storage.ErrHeld, err)
	if err == nil || !strings.Contains(err.Error(), "a leads until") {
		t.Errorf("want the holder named, got %v", err)
	}
	// One that came back under its old name fences its former self.
	second := must(s.Acquire(t.Context(), "a"))(t)
	if second.Epoch <= first.Epoch {
		t.Errorf("want a later epoch than %d, got %d", first.Epoch, second.Epoch)
	}
	_, err = s.Renew(t.Context(), first)
	wantErr(t, storage.ErrLost, err)
	renewed := must(s.Renew(t.Context(), second))(t)
	if renewed.Epoch != second.Epoch || renewed.ExpiresAt.Before(second.ExpiresAt) {
		t.Errorf("want the lease %+v extended, got %+v", second, renewed)
	}
	ok(t, s.Release(t.Context(), first))
	_, err = s.Acquire(t.Context(), "b")
	wantErr(t, storage.ErrHeld, err)
	ok(t, s.Release(t.Context(), renewed))
	ok(t, s.Release(t.Context(), renewed))
	_, err = s.Renew(t.Context(), renewed)
	wantErr(t, storage.ErrLost, err)
	third := must(s.Acquire(t.Context(), "b"))(t)
	if third.Epoch <= second.Epoch {
		t.Errorf("want a later epoch than %d, got %d", second.Epoch, third.Epoch)
	}
	_, err = s.Renew(t.Context(), storage.Lease{Holder: "a", Epoch: third.Epoch})
	wantErr(t, storage.ErrLost, err)
}

func wholeAssignment(replica string) storage.Assignment {
	return storage.Assignment{
		Replica: replica, Model: "m", Source: "file:///m", Files: []catalog.File{{Path: "m"}}, Profile: catalog.Profile{Name: "p", Engine: "sim"},
		Fingerprint: "f", CreatedAt: moment().UTC(), Phase: "starting", PhaseSince: moment().UTC(), Why: "min",
		Shards: []inventory.Allocation{{Shard: replica + "/0", Replica: replica, Model: "m", Node: "n", Devices: []inventory.DeviceShare{{Index: 3, MemoryMB: 5}}}},
	}
}

func testAssignments(t *testing.T, open Opener) {
	t.Run("round trip", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		lead := s.Lead(must(s.Acquire(t.Context(), "a"))(t).Epoch)
		equal(t, "assignments of a fresh store", storage.Assignments{
			Replicas: []storage.Assignment{}, Memory: []storage.ModelMemory{}, Next: 1,
		}, must(lead.LoadAssignments(t.Context()))(t))
		ok(t, unnoted(t, s, func() error {
			return lead.ChangeAssignments(t.Context(), storage.AssignmentChange{
				Put:       []storage.Assignment{wholeAssignment("b"), wholeAssignment("a")},
				PutMemory: []storage.ModelMemory{{Model: "y", Data: []byte{0, 255, 1}}, {Model: "x", Data: []byte{}}}, Next: 7,
			})
		}))
		equal(t, "assignments", storage.Assignments{
			Replicas: []storage.Assignment{wholeAssignment("a"), wholeAssignment("b")},
			Memory:   []storage.ModelMemory{{Model: "x", Data: []byte{}}, {Model: "y", Data: []byte{0, 255, 1}}}, Next: 7,
		}, must(lead.LoadAssignments(t.Context()))(t))

		moved := wholeAssignment("b")
		moved.Phase, moved.DrainBy = "draining", moment().UTC()
		ok(t, lead.ChangeAssignments(t.Context(), storage.AssignmentChange{
			Put: []storage.Assignment{moved}, Delete: []string{"a", "never-there"},
			PutMemory: []storage.ModelMemory{{Model: "x", Data: []byte("new")}}, DeleteMemory: []catalog.Name{"y"}, Next: 3,
		}))
		equal(t, "assignments after a change", storage.Assignments{
			Replicas: []storage.Assignment{moved}, Memory: []storage.ModelMemory{{Model: "x", Data: []byte("new")}}, Next: 7,
		}, must(lead.LoadAssignments(t.Context()))(t))
	})
	t.Run("an older leader is fenced", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		wantErr(t, storage.ErrFenced, s.Lead(1).ChangeAssignments(t.Context(), storage.AssignmentChange{}))
		lease := must(s.Acquire(t.Context(), "a"))(t)
		old := s.Lead(lease.Epoch)
		ok(t, old.ChangeAssignments(t.Context(), storage.AssignmentChange{Put: []storage.Assignment{wholeAssignment("r")}}))
		young := s.Lead(must(s.Acquire(t.Context(), "a"))(t).Epoch)
		before := must(young.LoadAssignments(t.Context()))(t)
		wantErr(t, storage.ErrFenced, old.ChangeAssignments(t.Context(), storage.AssignmentChange{
			Put: []storage.Assignment{wholeAssignment("s")}, Delete: []string{"r"}, PutMemory: []storage.ModelMemory{{Model: "m"}}, Next: 100,
		}))
		wantErr(t, storage.ErrFenced, old.ChangeAssignments(t.Context(), storage.AssignmentChange{}))
		equal(t, "assignments after a fenced write", before, must(young.LoadAssignments(t.Context()))(t))
		ok(t, young.ChangeAssignments(t.Context(), storage.AssignmentChange{Next: 2, Delete: []string{"r"}}))
	})
}

// TestLeaseEnds is for stores that live in a bubble of testing/synctest, where
// waiting costs nothing: a lease that is not renewed ends, and its former holder
// is fenced once another one leads.
func TestLeaseEnds(t *testing.T, s storage.Store) {
	first := must(s.Acquire(t.Context(), "a"))(t)
	time.Sleep(storage.LeaseLife - 1)
	_, err := s.Acquire(t.Context(), "b")
	wantErr(t, storage.ErrHeld, err)
	first = must(s.Renew(t.Context(), first))(t)
	time.Sleep(storage.LeaseLife - 1)
	_, err = s.Acquire(t.Context(), "b")
	wantErr(t, storage.ErrHeld, err)
	time.Sleep(time.Nanosecond)
	must(s.Acquire(t.Context(), "b"))(t)
	_, err = s.Renew(t.Context(), first)
	wantErr(t, storage.ErrLost, err)
	wantErr(t, storage.ErrFenced, s.Lead(first.Epoch).ChangeAssignments(t.Context(), storage.AssignmentChange{}))
}
