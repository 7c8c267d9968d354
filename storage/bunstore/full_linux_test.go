package bunstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"llmgw.io/llmgw/inventory"
	"llmgw.io/llmgw/storage"
)

// smallDisk mounts a file system of a few MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFullDisk fills the disk. Writes are refused with what to do, nothing that
// was acknowledged is lost, and the store goes on by itself when there is space.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t)
	path, ballast := filepath.Join(dir, "llmgw.db"), filepath.Join(dir, "ballast")
	writeFile(t, ballast, make([]byte, 1<<20))
	s := openAt(t, path)
	acked := 0
	write := func() error {
		err := s.AppendUsage(t.Context(), []storage.Request{{ID: fmt.Sprint(acked), EndUser: strings.Repeat("x", 8000)}})
		if err == nil {
			acked++
		}
		return err
	}
	var err error
	for err == nil && acked < 10000 {
		err = write()
	}
	if !errors.Is(err, storage.ErrFull) || !strings.Contains(err.Error(), "free some space") || !strings.Contains(err.Error(), path) {
		t.Fatalf("want a full disk named with what to do, got %v", err)
	}
	if err := s.CreateKey(t.Context(), storage.Key{ID: "k", Name: strings.Repeat("x", 1<<20), Hash: "h"}, inventory.Author{Principal: "p"}); !errors.Is(err, storage.ErrFull) {
		t.Errorf("want a change refused, got %v", err)
	}
	// A small change of what is there may well succeed, and proves nothing.
	if _, err := s.Acquire(t.Context(), "control"); err != nil && !errors.Is(err, storage.ErrFull) {
		t.Error(err)
	}
	if err := s.Ping(t.Context()); !errors.Is(err, storage.ErrFull) {
		t.Errorf("want Ping to say that nothing can be written, got %v", err)
	}
	for i := range acked {
		if _, err := s.Request(t.Context(), fmt.Sprint(i)); err != nil {
			t.Fatalf("row %d of %d: %v", i, acked, err)
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("want Ping to see the space, got %v", err)
	}
	if err := write(); err != nil {
		t.Errorf("want the store to go on, got %v", err)
	}
	checkWhole(t, s)
}

// TestReadOnlyDisk takes the right to write away and gives it back.
func TestReadOnlyDisk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t)
	path := filepath.Join(dir, "llmgw.db")
	if err := openAt(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("a file system cannot be made read-only here: %v", err)
	}
	if s, err := Open(t.Context(), Config{DSN: path}); err == nil {
		s.Close()
		t.Error("want a store that cannot be written refused, got none")
	} else if !strings.Contains(err.Error(), path) {
		t.Errorf("want the file named, got %v", err)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT, ""); err != nil {
		t.Fatal(err)
	}
	checkWhole(t, openAt(t, path))
}
