package provision

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestReadable holds what an agent with a closed umask installed to being read by
// engines, which are other users.
func TestReadable(t *testing.T) {
	t.Parallel()
	top := filepath.Join(t.TempDir(), "engines")
	folder := filepath.Join(top, "vllm", "1-cpu")
	if err := os.MkdirAll(filepath.Join(folder, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, perm := range map[string]fs.FileMode{"bin/vllm": 0o700, "lib.so": 0o600} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, perm); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/shadow", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	if err := readable(folder, top); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{
		top: 0o755, filepath.Dir(folder): 0o755, folder: 0o755, folder + "/bin": 0o755, folder + "/bin/vllm": 0o755, folder + "/lib.so": 0o644,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: want %o, got %v, %v", path, want, info, err)
		}
	}
	if info, err := os.Stat("/etc/shadow"); err == nil && info.Mode().Perm()&0o004 != 0 {
		t.Error("a link was followed")
	}
}
