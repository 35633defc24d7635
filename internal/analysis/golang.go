package analysis

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"strconv"
	"strings"
)

// goSymbols parses a Go file. ok is false when it is none.
func goSymbols(text []byte) (out []symbol, ok bool) {
	if len(text) == 0 {
		return nil, true
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, false
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			s := symbol{kind: method, name: d.Name.Name, owned: true, line: set.Position(d.Name.Pos()).Line}
			if d.Recv != nil && len(d.Recv.List) == 1 {
				s.owner = typeName(d.Recv.List[0].Type)
			}
			s.shape = shape(d.Recv, d.Type, d.Body)
			out = append(out, s)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				t, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				line := set.Position(t.Name.Pos()).Line
				out = append(out, symbol{kind: class, name: t.Name.Name, owned: true, line: line, shape: shape(t.Type)})
				out = append(out, interfaceMethods(set, t)...)
			}
		}
	}
	return out, true
}

func interfaceMethods(set *token.FileSet, t *ast.TypeSpec) []symbol {
	i, ok := t.Type.(*ast.InterfaceType)
	if !ok {
		return nil
	}
	var out []symbol
	for _, m := range i.Methods.List {
		for _, name := range m.Names {
			out = append(out, symbol{kind: method, name: name.Name, owner: t.Name.Name, owned: true, line: set.Position(name.Pos()).Line})
		}
	}
	return out
}

// typeName is the name of a receiver's type, without pointer and parameters.
func typeName(e ast.Expr) string {
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		case *ast.ParenExpr:
			e = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

// shape prints parts of a declaration. A body of a line or two is too common to be told by.
func shape(parts ...ast.Node) string {
	var b bytes.Buffer
	for _, p := range parts {
		if isNil(p) {
			continue
		}
		if err := (&printer.Config{Mode: printer.RawFormat}).Fprint(&b, token.NewFileSet(), p); err != nil {
			return ""
		}
		b.WriteByte('\n')
	}
	if b.Len() < 40 {
		return ""
	}
	return b.String()
}

func isNil(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FieldList:
		return n == nil
	case *ast.BlockStmt:
		return n == nil
	default:
		return n == nil
	}
}

// A goTest is a parsed test file: the names that its code uses and the strings that it has, by line.
type goTest struct {
	imports []string
	own     map[string]bool // what it declares itself
	names   map[int]map[string]bool
	strings map[int]map[string]bool
}

// readGoTest parses a test file; nil when it does not parse.
func readGoTest(text []byte) *goTest {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	t := &goTest{own: map[string]bool{}, names: map[int]map[string]bool{}, strings: map[int]map[string]bool{}}
	for _, i := range f.Imports {
		if p, err := strconv.Unquote(i.Path.Value); err == nil {
			t.imports = append(t.imports, p)
		}
	}
	if declared, ok := goSymbols(text); ok {
		for _, s := range declared {
			t.own[s.name] = true
		}
	}
	note := func(m map[int]map[string]bool, pos token.Pos, s string) {
		line := set.Position(pos).Line
		if m[line] == nil {
			m[line] = map[string]bool{}
		}
		m[line][s] = true
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			note(t.names, n.Pos(), n.Name)
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				if s, err := strconv.Unquote(n.Value); err == nil {
					note(t.strings, n.Pos(), s)
				}
			}
		}
		return true
	})
	return t
}

// uses reports whether a line has a name that this file does not declare itself.
func (t *goTest) uses(line int, name string) bool { return t.names[line][name] && !t.own[name] }

// reaches reports whether this file can name what is in a directory of the component: it lies there, or imports it.
func (t *goTest) reaches(testDir, dir string) bool {
	if testDir == dir {
		return true
	}
	for _, p := range t.imports {
		if dir == "." || p == dir || strings.HasSuffix(p, "/"+dir) {
			return true
		}
	}
	return false
}
