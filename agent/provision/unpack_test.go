package provision

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestUnpackStaysInside holds every way out of an archive shut.
func TestUnpackStaysInside(t *testing.T) {
	t.Parallel()
	file := func(name string) *tar.Header {
		return &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: 1}
	}
	link := func(name, to string) *tar.Header {
		return &tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
	}
	for name, c := range map[string]struct {
		entries []*tar.Header
		bad     bool
	}{
		"plain":              {[]*tar.Header{file("a"), file("lib/b"), link("lib/c", "b"), link("d", "lib/b")}, false},
		"above":              {[]*tar.Header{file("../x")}, true},
		"above, hidden":      {[]*tar.Header{file("a/../../x")}, true},
		"absolute":           {[]*tar.Header{file("/tmp/x")}, true},
		"a link out":         {[]*tar.Header{link("l", "../..")}, true},
		"an absolute link":   {[]*tar.Header{link("l", "/etc")}, true},
		"a file twice":       {[]*tar.Header{file("a"), file("a")}, true},
		"a file over a link": {[]*tar.Header{file("a"), link("l", "a"), file("l")}, true},
		"a device":           {[]*tar.Header{{Name: "null", Typeflag: tar.TypeChar}}, true},
		"a hard link":        {[]*tar.Header{file("a"), {Name: "b", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			dir := filepath.Join(top, "in")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			var buf bytes.Buffer
			z := gzip.NewWriter(&buf)
			w := tar.NewWriter(z)
			for _, h := range c.entries {
				_ = w.WriteHeader(h)
				if h.Size > 0 {
					_, _ = w.Write([]byte("x"))
				}
			}
			_, _ = w.Close(), z.Close()
			path := filepath.Join(top, "a.tar.gz")
			if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			err := unpack(path, dir)
			if c.bad != errors.Is(err, errArchive) {
				t.Errorf("got %v", err)
			}
			if entries, _ := os.ReadDir(top); len(entries) != 2 {
				t.Errorf("something stands beside the folder: %v", entries)
			}
		})
	}
}

func TestUnpackZip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	h := &zip.FileHeader{Name: "bin/x"}
	h.SetMode(0o755)
	f, err := w.CreateHeader(h)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.Write([]byte("#!"))
	_ = w.Close()
	path := filepath.Join(dir, "a.zip")
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unpack(path, out); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(out, "bin", "x")); err != nil || info.Mode().Perm() != 0o755 {
		t.Error(info, err)
	}
	if err := unpack(filepath.Join(dir, "a.rar"), out); !errors.Is(err, errArchive) {
		t.Error(err)
	}
}
