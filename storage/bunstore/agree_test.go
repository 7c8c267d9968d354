package bunstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/memstore"
)

// TestAgreesWithMemory does the same to both stores, at random, and wants the
// same answers, and in the end the same rows and the same log. In a bubble both
// read the same clock, so times and hashes agree to the last digit.
func TestAgreesWithMemory(t *testing.T) {
	t.Parallel()
	// Migrated once and copied for every history.
	path := filepath.Join(t.TempDir(), "llmgw.db")
	if err := openAt(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	fresh := readFile(t, path)
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(timeless{t}, func(r *rapid.T) {
			writeFile(t, path, fresh)
			s, err := Open(context.Background(), Config{DSN: path})
			if err != nil {
				r.Fatal(err)
			}
			defer s.Close()
			p := &pair{r: r, mem: memstore.New(), sql: s, revisions: []int64{0, 1}, epochs: []int64{0, 1}}
			for range rapid.IntRange(1, 40).Draw(r, "steps") {
				p.step()
				time.Sleep(time.Duration(rapid.SampledFrom([]int{0, 1, int(time.Second), int(storage.LeaseLife)}).Draw(r, "wait")))
			}
			p.compare()
		})
	})
}

// timeless is a test without a deadline: a bubble has none.
type timeless struct{ testing.TB }

// pair is the two stores with what a caller would remember of them.
type pair struct {
	r         *rapid.T
	mem, sql  storage.Store
	revisions []int64
	epochs    []int64
}

// both makes one call on both stores and compares answers and kinds of errors.
func both[T any](p *pair, what string, call func(s storage.Store) (T, error)) (T, bool) {
	p.r.Helper()
	want, wantErr := call(p.mem)
	got, gotErr := call(p.sql)
	if a, b := kind(wantErr), kind(gotErr); a != b {
		p.r.Fatalf("%s: in memory %v, in SQL %v", what, wantErr, gotErr)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.r.Fatalf("%s (- in memory, + in SQL):\n%s", what, diff)
	}
	return got, gotErr == nil
}

func (p *pair) write(what string, call func(s storage.Store) error) {
	p.r.Helper()
	both(p, what, func(s storage.Store) (struct{}, error) { return struct{}{}, call(s) })
}

func kind(err error) string {
	for _, own := range ours() {
		if errors.Is(err, own) {
			return own.Error()
		}
	}
	return fmt.Sprint(err)
}

func (p *pair) pick(what string, from ...string) string {
	return rapid.SampledFrom(from).Draw(p.r, what)
}

func (p *pair) step() {
	steps := []func(context.Context){p.models, p.nodes, p.tokens, p.keys, p.usage, p.leases, p.assignments}
	steps[rapid.IntRange(0, len(steps)-1).Draw(p.r, "area")](context.Background())
}

func (p *pair) author() inventory.Author {
	return inventory.Author{Principal: p.pick("principal", "token:ann", "token:bob", ""), Reason: p.pick("reason", "", "\x00", "ü")}
}

func (p *pair) models(ctx context.Context) {
	name, by := catalog.Name(p.pick("model", "a", "b", "ü")), p.author()
	expected := rapid.SampledFrom(p.revisions).Draw(p.r, "expected")
	if rapid.Bool().Draw(p.r, "delete") {
		p.write("DeleteModel", func(s storage.Store) error { return s.DeleteModel(ctx, name, expected, by) })
		return
	}
	m := catalog.Model{Name: name, Owner: p.pick("owner", "", "x'y"), External: &catalog.External{Key: new("s")}}
	e, ok := both(p, "PutModel", func(s storage.Store) (catalog.Entry, error) { return s.PutModel(ctx, m, expected, by) })
	if ok {
		p.revisions = append(p.revisions, e.Revision)
	}
}

func (p *pair) nodes(ctx context.Context) {
	id, by := inventory.NodeID(p.pick("node", "n1", "n2", "")), p.author()
	expected := rapid.SampledFrom(p.revisions).Draw(p.r, "expected")
	switch rapid.IntRange(0, 2).Draw(p.r, "what") {
	case 0:
		p.write("DeleteNode", func(s storage.Store) error { return s.DeleteNode(ctx, id, by) })
	case 1:
		serial := p.pick("serial", "1", "2", "")
		p.write("KeepCertificate", func(s storage.Store) error {
			return s.KeepCertificate(ctx, inventory.Certificate{Serial: serial, Node: id, IssuedAt: time.Now()})
		})
	case 2:
		n := inventory.NodeSettings{Node: id, Wish: inventory.WishCordoned, Labels: map[string]string{"a": "b"}}
		e, ok := both(p, "PutNodeSettings", func(s storage.Store) (inventory.NodeSettings, error) {
			return s.PutNodeSettings(ctx, n, expected, by)
		})
		if ok {
			p.revisions = append(p.revisions, e.Revision)
		}
	}
}

func (p *pair) tokens(ctx context.Context) {
	id, by := p.pick("token", "t1", "t2", "t\x00"), p.author()
	switch rapid.IntRange(0, 3).Draw(p.r, "what") {
	case 0:
		t := inventory.JoinToken{ID: id, Hash: "h", ExpiresAt: time.Now().Add(10 * time.Second)}
		p.write("CreateJoinToken", func(s storage.Store) error { return s.CreateJoinToken(ctx, t, by) })
	case 1:
		p.write("RevokeJoinToken", func(s storage.Store) error { return s.RevokeJoinToken(ctx, id, by) })
	case 2:
		use := storage.TokenUse{ID: id, Hash: p.pick("hash", "h", "h", "other"), Node: inventory.NodeID(p.pick("node", "n1", "n2"))}
		p.write("UseJoinToken", func(s storage.Store) error { return s.UseJoinToken(ctx, use) })
	case 3:
		t := storage.AdminToken{ID: id, Hash: "h", Role: storage.Role(p.pick("role", "viewer", "king"))}
		p.write("CreateAdminToken", func(s storage.Store) error { return s.CreateAdminToken(ctx, t, by) })
		p.write("RevokeAdminToken", func(s storage.Store) error { return s.RevokeAdminToken(ctx, id, by) })
	}
}

func (p *pair) keys(ctx context.Context) {
	k, by := storage.Key{ID: p.pick("key", "k1", "k2", ""), Hash: "h", Project: p.pick("project", "", "default", "gone")}, p.author()
	if rapid.Bool().Draw(p.r, "limited") {
		k.Models = []string{"a"}
	}
	if rapid.Bool().Draw(p.r, "revoke") {
		p.write("RevokeKey", func(s storage.Store) error { return s.RevokeKey(ctx, k.ID, by) })
		return
	}
	p.write("CreateKey", func(s storage.Store) error { return s.CreateKey(ctx, k, by) })
}

func (p *pair) usage(ctx context.Context) {
	var rows []storage.Request
	for range rapid.IntRange(0, 5).Draw(p.r, "rows") {
		rows = append(rows, storage.Request{
			ID: p.pick("request", "1", "2", "3", "4", "5", "6", "7\xff"), KeyID: p.pick("key", "", "k1", "k2"), ProjectID: p.pick("project", "", "gone"),
			UserID: p.pick("user", "", "u"), Model: "asked", ServedModel: p.pick("served", "", "m"), CostMicros: rapid.Int64Range(0, 9).Draw(p.r, "cost"),
			Outcome: storage.Outcome(p.pick("outcome", "ok", "cancelled", "refused", "")),
		})
	}
	p.write("AppendUsage", func(s storage.Store) error { return s.AppendUsage(ctx, rows) })
}

func (p *pair) leases(ctx context.Context) {
	holder := p.pick("holder", "a", "b")
	l := storage.Lease{Holder: holder, Epoch: rapid.SampledFrom(p.epochs).Draw(p.r, "epoch")}
	switch rapid.IntRange(0, 2).Draw(p.r, "what") {
	case 0:
		if got, ok := both(p, "Acquire", func(s storage.Store) (storage.Lease, error) { return s.Acquire(ctx, holder) }); ok {
			p.epochs = append(p.epochs, got.Epoch)
		}
	case 1:
		both(p, "Renew", func(s storage.Store) (storage.Lease, error) { return s.Renew(ctx, l) })
	case 2:
		p.write("Release", func(s storage.Store) error { return s.Release(ctx, l) })
	}
}

func (p *pair) assignments(ctx context.Context) {
	c := storage.AssignmentChange{
		Put:    []storage.Assignment{{Replica: p.pick("replica", "r1", "r2"), Model: "m", Why: p.pick("why", "min", "demand")}},
		Delete: []string{p.pick("replica", "r1", "r3")}, PutMemory: []storage.ModelMemory{{Model: "m", Data: []byte(p.pick("memory", "", "x"))}},
		Next: rapid.Int64Range(0, 9).Draw(p.r, "next"),
	}
	epoch := rapid.SampledFrom(p.epochs).Draw(p.r, "epoch")
	p.write("ChangeAssignments", func(s storage.Store) error { return s.Lead(epoch).ChangeAssignments(ctx, c) })
}

// compare reads everything there is from both.
func (p *pair) compare() {
	ctx := context.Background()
	both(p, "ListModels", func(s storage.Store) ([]catalog.Entry, error) { return s.ListModels(ctx) })
	both(p, "ListNodeSettings", func(s storage.Store) ([]inventory.NodeSettings, error) { return s.ListNodeSettings(ctx) })
	both(p, "Revocations", func(s storage.Store) ([]inventory.Revocation, error) { return s.Revocations(ctx) })
	both(p, "ListJoinTokens", func(s storage.Store) ([]inventory.JoinToken, error) { return s.ListJoinTokens(ctx) })
	both(p, "ListAdminTokens", func(s storage.Store) ([]storage.AdminToken, error) { return s.ListAdminTokens(ctx) })
	both(p, "ListKeys", func(s storage.Store) ([]storage.Key, error) { return s.ListKeys(ctx) })
	both(p, "ListAudit", func(s storage.Store) ([]storage.AuditEvent, error) { return s.ListAudit(ctx, storage.AuditQuery{}) })
	both(p, "LoadAssignments", func(s storage.Store) (storage.Assignments, error) { return s.Lead(0).LoadAssignments(ctx) })
	for _, by := range storage.Levels {
		q := storage.UsageQuery{By: by}
		both(p, "SumUsage", func(s storage.Store) ([]storage.UsageSum, error) { return s.SumUsage(ctx, q) })
	}
	p.write("VerifyAudit", func(s storage.Store) error { return s.VerifyAudit(ctx) })
}
