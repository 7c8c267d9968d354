package durable

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func background(t *testing.T) *Background {
	t.Helper()
	b, err := OpenBackground()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func opened(t *testing.T, path string, flag int) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// Files and their folder are taken again and again, each time when those before
// are over; also when they are closed meanwhile.
func TestBackgroundSync(t *testing.T) {
	t.Parallel()
	b := background(t)
	dir := t.TempDir()
	folder := opened(t, dir, os.O_RDONLY)
	for i := range 10 {
		f := opened(t, filepath.Join(dir, string(rune('a'+i))), os.O_CREATE|os.O_WRONLY)
		if _, err := b.Write(f, []byte("x")); err != nil {
			t.Fatal(err)
		}
		in := folder
		if i%2 == 1 {
			in = nil
		}
		began, err := b.Sync(f, in)
		for ; !began && err == nil; began, err = b.Sync(f, in) {
			runtime.Gosched() // the ones before are on their way
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
}

// What cannot be brought to a disk is refused, and the next one is taken all the
// same.
func TestBackgroundRefuses(t *testing.T) {
	t.Parallel()
	b := background(t)
	if began, err := b.Sync(opened(t, os.DevNull, os.O_RDWR), nil); began || !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a device that is no disk: %v, %v", began, err)
	}
	good := opened(t, filepath.Join(t.TempDir(), "x"), os.O_CREATE|os.O_RDWR)
	if began, err := b.Sync(good, opened(t, os.DevNull, os.O_RDWR)); began || err == nil {
		t.Errorf("one of two: %v, %v", began, err)
	}
	closed := opened(t, filepath.Join(t.TempDir(), "x"), os.O_CREATE|os.O_RDWR)
	_ = closed.Close()
	began, err := b.Sync(closed, nil)
	for ; !began && err == nil; began, err = b.Sync(closed, nil) {
		runtime.Gosched()
	}
	if began || !errors.Is(err, syscall.EBADF) {
		t.Errorf("a closed file: %v, %v", began, err)
	}
	if began, err := b.Sync(good, nil); !began || err != nil {
		t.Errorf("a file after them: %v, %v", began, err)
	}
}

// What the disk said of the last call comes with the next one, once.
func TestBackgroundTellsOfFailures(t *testing.T) {
	t.Parallel()
	b := background(t)
	b.failed = syscall.EIO
	f := opened(t, filepath.Join(t.TempDir(), "x"), os.O_CREATE|os.O_RDWR)
	if began, err := b.Sync(f, nil); !began || !errors.Is(err, syscall.EIO) {
		t.Errorf("began %v, %v", began, err)
	}
	began, err := b.Sync(f, nil)
	for ; !began && err == nil; began, err = b.Sync(f, nil) {
		runtime.Gosched()
	}
	if err != nil {
		t.Errorf("it is said again: %v", err)
	}
}

// Writes are those of the file: they go on where it stands, and fail as it does.
func TestBackgroundWrite(t *testing.T) {
	t.Parallel()
	b := background(t)
	path := filepath.Join(t.TempDir(), "x")
	f := opened(t, path, os.O_CREATE|os.O_WRONLY)
	for _, write := range []func(*os.File, []byte) (int, error){b.Write, (*os.File).Write, b.Write} {
		if n, err := write(f, []byte("abc")); n != 3 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if n, err := b.Write(f, nil); n != 0 || err != nil {
		t.Errorf("nothing: %d, %v", n, err)
	}
	if got, err := os.ReadFile(path); string(got) != strings.Repeat("abc", 3) || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for name, f := range map[string]*os.File{"full": opened(t, "/dev/full", os.O_WRONLY), "read only": opened(t, path, os.O_RDONLY)} {
		if n, err := b.Write(f, []byte("abc")); n != 0 || err == nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	_ = f.Close()
	if _, err := b.Write(f, []byte("abc")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed file: %v", err)
	}
}

// A disk that does not keep up makes writes careful for a while, and no longer.
func TestBackgroundIsCareful(t *testing.T) {
	t.Parallel()
	b := background(t)
	f := opened(t, filepath.Join(t.TempDir(), "x"), os.O_CREATE|os.O_WRONLY)
	b.flying, b.began = 1, time.Now() // it is not over, since it never began
	if _, err := b.Write(f, []byte("abc")); err != nil || !b.careful.IsZero() {
		t.Errorf("careful until %v, %v", b.careful, err)
	}
	b.began = b.began.Add(-time.Second)
	if _, err := b.Write(f, []byte("abc")); err != nil || b.careful.Before(time.Now()) {
		t.Errorf("careful until %v, %v", b.careful, err)
	}
	b.flying = 0
}
