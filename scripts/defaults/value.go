package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"path"
	"strconv"
	"strings"
	"time"
)

// value is a constant: a text, or a number that may be a span of time.
type value struct {
	str  string
	num  int64
	span bool
}

func (v value) zero() bool { return v == value{} || v.num == 0 && v.str == "" }

// scope is a file in which an expression stands.
type scope struct {
	src  *source
	dir  string
	file *ast.File
}

const module = "llmgw.io/llmgw"

// eval works out an expression of constants.
func (s scope) eval(e ast.Expr) (value, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		c := constant.MakeFromLiteral(e.Value, e.Kind, 0)
		if c.Kind() == constant.String {
			return value{str: constant.StringVal(c)}, nil
		}
		if n, exact := constant.Int64Val(constant.ToInt(c)); exact && c.Kind() == constant.Int {
			return value{num: n}, nil
		}
	case *ast.ParenExpr:
		return s.eval(e.X)
	case *ast.BinaryExpr:
		return s.binary(e)
	case *ast.Ident:
		return s.named(s.dir, e.Name)
	case *ast.SelectorExpr:
		return s.selected(e)
	}
	return value{}, fmt.Errorf("an expression in %s is no constant", s.dir)
}

func (s scope) binary(e *ast.BinaryExpr) (value, error) {
	x, err := s.eval(e.X)
	if err != nil {
		return x, err
	}
	y, err := s.eval(e.Y)
	if err != nil {
		return y, err
	}
	switch span := x.span || y.span; e.Op {
	case token.MUL:
		return value{num: x.num * y.num, span: span}, nil
	case token.ADD:
		return value{num: x.num + y.num, span: span}, nil
	case token.SHL:
		return value{num: x.num << y.num}, nil
	}
	return value{}, fmt.Errorf("an expression in %s uses %s, which is not known here", s.dir, e.Op)
}

// named is a constant of a package. Fields are none: two that name each other
// would never end.
func (s scope) named(dir, name string) (value, error) {
	f, err := s.src.folder(dir)
	if err != nil {
		return value{}, err
	}
	for _, file := range f.files {
		if e := constantOf(file, name); e != nil {
			return scope{src: s.src, dir: dir, file: file}.eval(e)
		}
	}
	return value{}, fmt.Errorf("%s has no constant %s", dir, name)
}

func (s scope) selected(e *ast.SelectorExpr) (value, error) {
	pkg := called(e.X)
	if pkg == "time" {
		if d, ok := units()[e.Sel.Name]; ok {
			return value{num: int64(d), span: true}, nil
		}
	}
	for _, imp := range s.file.Imports {
		to, err := strconv.Unquote(imp.Path.Value)
		if dir, ours := strings.CutPrefix(to, module+"/"); err == nil && ours && path.Base(to) == pkg {
			return s.named(dir, e.Sel.Name)
		}
	}
	return value{}, fmt.Errorf("%s.%s in %s is no constant of ours", pkg, e.Sel.Name, s.dir)
}

func units() map[string]time.Duration {
	return map[string]time.Duration{
		"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour,
	}
}

// text writes a value for people, in the largest unit that leaves no rest.
func (v value) text(bytes bool) string {
	const day = 24 * time.Hour
	switch {
	case v.str != "":
		return "`" + v.str + "`"
	case bytes:
		return measure(v.num, unit{"GiB", 1 << 30}, unit{"MiB", 1 << 20}, unit{"KiB", 1 << 10}, unit{"bytes", 1})
	case v.span && v.num == int64(day):
		return "24 h"
	case v.span:
		return measure(v.num, unit{"years", int64(365 * day)}, unit{"d", int64(day)}, unit{"h", int64(time.Hour)},
			unit{"min", int64(time.Minute)}, unit{"s", int64(time.Second)}, unit{"ms", int64(time.Millisecond)})
	}
	return strconv.FormatInt(v.num, 10)
}

type unit struct {
	name string
	size int64
}

func measure(n int64, units ...unit) string {
	for _, u := range units {
		if n >= u.size && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + " " + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}
