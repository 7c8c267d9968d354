package llmgw

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

// LoadPepper reads the pepper from a file, or makes it when there is none. A
// file that others may read is refused: whoever has it can check guesses of
// keys.
func LoadPepper(path string) (storage.Pepper, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		p := storage.NewPepper()
		if err := writeSecret(path, base64.StdEncoding.EncodeToString(p)); err != nil {
			return nil, fmt.Errorf("keep the pepper: %w", err)
		}
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the pepper: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("the pepper %s may be read by others; run chmod 600 on it", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the pepper: %w", err)
	}
	p, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(b)))
	if err != nil || len(p) < 32 {
		return nil, fmt.Errorf("the pepper %s is damaged; restore it from a backup, or every key must be made anew", path)
	}
	return p, nil
}

// EnsureAdminToken makes the owner's first token and writes it to a file of mode
// 0600, where ctl finds it. A file that holds a token which still works is left
// alone.
func EnsureAdminToken(ctx context.Context, store storage.AdminTokens, pepper storage.Pepper, path string) error {
	if b, err := os.ReadFile(path); err == nil {
		secret := strings.TrimSpace(string(b))
		if id, ok := storage.AdminTokenID(secret); ok {
			t, err := store.AdminToken(ctx, id)
			if err == nil && t.RevokedAt.IsZero() && pepper.Matches(secret, t.Hash) {
				return nil
			}
		}
	}
	id, secret := storage.NewAdminSecret()
	by := inventory.Author{Principal: "system:start", Action: "tokens.create", Reason: "the owner's first token"}
	t := storage.AdminToken{ID: id, Name: "local-owner", Role: storage.RoleOwner, Hash: pepper.Hash(secret), CreatedBy: by.Principal}
	if err := store.CreateAdminToken(ctx, t, by); err != nil {
		return fmt.Errorf("make the owner's token: %w", err)
	}
	if err := writeSecret(path, secret+"\n"); err != nil {
		return fmt.Errorf("keep the owner's token: %w", err)
	}
	return nil
}

// writeSecret writes a file of mode 0600, whole or not at all.
func writeSecret(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".secret-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // harmless after the rename
	_, werr := tmp.WriteString(text)
	if err := errors.Join(werr, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
