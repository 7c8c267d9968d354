package archtest

import (
	"fmt"
	"go/token"
)

// finding is one broken rule: where, what is wrong, and what to do about it.
type finding struct {
	path string
	line int // zero when the finding is about a folder or a table
	rule string
	mend string
}

func (f finding) String() string {
	where := f.path
	if f.line > 0 {
		where = fmt.Sprintf("%s:%d", f.path, f.line)
	}
	return fmt.Sprintf("%s: %s; %s.", where, f.rule, f.mend)
}

// at is where a node of the tree stands, as path and line.
func (s *source) at(pos token.Pos) (string, int) {
	return s.path, s.fset.Position(pos).Line
}

func (s *source) found(pos token.Pos, rule, mend string) finding {
	path, line := s.at(pos)
	return finding{path: path, line: line, rule: rule, mend: mend}
}
