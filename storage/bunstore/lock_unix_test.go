//go:build unix

package bunstore

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestCloseFreesTheLockOfCopies has a copy of the lock's file, as a process has
// that is being started while the store is closed.
func TestCloseFreesTheLockOfCopies(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "llmgw.db")
	s := openAt(t, path)
	fd, err := syscall.Dup(int(s.lock.file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	openAt(t, path)
}
