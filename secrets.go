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
	"time"

	"llmgw.io/llmgw/internal/durable"
	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

// LoadPepper reads the pepper from a file, or makes it when there is none; of
// any number of processes that start at once, all get the one that was kept. A
// file that others may read is refused: whoever has it can check guesses of keys.
func LoadPepper(path string) (storage.Pepper, error) {
	p, err := readPepper(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	p = storage.NewPepper()
	err = writeSecret(path, base64.StdEncoding.EncodeToString(p), durable.CreateFile)
	if errors.Is(err, fs.ErrExist) {
		return readPepper(path)
	}
	if err != nil {
		return nil, fmt.Errorf("keep the pepper: %w", err)
	}
	return p, nil
}

func readPepper(path string) (storage.Pepper, error) {
	info, err := os.Stat(path)
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
	if works, err := tokenWorks(ctx, store, pepper, path); works || err != nil {
		return err
	}
	id, secret := storage.NewAdminSecret()
	by := inventory.Author{Principal: "system:start", Action: "tokens.admin.create", Reason: "the owner's first token"}
	t := storage.AdminToken{ID: id, Name: "local-owner", Role: storage.RoleOwner, Hash: pepper.Hash(secret), CreatedBy: by.Principal}
	if err := store.CreateAdminToken(ctx, t, by); err != nil {
		return fmt.Errorf("make the owner's token: %w", err)
	}
	if err := writeSecret(path, secret+"\n", durable.WriteFile); err != nil {
		return fmt.Errorf("keep the owner's token: %w", err)
	}
	return nil
}

// tokenWorks reports whether a file holds an admin token that works. That nobody
// could say is an error, and no reason to make another one.
func tokenWorks(ctx context.Context, store storage.AdminTokens, pepper storage.Pepper, path string) (bool, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the owner's token: %w", err)
	}
	secret := strings.TrimSpace(string(b))
	id, ok := storage.AdminTokenID(secret)
	if !ok {
		return false, nil
	}
	t, err := store.AdminToken(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look the owner's token up: %w", err)
	}
	return t.Active(time.Now()) && pepper.Matches(secret, t.Hash), nil
}

// writeSecret writes a file of mode 0600, whole or not at all, in a folder that
// is made for it.
func writeSecret(path, text string, write func(path string, data []byte) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return write(path, []byte(text))
}
