package bunstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"llmgw.io/llmgw/storage"
)

// fileLock is the right of one process to use a database's file. The system
// takes it back when the process ends, however it ends, so there is never a
// stale one to remove. The file itself stays: removing it would let two
// processes hold two files of one name.
type fileLock struct{ file *os.File }

// lockFile takes the lock beside a database, or says who has it.
func lockFile(database string) (*fileLock, error) {
	path := database + ".lock"
	f, free, err := openLocked(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the folder %s does not exist; make it, or name another file for the store: %w", filepath.Dir(path), storage.ErrUnavailable)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the store's file: %w: %w", storage.ErrUnavailable, err)
	}
	if !free {
		return nil, fmt.Errorf("%w: %s has %s; stop it, or give this one a file of its own", storage.ErrInUse, holder(path), database)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "an unnamed host"
	}
	// Only for messages: that nobody can read it harms nothing.
	if err := f.Truncate(0); err == nil {
		fmt.Fprintf(f, "process %d on %s since %s\n", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	}
	return &fileLock{file: f}, nil
}

// holder reads who has the lock.
func holder(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "another process"
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 512))
	if who := strings.TrimSpace(string(b)); err == nil && who != "" {
		return who
	}
	return "another process"
}

func (l *fileLock) release() error {
	if l == nil {
		return nil
	}
	return errors.Join(unlock(l.file), l.file.Close())
}
