package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"strings"
)

// checkComments wants a package comment in doc.go, and only there, and a
// comment on every exported name of production code.
func checkComments(t *tree) []finding {
	var out []finding
	for _, room := range t.folders() {
		files := t.production(room)
		if len(files) == 0 {
			continue
		}
		out = append(out, checkDoc(t, room)...)
		for _, s := range files {
			if path.Base(s.path) != "doc.go" && s.ast.Doc != nil {
				out = append(out, s.found(s.ast.Doc.Pos(), "a package comment stands outside doc.go", "move it there"))
			}
			for _, d := range s.ast.Decls {
				out = append(out, s.checkNames(d)...)
			}
		}
	}
	return out
}

func checkDoc(t *tree, room string) []finding {
	doc := t.file(path.Join(room, "doc.go"))
	if doc == nil {
		return []finding{{
			path: room, rule: fmt.Sprintf("package %s has no doc.go", called(room)),
			mend: "write one: what it is, what it is not, who calls it, what is safe to call at once, where to start reading",
		}}
	}
	var out []finding
	want := "Package " + doc.ast.Name.Name
	if doc.ast.Name.Name == "main" {
		want = "Command "
	}
	if !strings.HasPrefix(doc.ast.Doc.Text(), want) {
		out = append(out, doc.found(doc.ast.Pos(), fmt.Sprintf("the package comment does not begin with %q", want), "begin it so"))
	}
	if len(doc.ast.Decls) > 0 {
		out = append(out, doc.found(doc.ast.Decls[0].Pos(), "doc.go holds code", "move it to a file that is called after what it holds"))
	}
	return out
}

func (s *source) checkNames(d ast.Decl) []finding {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && exportedReceiver(d) {
			return s.checkComment(d.Name, d.Doc)
		}
	case *ast.GenDecl:
		var out []finding
		for _, spec := range d.Specs {
			out = append(out, s.checkSpec(d, spec)...)
		}
		return out
	}
	return nil
}

func (s *source) checkSpec(d *ast.GenDecl, spec ast.Spec) []finding {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return nil
		}
		if spec.Doc == nil && !d.Lparen.IsValid() {
			return s.checkComment(spec.Name, d.Doc)
		}
		return s.checkComment(spec.Name, spec.Doc)
	case *ast.ValueSpec:
		// A comment over a group speaks for all its names.
		if spec.Doc != nil || spec.Comment != nil || d.Doc != nil {
			return nil
		}
		for _, name := range spec.Names {
			if name.IsExported() {
				return []finding{s.found(name.Pos(), fmt.Sprintf("%s has no comment", name.Name), "say what it is and what its absence means")}
			}
		}
	}
	return nil
}

func (s *source) checkComment(name *ast.Ident, doc *ast.CommentGroup) []finding {
	text := doc.Text()
	if text == "" {
		return []finding{s.found(name.Pos(), fmt.Sprintf("%s has no comment", name.Name), "say what it is for and why it is so")}
	}
	for _, article := range []string{"A ", "An ", "The "} {
		text = strings.TrimPrefix(text, article)
	}
	rest, ok := strings.CutPrefix(text, name.Name)
	if ok && (rest == "" || !isLetter(rest[0])) || strings.HasPrefix(text, "Deprecated:") {
		return nil
	}
	return []finding{s.found(name.Pos(), fmt.Sprintf("the comment of %s does not begin with its name", name.Name), "begin it so")}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' }

// exportedReceiver says whether a function is none of an unexported type's.
func exportedReceiver(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return true
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}
