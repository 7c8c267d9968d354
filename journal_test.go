package llmgw

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"llmgw.io/llmgw/catalog"
	"llmgw.io/llmgw/storage/memstore"
)

// TestJournal runs a control plane with a data folder and replays what it kept,
// from each of the paths that may be named.
func TestJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := plane(t, func(c *Config) { c.DataDir = dir })
	stop := runs(t, c)
	if _, err := c.Catalog().Add(t.Context(), tiny(1), tester); err != nil {
		t.Fatal(err)
	}
	for changed := c.loop.Changed(); len(c.loop.View().Health) == 0; changed = c.loop.Changed() {
		<-changed
	}
	stop()
	files, err := os.ReadDir(filepath.Join(dir, "journal"))
	if err != nil || len(files) != 1 {
		t.Fatalf("want one file of the journal, got %v, %v", files, err)
	}
	f, err := os.Open(filepath.Join(dir, "journal", files[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, z); err != nil {
		t.Errorf("want a file that was ended whole, got %v", err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "journal"), filepath.Join(dir, "journal", files[0].Name())} {
		report, err := ReplayJournal(t.Context(), ReplayConfig{Path: path})
		if err != nil || report.Passes == 0 || report.Differing > 0 || report.Unread > 0 {
			t.Errorf("%s: want all of it decided again, got %v, %s", path, err, report)
		}
	}
}

func TestNoJournal(t *testing.T) {
	t.Parallel()
	off, given := t.TempDir(), t.TempDir()
	plane(t, func(c *Config) { c.DataDir, c.Settings.Limits.Journal = off, -1 })
	plane(t, func(c *Config) { c.DataDir, c.Journal = given, &memstore.Journal{} })
	for _, dir := range []string{off, given} {
		if _, err := os.Stat(filepath.Join(dir, "journal")); !os.IsNotExist(err) {
			t.Errorf("want no folder for a journal, got %v", err)
		}
		if _, err := ReplayJournal(t.Context(), ReplayConfig{Path: dir}); err == nil || !strings.Contains(err.Error(), "no entries") {
			t.Errorf("want a folder without a journal named, got %v", err)
		}
	}
	if _, err := ReplayJournal(t.Context(), ReplayConfig{Path: filepath.Join(off, "none")}); err == nil {
		t.Error("want a folder that is not there named")
	}
	f := File{Limits: Limits{Journal: catalog.Duration(-time.Hour)}}
	if err := f.Check(); err == nil || !strings.Contains(err.Error(), "limits.journal") {
		t.Errorf("want a negative time refused, got %v", err)
	}
}
