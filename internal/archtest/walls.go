package archtest

import (
	"fmt"
	"strings"
)

// wall says what one room may import of ours. Its room may be a pattern.
type wall struct {
	room string
	may  []string
	// never takes back what may gives.
	never []string
	// freeTests lets the room's tests import anything: they try the whole.
	freeTests bool
}

// checkWalls holds every import of ours against the table. Test files may also
// import their own house and the helpers.
func checkWalls(t *tree, walls []wall, helpers []string) []finding {
	out := checkRows(t, walls)
	for _, room := range t.folders() {
		if len(t.production(room)) == 0 {
			continue // Tests without a package of their own try the whole.
		}
		w, ok := wallOf(walls, room)
		if !ok {
			out = append(out, finding{
				path: room, rule: fmt.Sprintf("package %s has no row in the table of walls", called(room)),
				mend: "add it to walls_table.go with what it may import, or move the code to a room that is there",
			})
			continue
		}
		for _, s := range t.rooms[room] {
			out = append(out, s.checkArrows(w, helpers)...)
		}
	}
	return out
}

func wallOf(walls []wall, room string) (wall, bool) {
	best, found := wall{}, false
	for _, w := range walls {
		if matches(w.room, room) && (!found || len(w.room) > len(best.room)) {
			best, found = w, true
		}
	}
	return best, found
}

// checkRows finds rows and arrows that name nothing.
func checkRows(t *tree, walls []wall) []finding {
	var out []finding
	for _, w := range walls {
		if !t.has(w.room) {
			out = append(out, finding{
				path: "internal/archtest/walls_table.go", rule: fmt.Sprintf("the row of %s names a package that has no Go files", called(w.room)),
				mend: "delete the row, or mend its path",
			})
		}
		for _, m := range w.may {
			if !t.has(m) {
				out = append(out, finding{
					path: "internal/archtest/walls_table.go",
					rule: fmt.Sprintf("the row of %s allows %s, which has no Go files", called(w.room), called(m)),
					mend: "delete the arrow, or mend its path",
				})
			}
		}
	}
	return out
}

// has says whether any room with production files answers to a pattern.
func (t *tree) has(pattern string) bool {
	for room := range t.rooms {
		if matches(pattern, room) && len(t.production(room)) > 0 {
			return true
		}
	}
	return false
}

func (s *source) checkArrows(w wall, helpers []string) []finding {
	if s.test && w.freeTests {
		return nil
	}
	var out []finding
	for _, imp := range s.imports() {
		to, our := ours(imp.path)
		if !our || s.mayImport(w, to, helpers) {
			continue
		}
		out = append(out, s.found(imp.pos,
			fmt.Sprintf("%s must not import %s", called(s.room), called(to)),
			"move the code to the room that may, declare a seam where it is called, or add the arrow to walls_table.go with a record in docs/adr"))
	}
	return out
}

func (s *source) mayImport(w wall, to string, helpers []string) bool {
	if s.test && (house(to) == house(s.room) || matchesAny(helpers, to)) {
		return true
	}
	return matchesAny(w.may, to) && !matchesAny(w.never, to)
}

// house is the top-level folder of a room.
func house(room string) string {
	top, _, _ := strings.Cut(room, "/")
	return top
}
