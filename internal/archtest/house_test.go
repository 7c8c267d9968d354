package archtest

import (
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// top is the repository, seen from this package.
const top = "../.."

var parsed = sync.OnceValues(func() (*tree, error) { return load(os.DirFS(top)) })

// TestHouse holds the whole repository against the tables.
func TestHouse(t *testing.T) {
	t.Parallel()
	checks := map[string]func(*tree) []finding{
		"walls":    func(tr *tree) []finding { return checkWalls(tr, walls(), testHelpers()) },
		"doors":    func(tr *tree) []finding { return checkDoors(tr, doors()) },
		"purity":   func(tr *tree) []finding { return checkPurity(tr, pureRooms(), pureFiles()) },
		"init":     checkInit,
		"budgets":  func(tr *tree) []finding { return checkBudgets(tr, budgets()) },
		"comments": checkComments,
	}
	for name, run := range checks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr, err := parsed()
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range run(tr) {
				t.Error(f)
			}
		})
	}
}

// TestHouseSpeaksOfItselfAlone searches every file that belongs to the
// repository for the names of places where it was made.
func TestHouseSpeaksOfItselfAlone(t *testing.T) {
	t.Parallel()
	found, err := checkWords(os.DirFS(top), repositoryFiles(t), foreignWords())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Error(f)
	}
}

// repositoryFiles lists what git tracks, or, in an unpacked archive, every file.
func repositoryFiles(t *testing.T) []string {
	t.Helper()
	var paths []string
	out, err := exec.CommandContext(t.Context(), "git", "-C", top, "ls-files", "-z").Output()
	if err != nil {
		err = fs.WalkDir(os.DirFS(top), ".", func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				paths = append(paths, p)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return paths
	}
	for p := range strings.SplitSeq(string(out), "\x00") {
		// A file that is deleted and not yet committed is still listed.
		if info, err := os.Stat(top + "/" + p); p != "" && err == nil && info.Mode().IsRegular() {
			paths = append(paths, p)
		}
	}
	return paths
}
