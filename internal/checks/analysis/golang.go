package analysis

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path"
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

// shape prints parts of a declaration. A body of a line or two is too common to identify a declaration.
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

// A goTest is a parsed test file: what its code says, by line.
type goTest struct {
	imports map[string]string          // path by the name that the file knows it by
	own     map[string]bool            // what it declares itself
	free    map[int]map[string]bool    // names that nothing in the file declares: of its package, or of the language
	chosen  map[int]map[[2]string]bool // x.Name, with x "" when it is no plain name
	strings map[int]map[string]bool
}

// readGoTest parses a test file; nil when it does not parse.
func readGoTest(text []byte) *goTest {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", text, 0) // with names resolved: a parameter is no function of the same name
	if err != nil {
		return nil
	}
	t := &goTest{imports: map[string]string{}, own: map[string]bool{}, free: map[int]map[string]bool{}, chosen: map[int]map[[2]string]bool{}, strings: map[int]map[string]bool{}}
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		t.imports[name] = p
	}
	if declared, ok := goSymbols(text); ok {
		for _, s := range declared {
			t.own[s.name] = true
		}
	}
	line := func(n ast.Node) int { return set.Position(n.Pos()).Line }
	for _, id := range f.Unresolved {
		if t.imports[id.Name] == "" {
			note(t.free, line(id), id.Name)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x := ""
			if id, ok := n.X.(*ast.Ident); ok {
				x = id.Name
			}
			note(t.chosen, line(n.Sel), [2]string{x, n.Sel.Name})
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				if s, err := strconv.Unquote(n.Value); err == nil {
					note(t.strings, line(n), s)
				}
			}
		}
		return true
	})
	return t
}

func note[K comparable](m map[int]map[K]bool, line int, k K) {
	if m[line] == nil {
		m[line] = map[K]bool{}
	}
	m[line][k] = true
}

// uses reports whether a line of this file, which lies in testDir, speaks of a symbol of dir: a method by x.Name, whatever
// x is; a function or type by its bare name in its own package, and by package.Name elsewhere.
func (t *goTest) uses(line int, c change, testDir, dir string) bool {
	if !t.reaches(testDir, dir) || testDir != dir && !ast.IsExported(c.OldSymbol) {
		return false
	}
	for k := range t.chosen[line] {
		if k[1] != c.OldSymbol {
			continue
		}
		if c.owner != "" && t.imports[k[0]] == "" || c.owner == "" && names(t.imports[k[0]], dir) {
			return true
		}
	}
	return c.owner == "" && testDir == dir && t.free[line][c.OldSymbol] && !t.own[c.OldSymbol]
}

// reaches reports whether this file can name what is in a directory of the component: it lies there, or imports it.
func (t *goTest) reaches(testDir, dir string) bool {
	if testDir == dir {
		return true
	}
	for _, p := range t.imports {
		if names(p, dir) {
			return true
		}
	}
	return false
}

// names reports whether an import path can be that of a directory of the component. That of its top is not known.
func names(imported, dir string) bool {
	return imported != "" && (dir == "." || imported == dir || strings.HasSuffix(imported, "/"+dir))
}
