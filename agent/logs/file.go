package logs

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
)

// fileBytes is how large the agent's log grows before the old half is put aside.
const fileBytes = 20 << 20

// File is the agent's own log. It writes to standard error and to a file; a full
// file is renamed once, so that at most two are kept. It is an io.Writer for a
// logger and may be used from many goroutines at once. An agent that is given its
// path can be asked for it.
type File struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int64
}

// OpenFile opens or makes an agent's log, mode 0600, and its folder.
func OpenFile(path string) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	l := &File{path: path}
	return l, l.open()
}

func (l *File) open() error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.file, l.size = f, info.Size()
	return nil
}

// Write never fails for the file's sake: a full disk must not silence standard
// error too.
func (l *File) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(p)) > fileBytes {
		_ = l.file.Close()
		_ = os.Rename(l.path, l.path+".1")
		if err := l.open(); err != nil {
			return os.Stderr.Write(p)
		}
	}
	if n, err := l.file.Write(p); err == nil {
		l.size += int64(n)
	}
	return os.Stderr.Write(p)
}

// Close closes the file.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
