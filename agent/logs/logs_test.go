package logs

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := Append(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), Engine)
	var b strings.Builder
	for i := range 30000 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	write(t, path+".1", "older\n")
	write(t, path, b.String()+"unfinished")
	for tail, want := range map[int]string{
		1:      "unfinished",
		2:      "line 29999\nunfinished",
		20000:  b.String()[strings.Index(b.String(), "line 10001\n"):] + "unfinished",
		100000: b.String() + "unfinished",
		0:      "older\n" + b.String() + "unfinished",
		-1:     "",
	} {
		r, err := Open(t.Context(), path, Query{Tail: tail})
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || string(got) != want {
			t.Errorf("tail %d: %d bytes, %v; want %d", tail, len(got), err, len(want))
		}
		_ = r.Close()
	}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), Engine)
	write(t, path, "one\ntwo\n")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r, err := Open(ctx, path, Query{Tail: 1, Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		time.AfterFunc(time.Second, func() { write(t, path, "three\n") })
		time.AfterFunc(5*time.Second, func() { rotate(path, 0) })
		time.AfterFunc(10*time.Second, func() { write(t, path, "four\n") })
		got, err := io.ReadAll(r)
		if err != nil || string(got) != "two\nthree\nfour\n" {
			t.Errorf("followed %q, %v", got, err)
		}
	})
}

// The agent's own log is renamed when it is full, and who follows it goes on with
// the new one, without the loss of a line.
func TestFollowThroughARename(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agent.log")
	write(t, path, "one\n")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r, err := Open(ctx, path, Query{Tail: -1, Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		time.AfterFunc(time.Second, func() {
			write(t, path, "two\n")
			if err := os.Rename(path, path+".1"); err != nil {
				t.Error(err)
			}
		})
		time.AfterFunc(10*time.Second, func() { write(t, path, "three\n") })
		time.AfterFunc(20*time.Second, func() { write(t, path, "four\n") })
		got, err := io.ReadAll(r)
		if err != nil || string(got) != "two\nthree\nfour\n" {
			t.Errorf("followed %q, %v", got, err)
		}
	})
}

func TestRotate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), Engine)
	f, err := Append(path) // the engine's
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range 5 {
		if _, err := fmt.Fprintf(f, "part %d of the log\n", i); err != nil {
			t.Fatal(err)
		}
		rotate(path, 10)
	}
	fmt.Fprint(f, "end\n")
	for name, want := range map[string]string{"": "end\n", ".1": "part 4 of the log\n", ".2": "part 3 of the log\n"} {
		got, err := os.ReadFile(path + name)
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	if _, err := os.Stat(path + ".3"); err == nil {
		t.Error("more files are kept than three")
	}
	if got := Last(path + ".1"); len(got) != 1 || got[0] != "part 4 of the log" {
		t.Errorf("last lines %q", got)
	}
}
