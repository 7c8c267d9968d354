package logs

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sub", "agent.log")
	for _, text := range []string{"first\n", "second\n"} { // two runs of an agent
		f, err := OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := f.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	wants(t, path, "first\nsecond\n")

	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.size = fileBytes // as if so much had been written
	for _, text := range []string{"third\n", "fourth\n"} {
		if _, err := f.Write([]byte(text)); err != nil {
			t.Error(err)
		}
	}
	wants(t, path+".1", "first\nsecond\n")
	wants(t, path, "third\nfourth\n")
}

func wants(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s: %q, %v; want %q", filepath.Base(path), got, err, want)
	}
}
