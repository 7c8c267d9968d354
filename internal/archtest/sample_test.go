package archtest

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// sample parses a small tree that is written as text: a line "-- path" begins a
// file, and a file without a package clause gets one from its folder.
func sample(t *testing.T, text string) *tree {
	t.Helper()
	tr, err := load(sampleFS(text))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func sampleFS(text string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for part := range strings.SplitSeq("\n"+text, "\n-- ") {
		name, body, _ := strings.Cut(part, "\n")
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if strings.HasSuffix(name, ".go") && !strings.Contains(body, "package ") {
			body = "package p\n" + body
		}
		fsys[name] = &fstest.MapFile{Data: []byte(body)}
	}
	return fsys
}

// check compares what a checker found with what it should: one line each,
// path and rule, without the mend.
func check(t *testing.T, got []finding, want ...string) {
	t.Helper()
	var lines []string
	for _, f := range got {
		if f.mend == "" {
			t.Errorf("%s: the finding does not say what to do", f)
		}
		line, _, _ := strings.Cut(f.String(), "; ")
		lines = append(lines, line)
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestLoadLeavesOutWhatIsNotBuilt(t *testing.T) {
	t.Parallel()
	tr := sample(t, `
-- a/a.go
-- a/testdata/bad.go
-- .hidden/h.go
-- _old/o.go
-- other/go.mod
module example.org/other
-- other/o.go
-- other/sub/o.go
`)
	if diff := cmp.Diff([]string{"a"}, tr.folders()); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
}

func TestLoadRefusesATreeWithoutGoFiles(t *testing.T) {
	t.Parallel()
	if _, err := load(sampleFS("-- README.md\nhello")); err == nil {
		t.Error("want an error for a tree with nothing to scan, got none")
	}
}

func TestLoadRefusesWhatDoesNotParse(t *testing.T) {
	t.Parallel()
	if _, err := load(sampleFS("-- a/a.go\npackage a\nfunc {")); err == nil {
		t.Error("want an error for a file that does not parse, got none")
	}
}

func TestAFindingIsASentenceWithItsPlace(t *testing.T) {
	t.Parallel()
	f := finding{path: "a/b.go", line: 3, rule: "it is wrong", mend: "mend it"}
	if got, want := f.String(), "a/b.go:3: it is wrong; mend it."; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}
