package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

func TestWriteFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	for _, text := range []string{"a long first text", "short"} {
		if err := WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Errorf("got %q, %v; want %q", got, err, text)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, want 0600", info.Mode())
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("%d files are left, want the one that was written", len(left))
	}
}

func TestCreateFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "once")
	var made atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			err := CreateFile(path, fmt.Appendf(nil, "%d", i))
			switch {
			case err == nil:
				made.Add(1)
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made.Load() != 1 {
		t.Errorf("%d made it, want one", made.Load())
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("want a file of mode 0600, got %v, %v", info, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("%d files are left, want the one that was made", len(left))
	}
}

func TestWriteFileLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(path, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("x")); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%d entries are left, want the folder alone", len(left))
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "v.json")
	var got map[string]int
	if found, err := ReadJSON(path, &got); found || err != nil {
		t.Errorf("a file that is not there: %v, %v", found, err)
	}
	if err := WriteJSON(path, map[string]int{"a": 1}); err != nil {
		t.Fatal(err)
	}
	if found, err := ReadJSON(path, &got); !found || err != nil || got["a"] != 1 {
		t.Errorf("got %v, %v, %v", got, found, err)
	}
	if err := os.WriteFile(path, []byte("{half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := ReadJSON(path, &got); !found || err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("half a file: %v, %v; want an error that names it", found, err)
	}
}

func TestTryLock(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("files are locked on Linux only")
	}
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	first, second := open(), open()
	if held, err := TryLock(first); !held || err != nil {
		t.Fatalf("nobody has it: %v, %v", held, err)
	}
	if held, err := TryLock(second); held || err != nil {
		t.Errorf("the first one has it: %v, %v", held, err)
	}
	_ = first.Close()
	if held, err := TryLock(second); !held || err != nil {
		t.Errorf("the first one is gone: %v, %v", held, err)
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		&os.PathError{Op: "write", Err: syscall.ENOSPC}: true,
		fmt.Errorf("copy: %w", syscall.EDQUOT):          true,
		os.ErrPermission:                                false,
	} {
		if got := Full(err); got != want {
			t.Errorf("Full(%v) = %v", err, got)
		}
	}
}
