package gatecmd

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The small program is taken where it can be run, and this one where not.
func TestProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, small := filepath.Join(dir, "llmgw-agent"), filepath.Join(dir, "llmgw-gate")
	itself := []string{self, "gate"}
	if got := programBeside(self); !slices.Equal(got, itself) {
		t.Errorf("with nothing beside it: %q", got)
	}
	if err := os.WriteFile(small, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := programBeside(self); !slices.Equal(got, itself) {
		t.Errorf("with a file that cannot be run: %q", got)
	}
	if err := os.Chmod(small, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := programBeside(self); !slices.Equal(got, []string{small}) {
		t.Errorf("with the small program beside it: %q", got)
	}
}
