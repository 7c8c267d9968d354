package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"strings"
)

// budget is how much one thing may hold before it is split.
type budget struct {
	file, testFile, function int // lines
	interfaceMethods         int // of its own; what it embeds does not count
	mainFile, command        int // lines of main.go, and of a folder under cmd
}

func budgets() budget {
	return budget{file: 400, testFile: 800, function: 60, interfaceMethods: 5, mainFile: 40, command: 400}
}

// checkBudgets measures every file. Generated files may be long.
func checkBudgets(t *tree, b budget) []finding {
	var out []finding
	for _, room := range t.folders() {
		out = append(out, checkCommand(t, room, b)...)
		for _, s := range t.rooms[room] {
			if !ast.IsGenerated(s.ast) {
				out = append(out, s.checkFile(b)...)
			}
			if !s.test && !ast.IsGenerated(s.ast) {
				out = append(out, s.checkFunctions(b)...)
			}
			out = append(out, s.checkInterfaces(b)...)
		}
	}
	return out
}

func (s *source) checkFile(b budget) []finding {
	limit, mend := b.file, "split it by noun or by step"
	switch {
	case s.test:
		limit, mend = b.testFile, "split it, or turn cases into scripts under testdata"
	case path.Base(s.path) == "main.go":
		limit, mend = b.mainFile, "move what it does into a library, so that a user of the library can do it too"
	}
	if s.lines <= limit {
		return nil
	}
	return []finding{{path: s.path, rule: fmt.Sprintf("the file has %d lines and may have %d", s.lines, limit), mend: mend}}
}

func checkCommand(t *tree, room string, b budget) []finding {
	if !strings.HasPrefix(room, "cmd/") {
		return nil
	}
	total := 0
	for _, s := range t.production(room) {
		total += s.lines
	}
	if total <= b.command {
		return nil
	}
	return []finding{{
		path: room, rule: fmt.Sprintf("the command has %d lines and may have %d", total, b.command),
		mend: "move what it does into a library, so that a user of the library can do it too",
	}}
}

func (s *source) checkFunctions(b budget) []finding {
	var out []finding
	for _, d := range s.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		lines := s.fset.Position(fn.End()).Line - s.fset.Position(fn.Pos()).Line + 1
		if lines > b.function {
			out = append(out, s.found(fn.Pos(), fmt.Sprintf("the function %s has %d lines and may have %d", fn.Name.Name, lines, b.function),
				"split it into the steps that its comment names"))
		}
	}
	return out
}

func (s *source) checkInterfaces(b budget) []finding {
	var out []finding
	ast.Inspect(s.ast, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		iface, ok := spec.Type.(*ast.InterfaceType)
		if !ok {
			return true
		}
		methods := 0
		for _, m := range iface.Methods.List {
			methods += len(m.Names)
		}
		if methods > b.interfaceMethods {
			out = append(out, s.found(spec.Pos(), fmt.Sprintf("the interface %s has %d methods and may have %d", spec.Name.Name, methods, b.interfaceMethods),
				"make it two seams, and compose them by embedding where one thing has to be both"))
		}
		return true
	})
	return out
}
