package fetch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"llmgw.io/llmgw/agent/protocol"
	"llmgw.io/llmgw/catalog"
)

// aSet fetches a set and gives its folder's name and its file.
func aSet(t *testing.T, f *Fetcher) (name, path, source string) {
	t.Helper()
	s := server(t, nil)
	source = s.URL + "/w.gguf"
	path, err := get(t, f, source)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Base(filepath.Dir(path)), path, source
}

func unneeded(string, string) string { return "" }

func TestRemove(t *testing.T) {
	t.Parallel()
	f := testFetcher(t)
	name, path, source := aSet(t, f)
	if got, sha := f.Known(path); got != source || sha != sum(weights) {
		t.Errorf("known are %q and %q", got, sha)
	}
	wantKept := func(t *testing.T, says string, needed func(string, string) string) {
		t.Helper()
		_, err := f.Remove(name, needed)
		if !errors.Is(err, ErrKept) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want it kept, with %q", err, says)
		}
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("it was kept and is gone: %v", err)
		}
	}
	t.Run("needed", func(t *testing.T) {
		wantKept(t, "shard x has it", func(from, folder string) string {
			if from != source || filepath.Base(folder) != name {
				t.Errorf("asked for %q in %q", from, folder)
			}
			return "shard x has it"
		})
	})
	t.Run("open", func(t *testing.T) {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		wantKept(t, "has it open", unneeded)
	})
	t.Run("mapped", func(t *testing.T) {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		m, err := unix.Mmap(int(file.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE)
		_ = file.Close() // as engines do: the file is closed and stays mapped
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Munmap(m) }()
		wantKept(t, "has it open", unneeded)
	})
	t.Run("being fetched", func(t *testing.T) {
		root, unlock, err := f.open(t.Context(), name)
		if err != nil || root == nil {
			t.Fatal(err)
		}
		defer unlock()
		wantKept(t, "being fetched", unneeded)
	})
	t.Run("not ours", func(t *testing.T) {
		dir := filepath.Join(f.cfg.Dir, strings.Repeat("ab", 16))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{filepath.Base(dir), "../x", "", ".", "models", name + "/..", strings.ToUpper(name)} {
			if _, err := f.Remove(bad, unneeded); !errors.Is(err, ErrKept) {
				t.Errorf("%q: got %v", bad, err)
			}
		}
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("a folder that no agent made is gone: %v", err)
		}
	})
	t.Run("free", func(t *testing.T) {
		freed, err := f.Remove(name, unneeded)
		if err != nil || freed < int64(len(weights)) {
			t.Errorf("got %d, %v", freed, err)
		}
		left, _ := os.ReadDir(f.cfg.Dir)
		for _, e := range left {
			if e.Name() == name || e.Name() == goneFolder {
				t.Errorf("%s is left", e.Name())
			}
		}
	})
}

// What is removed and wanted at once is either kept or fetched again, whole.
func TestRemoveWhileFetching(t *testing.T) {
	t.Parallel()
	f, s := testFetcher(t), server(t, nil)
	source := s.URL + "/w.gguf#sha256=" + sum(weights)
	w, err := anything.expand(source)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		var both sync.WaitGroup
		both.Go(func() {
			path, err := get(t, f, source)
			if err != nil {
				t.Error(err)
			}
			_ = path
		})
		both.Go(func() { _, _ = f.Remove(w.key(), unneeded) })
		both.Wait()
		path, err := get(t, f, source)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || sum(got) != sum(weights) {
			t.Fatalf("it is not there whole: %d bytes, %v", len(got), err)
		}
	}
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	shard := protocol.DesiredShard{Engine: catalog.EngineLlamaCPP, Source: "https://h/w.gguf?token=secret", Adapters: []protocol.DesiredFile{{Name: "a", From: []string{"https://h/a.gguf"}}}}
	w, err := Weights(shard)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		source, folder string
		want           bool
	}{
		{"https://h/w.gguf", "x", true}, {"https://h/a.gguf", "x", true}, {"https://h/o.gguf", w.key(), true}, {"https://h/o.gguf", "x", false}, {"", "", false},
	} {
		if got := Needs(shard, tt.source, tt.folder); got != tt.want {
			t.Errorf("%q in %q: got %v", tt.source, tt.folder, got)
		}
	}
}

// A fetch that is under way is not swept, however long it brings nothing.
func TestSweepLeavesWhatIsFetched(t *testing.T) {
	t.Parallel()
	f := testFetcher(t)
	root, unlock, err := f.open(t.Context(), strings.Repeat("a", 32))
	if err != nil {
		t.Fatal(err)
	}
	f.Sweep(-time.Hour)
	if _, err := os.Stat(root.Name()); err != nil {
		t.Errorf("it is gone: %v", err)
	}
	unlock()
	f.Sweep(-time.Hour)
	if _, err := os.Stat(root.Name()); !os.IsNotExist(err) {
		t.Errorf("it is there still: %v", err)
	}
}
