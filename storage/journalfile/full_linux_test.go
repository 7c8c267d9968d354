package journalfile

import (
	"errors"
	"os"
	"testing"

	"llmgw.io/llmgw/storage"
)

// TestFull fills the disk under a file: the error says so, and the next base goes
// on in another file.
func TestFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := openAt(t, Config{Dir: dir})
	put(t, j, base(1))
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this machine has no /dev/full: ", err)
	}
	whole := j.file
	defer whole.Close()
	j.file = full
	if err := j.AppendJournal(t.Context(), change(2)); !errors.Is(err, storage.ErrFull) {
		t.Errorf("want a full disk told, got %v", err)
	}
	put(t, j, base(3), change(4))
	want(t, "all", texts(t, dir), "base 1", "base 3", "change 4")
}
