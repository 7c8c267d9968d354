package archtest

import (
	"fmt"
	"go/ast"
	"slices"
)

// pureRoom is a package without time, chance, waiting or state of its own.
type pureRoom struct {
	room   string
	except []string // file names in it that are machines
}

// checkPurity scans the pure rooms and files.
func checkPurity(t *tree, rooms []pureRoom, files []string) []finding {
	var out []finding
	for _, r := range rooms {
		out = append(out, checkPureRow(t, r)...)
		for _, s := range t.production(r.room) {
			if !slices.Contains(r.except, base(s)) {
				out = append(out, s.checkPure()...)
			}
		}
		out = append(out, checkState(t.production(r.room), r.except)...)
	}
	for _, path := range files {
		s := t.file(path)
		if s == nil {
			out = append(out, gone(path, "delete it from the table of pure files, or mend its path"))
			continue
		}
		out = append(out, s.checkPure()...)
		out = append(out, checkState([]*source{s}, nil)...)
	}
	return out
}

func checkPureRow(t *tree, r pureRoom) []finding {
	var out []finding
	if len(t.production(r.room)) == 0 {
		return []finding{gone(r.room, "delete it from the table of pure rooms, or mend its path")}
	}
	for _, e := range r.except {
		if t.file(r.room+"/"+e) == nil {
			out = append(out, gone(r.room+"/"+e, "delete the exception from the table of pure rooms, or mend its name"))
		}
	}
	return out
}

func gone(what, mend string) finding {
	return finding{path: "internal/archtest/purity_table.go", rule: fmt.Sprintf("%s holds no Go file to scan", what), mend: mend}
}

// file returns a production file by its path, or nil.
func (t *tree) file(path string) *source {
	for room := range t.rooms {
		for _, s := range t.production(room) {
			if s.path == path {
				return s
			}
		}
	}
	return nil
}

// checkPure looks for what the pure core may not do.
func (s *source) checkPure() []finding {
	var out []finding
	for _, imp := range s.imports() {
		if matchesAny(impureImports(), imp.path) {
			out = append(out, s.found(imp.pos, fmt.Sprintf("the pure %s must not import %s", s.path, imp.path),
				"take what it is needed for as an argument, or move the code to the machine that calls it"))
		}
	}
	calls := s.forbiddenCalls()
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if rule := impure(n, calls); rule != "" {
			out = append(out, s.found(n.Pos(), fmt.Sprintf("the pure %s %s", s.path, rule),
				"take the answer as an argument, and leave waiting and doing to the caller"))
		}
		return true
	})
	return out
}

// forbiddenCalls maps the name that the file gives a package to its functions
// that are forbidden.
func (s *source) forbiddenCalls() map[string][]string {
	calls := map[string][]string{}
	for _, imp := range s.imports() {
		if names, ok := impureCalls()[imp.path]; ok {
			calls[imp.name] = names
		}
	}
	return calls
}

// impure says what a node does that a pure file may not, or nothing.
func impure(n ast.Node, calls map[string][]string) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "starts a goroutine"
	case *ast.SelectStmt:
		return "selects"
	case *ast.SendStmt:
		return "sends on a channel"
	case *ast.SelectorExpr:
		pkg, ok := n.X.(*ast.Ident)
		if ok && slices.Contains(calls[pkg.Name], n.Sel.Name) {
			return fmt.Sprintf("uses %s.%s", pkg.Name, n.Sel.Name)
		}
	}
	return ""
}
