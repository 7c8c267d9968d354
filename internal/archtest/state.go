package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
)

func base(s *source) string { return path.Base(s.path) }

// checkState finds package-level variables that are state. Errors and tables
// are not: what is made once and never written again. The whole room is
// searched for writes, also the files that are excepted from the scan.
func checkState(files []*source, except []string) []finding {
	var out []finding
	tables := map[string]bool{}
	for _, s := range files {
		for _, v := range packageVars(s) {
			if slices.Contains(except, base(s)) || v.name.Name == "_" {
				continue
			}
			tables[v.name.Name] = true
			if !isTable(v.value) {
				out = append(out, s.found(v.name.Pos(),
					fmt.Sprintf("the pure package-level variable %s is neither an error nor a table", v.name.Name),
					"make it a constant, a literal, a function that returns it, or a field of a value that comes in and goes out"))
			}
		}
	}
	for _, s := range files {
		out = append(out, s.writes(tables)...)
	}
	return out
}

// checkInit finds functions that run because somebody imported a package. Two
// control planes in one process must not share what such a function made.
func checkInit(t *tree) []finding {
	var out []finding
	for _, room := range t.folders() {
		for _, s := range t.production(room) {
			for _, d := range s.ast.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					out = append(out, s.found(fn.Pos(), called(room)+" has a function init", "do it in New, or make it a table"))
				}
			}
		}
	}
	return out
}

// packageVar is one variable with its first value, nil when it has none.
type packageVar struct {
	name  *ast.Ident
	value ast.Expr
}

func packageVars(s *source) []packageVar {
	var out []packageVar
	for _, d := range s.ast.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		for _, spec := range gen.Specs {
			v := spec.(*ast.ValueSpec)
			for i, name := range v.Names {
				pv := packageVar{name: name}
				if i < len(v.Values) {
					pv.value = v.Values[i]
				}
				out = append(out, pv)
			}
		}
	}
	return out
}

// isTable says whether a first value is one that may stay: a literal, a
// function, or the result of a call that is known to give a constant thing.
func isTable(v ast.Expr) bool {
	switch v := v.(type) {
	case *ast.CompositeLit, *ast.FuncLit, *ast.BasicLit:
		return true
	case *ast.ParenExpr:
		return isTable(v.X)
	case *ast.CallExpr:
		return slices.Contains(tableMakers(), callee(v)) || convertsToSlice(v)
	}
	return false
}

// callee is a call's function as pkg.Name, or empty.
func callee(c *ast.CallExpr) string {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return pkg.Name + "." + sel.Sel.Name
}

// convertsToSlice covers []byte("…").
func convertsToSlice(c *ast.CallExpr) bool {
	_, ok := c.Fun.(*ast.ArrayType)
	return ok
}

// writes finds assignments to the tables, and addresses taken of them.
func (s *source) writes(tables map[string]bool) []finding {
	var out []finding
	for _, d := range s.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		local := locals(fn)
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			for _, target := range written(n) {
				id := rootOf(target)
				if id != nil && tables[id.Name] && !local[id.Name] {
					out = append(out, s.found(n.Pos(), fmt.Sprintf("the pure package-level table %s is written to", id.Name),
						"build a new value and return it"))
				}
			}
			return true
		})
	}
	return out
}

// written lists the expressions that a node changes or lets others change.
func written(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.UnaryExpr:
		if _, literal := n.X.(*ast.CompositeLit); n.Op == token.AND && !literal {
			return []ast.Expr{n.X}
		}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			return []ast.Expr{n.Key, n.Value}
		}
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "delete" || id.Name == "clear" || id.Name == "copy") && len(n.Args) > 0 {
			return n.Args[:1]
		}
	}
	return nil
}

// rootOf is the variable that an expression reaches into, or nil.
func rootOf(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// locals are the names that a function declares anywhere in it. One of them
// that hides a table is taken for itself everywhere in that function.
func locals(fn *ast.FuncDecl) map[string]bool {
	names := map[string]bool{}
	add := func(e ast.Expr) {
		if id, ok := e.(*ast.Ident); ok {
			names[id.Name] = true
		}
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, id := range n.Names {
				add(id)
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				add(id)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					add(e)
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key)
				add(n.Value)
			}
		}
		return true
	})
	return names
}
