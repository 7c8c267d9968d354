package bunstore

import (
	"path/filepath"
	"testing"

	"llmgw.io/llmgw/storage"
	"llmgw.io/llmgw/storage/storagetest"
)

// openAt opens a store and closes it with the test.
func openAt(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{DSN: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func openFresh(t *testing.T) *Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "llmgw.db"))
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, func(t *testing.T) storage.Store { return openFresh(t) })
}
