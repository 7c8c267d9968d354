package archtest

import (
	"fmt"
	"path"
	"strings"
)

// door says where a third party may be imported.
type door struct {
	module string
	// at lists rooms, as patterns, and files, which may hold a star.
	at []string
	// tests opens the door for every test file and every test helper, beside the
	// rooms of at.
	tests bool
}

// checkDoors holds every import of a third party against the table.
func checkDoors(t *tree, doors []door) []finding {
	out := checkDoorRows(t, doors)
	for _, room := range t.folders() {
		for _, s := range t.rooms[room] {
			for _, imp := range s.imports() {
				if f, bad := s.checkDoor(doors, imp); bad {
					out = append(out, f)
				}
			}
		}
	}
	return out
}

func (s *source) checkDoor(doors []door, imp imported) (finding, bool) {
	if _, our := ours(imp.path); our || standard(imp.path) {
		return finding{}, false
	}
	d, ok := doorOf(doors, imp.path)
	switch {
	case !ok:
		return s.found(imp.pos, fmt.Sprintf("%s has no door", imp.path),
			"use what is there already, or add a row to doors_table.go that names the one room it may enter"), true
	case d.open(s) || d.tests && (s.test || helper(s.room)):
	case len(d.at) == 0:
		return s.found(imp.pos, fmt.Sprintf("%s is for tests only", imp.path), "move the code that needs it into a test"), true
	default:
		return s.found(imp.pos, fmt.Sprintf("%s may not be imported in %s", imp.path, called(s.room)),
			fmt.Sprintf("it comes in at %s: ask that room through a seam", strings.Join(d.at, ", "))), true
	}
	return finding{}, false
}

func doorOf(doors []door, imp string) (door, bool) {
	best, found := door{}, false
	for _, d := range doors {
		if (imp == d.module || strings.HasPrefix(imp, d.module+"/")) && len(d.module) > len(best.module) {
			best, found = d, true
		}
	}
	return best, found
}

func (d door) open(s *source) bool {
	for _, at := range d.at {
		if !isFile(at) && matches(at, s.room) {
			return true
		}
		if ok, err := path.Match(at, s.path); isFile(at) && err == nil && ok {
			return true
		}
	}
	return false
}

// checkDoorRows finds doors in rooms that are gone.
func checkDoorRows(t *tree, doors []door) []finding {
	var out []finding
	for _, d := range doors {
		for _, at := range d.at {
			if t.has(at) || isFile(at) && t.hasFile(at) {
				continue
			}
			out = append(out, finding{
				path: "internal/archtest/doors_table.go", rule: fmt.Sprintf("the door of %s stands in %s, which has no Go files", d.module, called(at)),
				mend: "delete it, or mend its path",
			})
		}
	}
	return out
}

func isFile(at string) bool { return strings.HasSuffix(at, ".go") }

// hasFile says whether any production file answers to a pattern of path.Match.
func (t *tree) hasFile(pattern string) bool {
	for room := range t.rooms {
		for _, s := range t.production(room) {
			if ok, err := path.Match(pattern, s.path); err == nil && ok {
				return true
			}
		}
	}
	return false
}

// standard says whether an import is of the standard library: the first part of
// any other path is a host.
func standard(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".")
}
