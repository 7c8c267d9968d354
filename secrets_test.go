package llmgw

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/memstore"
)

// TestLoadPepperOnce shows that processes which start at once agree: one that
// hashed keys under a pepper of its own would lose them with its end.
func TestLoadPepperOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "pepper")
	got := make([]storage.Pepper, 16)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			p, err := LoadPepper(path)
			if err != nil {
				t.Error(err)
			}
			got[i] = p
		})
	}
	wg.Wait()
	for _, p := range got {
		if len(p) < 32 || !bytes.Equal(p, got[0]) {
			t.Fatalf("want one pepper for all, got %d and %d bytes that differ", len(p), len(got[0]))
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("want a file of mode 0600, got %v, %v", info, err)
	}
	if rest, _ := os.ReadDir(filepath.Dir(path)); len(rest) != 1 {
		t.Errorf("want the pepper alone in its folder, got %v", rest)
	}
}

func TestLoadPepperRefuses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pepper")
	for _, c := range []struct {
		name, text, says string
		mode             os.FileMode
	}{
		{"one that others may read", strings.Repeat("A", 44), "chmod 600", 0o640},
		{"one that was cut off", "AAAA", "damaged", 0o600},
		{"one that is no base64", strings.Repeat("?", 44), "damaged", 0o600},
	} {
		if err := os.WriteFile(path, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadPepper(path); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: want an error that says %q, got %v", c.name, c.says, err)
		}
		if b, _ := os.ReadFile(path); string(b) != c.text {
			t.Errorf("%s: it must be left as it is", c.name)
		}
	}
}

// TestEnsureAdminToken shows that a token is replaced when it is known not to
// work, and at no other time.
func TestEnsureAdminToken(t *testing.T) {
	t.Parallel()
	ctx, store, pepper := t.Context(), memstore.New(), storage.NewPepper()
	path := filepath.Join(t.TempDir(), "admin.token")
	by := inventory.Author{Principal: "test"}
	ensure := func() string {
		t.Helper()
		if err := EnsureAdminToken(ctx, store, pepper, path); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	first := ensure()
	if ensure() != first {
		t.Error("a token that works was replaced")
	}
	id, _ := storage.AdminTokenID(first)
	if err := store.RevokeAdminToken(ctx, id, by); err != nil {
		t.Fatal(err)
	}
	second := ensure()
	if second == first {
		t.Error("a revoked token was kept")
	}
	expired, secret := storage.NewAdminSecret()
	row := storage.AdminToken{ID: expired, Name: "old", Role: storage.RoleOwner, Hash: pepper.Hash(secret), ExpiresAt: time.Now().Add(-time.Minute)}
	if err := store.CreateAdminToken(ctx, row, by); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	if ensure() == secret {
		t.Error("an expired token was kept")
	}
	events, err := store.ListAudit(ctx, storage.AuditQuery{Principal: "system:start"})
	if err != nil || len(events) != 3 || events[0].Action != "tokens.admin.create" {
		t.Errorf("want every new token in the audit log by the name of the act, got %+v, %v", events, err)
	}
}

// away is a store that does not answer.
type away struct{ storage.AdminTokens }

var errAway = errors.New("the store is away")

func (away) AdminToken(context.Context, string) (storage.AdminToken, error) {
	return storage.AdminToken{}, errAway
}

func TestEnsureAdminTokenAsksFirst(t *testing.T) {
	t.Parallel()
	store, pepper, path := memstore.New(), storage.NewPepper(), filepath.Join(t.TempDir(), "admin.token")
	if err := EnsureAdminToken(t.Context(), store, pepper, path); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(path)
	if err := EnsureAdminToken(t.Context(), away{store}, pepper, path); !errors.Is(err, errAway) {
		t.Errorf("want the store's error, got %v", err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("a token of which nobody could say anything was replaced")
	}
}
