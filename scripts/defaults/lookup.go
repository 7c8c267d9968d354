package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// source is the repository, parsed as far as it was asked for.
type source struct {
	fsys    fs.FS
	folders map[string]*folder
}

// folder is one package's production files, by name.
type folder struct {
	files map[string]*ast.File
}

func (src *source) folder(dir string) (*folder, error) {
	if f := src.folders[dir]; f != nil {
		return f, nil
	}
	names, err := fs.Glob(src.fsys, path.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	f := &folder{files: map[string]*ast.File{}}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(src.fsys, name)
		if err != nil {
			return nil, err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		f.files[path.Base(name)] = parsed
	}
	if len(f.files) == 0 {
		return nil, fmt.Errorf("%s has no Go files", dir)
	}
	src.folders[dir] = f
	return f, nil
}

// find gives the value that the code at a place, a folder or a file, gives to a
// name: a constant, or else what a field or a variable of that name is set to
// where it was left out. One name with several values is an error: the place is
// then too wide.
func (src *source) find(place, name string) (value, error) {
	dir, file := place, ""
	if path.Ext(place) == ".go" {
		dir, file = path.Split(place)
		dir = path.Clean(dir)
	}
	f, err := src.folder(dir)
	if err != nil {
		return value{}, err
	}
	var found []value
	for base, parsed := range f.files {
		if file != "" && base != file {
			continue
		}
		scope := scope{src: src, dir: dir, file: parsed}
		if e := constantOf(parsed, name); e != nil {
			return scope.eval(e)
		}
		found = append(found, scope.settings(name)...)
	}
	for i := range found {
		if found[i] != found[0] {
			return value{}, fmt.Errorf("%s gives %s several values; name a file", place, name)
		}
	}
	if len(found) == 0 {
		return value{}, fmt.Errorf("%s gives %s no value any more", place, name)
	}
	return found[0], nil
}

// constantOf finds a package's constant.
func constantOf(file *ast.File, name string) ast.Expr {
	for _, d := range file.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok || gen.Tok != token.CONST {
			continue
		}
		for _, spec := range gen.Specs {
			v := spec.(*ast.ValueSpec)
			for i, n := range v.Names {
				if n.Name == name && i < len(v.Values) {
					return v.Values[i]
				}
			}
		}
	}
	return nil
}

// settings are the values that a file gives to a name in any of the ways in
// which defaults are filled in: x.Name = v, {&x.Name, v} and set(&x.Name, v).
// What is no constant is passed over.
func (s scope) settings(name string) []value {
	var out []value
	add := func(e ast.Expr) {
		if v, err := s.eval(e); err == nil && !v.zero() {
			out = append(out, v)
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if called(to) == name && len(n.Lhs) == len(n.Rhs) {
					add(n.Rhs[i])
				}
			}
		case *ast.CompositeLit:
			pairs(n.Elts, name, add)
		case *ast.CallExpr:
			pairs(n.Args, name, add)
		}
		return true
	})
	return out
}

// pairs finds what follows the address of a field of that name.
func pairs(list []ast.Expr, name string, add func(ast.Expr)) {
	for i := 1; i < len(list); i++ {
		if at, ok := list[i-1].(*ast.UnaryExpr); ok && at.Op == token.AND && called(at.X) == name {
			add(list[i])
		}
	}
}

// called is the last part of a name.
func called(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
