package archtest

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// module is the path under which our own packages are imported.
const module = "llmgw.io/llmgw"

// root is the folder of the package llmgw itself.
const root = "."

// source is one parsed Go file.
type source struct {
	path  string // from the top of the repository, with slashes
	room  string // the folder it stands in
	test  bool   // a _test.go file
	lines int
	ast   *ast.File
	fset  *token.FileSet
}

// tree is every Go file of the module. Nested modules, testdata and folders
// whose names begin with a dot or an underscore are not part of it, as they are
// no part of a build.
type tree struct {
	rooms map[string][]*source
}

// load parses the module under fsys. A tree without Go files is an error: a
// scan of nothing would pass every check.
func load(fsys fs.FS) (*tree, error) {
	t := &tree{rooms: map[string][]*source{}}
	fset := token.NewFileSet()
	err := fs.WalkDir(fsys, root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipped(fsys, p):
			return fs.SkipDir
		case d.IsDir() || path.Ext(p) != ".go":
			return nil
		}
		s, err := parse(fsys, fset, p)
		if err != nil {
			return err
		}
		t.rooms[s.room] = append(t.rooms[s.room], s)
		return nil
	})
	if err == nil && len(t.rooms) == 0 {
		err = errors.New("archtest: there are no Go files to scan: is the path to the repository right?")
	}
	return t, err
}

func skipped(fsys fs.FS, dir string) bool {
	if dir == root {
		return false
	}
	base := path.Base(dir)
	if base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := fs.Stat(fsys, path.Join(dir, "go.mod"))
	return err == nil
}

func parse(fsys fs.FS, fset *token.FileSet, p string) (*source, error) {
	text, err := fs.ReadFile(fsys, p)
	if err != nil {
		return nil, err
	}
	f, err := parser.ParseFile(fset, p, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("archtest: %w", err)
	}
	return &source{
		path:  p,
		room:  path.Dir(p),
		test:  strings.HasSuffix(p, "_test.go"),
		lines: bytes.Count(text, []byte("\n")),
		ast:   f,
		fset:  fset,
	}, nil
}

// folders lists the rooms in order, so that findings come in the same order
// every time.
func (t *tree) folders() []string {
	var names []string
	for room := range t.rooms {
		names = append(names, room)
	}
	slices.Sort(names)
	return names
}

// production lists the files of a room that are built into it.
func (t *tree) production(room string) []*source {
	var files []*source
	for _, s := range t.rooms[room] {
		if !s.test {
			files = append(files, s)
		}
	}
	return files
}

// imported is one import of a file.
type imported struct {
	path string
	name string // what the file calls it
	pos  token.Pos
}

func (s *source) imports() []imported {
	var out []imported
	for _, spec := range s.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // The parser has checked it.
		}
		name := defaultName(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		out = append(out, imported{path: p, name: name, pos: spec.Pos()})
	}
	return out
}

// defaultName guesses what a package is called from its path: good enough for
// the standard library, which is all that the checks ask it for.
func defaultName(p string) string {
	base := path.Base(p)
	if len(base) > 1 && base[0] == 'v' && base[1] >= '0' && base[1] <= '9' {
		base = path.Base(path.Dir(p))
	}
	return base
}

// ours returns the room that an import path names, if it is one of ours.
func ours(p string) (string, bool) {
	if p == module {
		return root, true
	}
	return strings.CutPrefix(p, module+"/")
}

// matches says whether a pattern of a table covers a room. "a/..." covers a and
// everything under it, "..." everything; anything else covers itself.
func matches(pattern, room string) bool {
	if pattern == "..." {
		return true
	}
	if base, sub := strings.CutSuffix(pattern, "/..."); sub {
		return room == base || strings.HasPrefix(room, base+"/")
	}
	return pattern == room
}

func matchesAny(patterns []string, room string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, room) })
}

// helper says whether a room is a public test helper. Such a package holds
// fakes, suites and fleets, and may use what tests use.
func helper(room string) bool { return strings.HasSuffix(path.Base(room), "test") }

// called is what a message calls a room.
func called(room string) string {
	if room == root {
		return "llmgw (the root)"
	}
	return room
}
