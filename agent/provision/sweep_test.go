package provision_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"llmgw.io/llmgw/agent/provision"
)

// What is left of a build that was given up goes after a day; what may be gone on
// with, and what is no fetch's, stays.
func TestLeftoversOfFetchesAreSwept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		old, fresh, other := strings.Repeat("a", 32), strings.Repeat("b", 32), "notes"
		for name, age := range map[string]time.Duration{old: 25 * time.Hour, fresh: 23 * time.Hour, other: 99 * time.Hour} {
			folder := filepath.Join(dir, ".fetch", name)
			at, file := time.Now().Add(-age), filepath.Join(folder, "engine.tar.gz.part")
			if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(file, []byte("x"), 0o600), os.Chtimes(file, at, at), os.Chtimes(folder, at, at)); err != nil {
				t.Fatal(err)
			}
		}
		in, err := provision.New(provision.Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = in.Run(ctx) }()
		there := func(name string) bool {
			_, err := os.Stat(filepath.Join(dir, ".fetch", name))
			return err == nil
		}
		synctest.Wait()
		if there(old) || !there(fresh) || !there(other) {
			t.Errorf("after the start: old %v, fresh %v, other %v", there(old), there(fresh), there(other))
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if there(fresh) || !there(other) {
			t.Errorf("later: fresh %v, other %v", there(fresh), there(other))
		}
	})
}
