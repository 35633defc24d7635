package audit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// goReader turns Go files into facts. One belongs to one goroutine: it keeps what can be used again for the next file.
type goReader struct {
	refs   []uint64
	recent [512]uint64  // references that were met not long ago: most are met again
	after  []*ast.Ident // names after a dot that are still to come: they are no names of this package
	f      *facts
	pos    *token.File

	// Of the function whose body is being read.
	exact, shape uint64
	size         int
	literals     bool // keep the texts
}

// read fills f from a Go file. A file that does not parse has no structure, and says so.
func (g *goReader) read(f *facts, path string, src []byte, literals bool) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || tree == nil || tree.Name == nil {
		f.unparsed = "not valid Go"
		return
	}
	g.f, g.refs, g.pos, g.literals = f, g.refs[:0], fset.File(tree.FileStart), literals
	g.after = g.after[:0]
	clear(g.recent[:])
	f.parsed = true
	f.pkg = tree.Name.Name
	f.test = strings.HasSuffix(path, "_test.go")
	f.generated = ast.IsGenerated(tree)
	for _, spec := range tree.Imports {
		g.importSpec(spec)
	}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			g.function(d)
		case *ast.GenDecl:
			g.general(d)
		}
	}
	g.comments(tree)
	slices.Sort(g.refs)
	f.refs = slices.Clone(slices.Compact(g.refs))
}

// refer takes a reference. Some are taken twice; few enough to sort them out at the end.
func (g *goReader) refer(ref uint64) {
	if seen := &g.recent[ref%uint64(len(g.recent))]; *seen != ref {
		*seen = ref
		g.refs = append(g.refs, ref)
	}
}

func (g *goReader) line(p token.Pos) int { return g.pos.Line(p) }

func (g *goReader) importSpec(spec *ast.ImportSpec) {
	path, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return
	}
	i := importFact{path: path, line: g.line(spec.Pos())}
	if spec.Name != nil {
		i.name = spec.Name.Name
	}
	g.f.imports = append(g.f.imports, i)
}

func (g *goReader) function(d *ast.FuncDecl) {
	fn := funcFact{
		name: d.Name.Name, line: g.line(d.Pos()), end: g.line(d.End()), exported: d.Name.IsExported(),
		recv: receiver(d.Recv), sig: arity(d.Type),
	}
	if d.Recv != nil {
		g.walk(d.Recv)
	}
	g.walk(d.Type)
	if d.Body != nil {
		g.exact, g.shape, g.size = fnvOffset, fnvOffset, 0
		g.walk(d.Body)
		fn.exact, fn.shape, fn.size = g.exact, g.shape, g.size
	}
	fn.isTest = g.f.test && fn.recv == "" && isGoTest(d.Name.Name)
	fn.vacuous = fn.isTest && strings.HasPrefix(fn.name, "Test") && fn.name != "TestMain" && d.Body != nil && checksNothing(d.Body)
	g.f.funcs = append(g.f.funcs, fn)
}

func (g *goReader) general(d *ast.GenDecl) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			g.typeSpec(s)
		case *ast.ValueSpec:
			for _, n := range s.Names {
				g.f.values = append(g.f.values, valueFact{name: n.Name, line: g.line(n.Pos())})
			}
			if s.Type != nil {
				g.walk(s.Type)
			}
			for _, v := range s.Values {
				g.walk(v)
			}
		}
	}
}

func (g *goReader) typeSpec(s *ast.TypeSpec) {
	t := typeFact{name: s.Name.Name, line: g.line(s.Pos()), exported: s.Name.IsExported()}
	if i, ok := s.Type.(*ast.InterfaceType); ok {
		t.iface = true
		for _, m := range i.Methods.List {
			for _, n := range m.Names {
				t.methods = append(t.methods, n.Name)
			}
		}
	}
	g.f.types = append(g.f.types, t)
	if s.TypeParams != nil {
		g.walk(s.TypeParams)
	}
	g.walk(s.Type)
}

// walk gathers references below a node, and adds the node to the hashes of the function that it is in.
func (g *goReader) walk(root ast.Node) { ast.Inspect(root, g.node) }

func (g *goReader) node(n ast.Node) bool {
	if n == nil {
		g.mix(1)
		return false
	}
	g.size++
	switch n := n.(type) {
	case *ast.Ident:
		if last := len(g.after) - 1; last >= 0 && g.after[last] == n {
			g.after = g.after[:last]
		} else {
			g.refer(refLocal(n.Name))
		}
		g.mix(2)
		g.exact = hashString(g.exact, n.Name)
	case *ast.SelectorExpr:
		g.refer(refMember(n.Sel.Name))
		if x, ok := n.X.(*ast.Ident); ok {
			g.refer(refPair(x.Name, n.Sel.Name))
		}
		g.after = append(g.after, n.Sel) // what stands before the dot comes first
		g.mix(3)
	case *ast.BasicLit:
		g.mix(4)
		g.mix(byte(n.Kind))
		g.exact = hashString(g.exact, n.Value)
		if g.literals && n.Kind == token.STRING {
			if v, err := strconv.Unquote(n.Value); err == nil {
				g.f.literals = append(g.f.literals, literalFact{value: v, line: g.line(n.Pos())})
			}
		}
	case *ast.BinaryExpr:
		g.mix(5)
		g.mix(byte(n.Op))
	case *ast.UnaryExpr:
		g.mix(6)
		g.mix(byte(n.Op))
	case *ast.AssignStmt:
		g.mix(7)
		g.mix(byte(n.Tok))
	case *ast.BranchStmt:
		g.mix(8)
		g.mix(byte(n.Tok))
	case *ast.IncDecStmt:
		g.mix(9)
		g.mix(byte(n.Tok))
	case *ast.GenDecl:
		g.mix(10)
		g.mix(byte(n.Tok))
	case *ast.CallExpr:
		g.mix(11)
		if n.Ellipsis.IsValid() {
			g.mix(1)
		}
	case *ast.ChanType:
		g.mix(12)
		g.mix(byte(n.Dir))
	case *ast.RangeStmt:
		g.mix(13)
		g.mix(byte(n.Tok))
	case *ast.CommentGroup, *ast.Comment:
		g.size--
		return false
	default:
		g.mix(nodeCode(n))
	}
	return true
}

func (g *goReader) mix(b byte) {
	g.exact = hashByte(g.exact, b)
	g.shape = hashByte(g.shape, b)
}

// nodeCode numbers the kinds of nodes that are fully described by their kind.
func nodeCode(n ast.Node) byte {
	switch n.(type) {
	case *ast.BlockStmt:
		return 20
	case *ast.ExprStmt:
		return 21
	case *ast.ReturnStmt:
		return 22
	case *ast.IfStmt:
		return 23
	case *ast.ForStmt:
		return 24
	case *ast.SwitchStmt:
		return 25
	case *ast.TypeSwitchStmt:
		return 26
	case *ast.CaseClause:
		return 27
	case *ast.SelectStmt:
		return 28
	case *ast.CommClause:
		return 29
	case *ast.DeferStmt:
		return 30
	case *ast.GoStmt:
		return 31
	case *ast.SendStmt:
		return 32
	case *ast.LabeledStmt:
		return 33
	case *ast.DeclStmt:
		return 34
	case *ast.CompositeLit:
		return 35
	case *ast.KeyValueExpr:
		return 36
	case *ast.FuncLit:
		return 37
	case *ast.FuncType:
		return 38
	case *ast.FieldList:
		return 39
	case *ast.Field:
		return 40
	case *ast.StarExpr:
		return 41
	case *ast.IndexExpr, *ast.IndexListExpr:
		return 42
	case *ast.SliceExpr:
		return 43
	case *ast.TypeAssertExpr:
		return 44
	case *ast.ArrayType:
		return 45
	case *ast.MapType:
		return 46
	case *ast.StructType:
		return 47
	case *ast.InterfaceType:
		return 48
	case *ast.ParenExpr:
		return 49
	case *ast.Ellipsis:
		return 50
	case *ast.ValueSpec:
		return 51
	case *ast.TypeSpec:
		return 52
	}
	return 60
}

// comments gathers markers, and the names that directives give to other tools.
func (g *goReader) comments(tree *ast.File) {
	for _, group := range tree.Comments {
		for _, c := range group.List {
			if rest, ok := strings.CutPrefix(c.Text, "//export "); ok {
				g.refer(refLocal(strings.TrimSpace(rest)))
			} else if rest, ok := strings.CutPrefix(c.Text, "//go:linkname "); ok {
				for _, word := range strings.Fields(rest) {
					g.refer(refLocal(word[strings.LastIndexByte(word, '.')+1:]))
				}
			}
			line := g.line(c.Pos())
			for text := range strings.SplitSeq(c.Text, "\n") {
				if m, ok := marker(trimComment(text)); ok {
					m.line = line
					g.f.markers = append(g.f.markers, m)
				}
				line++
			}
		}
	}
}

// receiver is the name of the type that a method belongs to.
func receiver(l *ast.FieldList) string {
	if l == nil || len(l.List) == 0 {
		return ""
	}
	t := l.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return "?"
		}
	}
}

// arity is how many parameters and results a function has.
func arity(t *ast.FuncType) string {
	return strconv.Itoa(t.Params.NumFields()) + "/" + strconv.Itoa(t.Results.NumFields())
}

// isGoTest reports whether `go test` takes a function of this name for a test, a benchmark, a fuzz target or an example.
func isGoTest(name string) bool {
	for _, prefix := range []string{"Test", "Benchmark", "Fuzz", "Example"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			r, _ := utf8.DecodeRuneInString(rest)
			return rest == "" || !unicode.IsLower(r)
		}
	}
	return false
}

// checksNothing reports whether a test's body cannot fail: it is empty, or only calls methods that never fail a test.
func checksNothing(b *ast.BlockStmt) bool {
	for _, s := range b.List {
		e, ok := s.(*ast.ExprStmt)
		if !ok {
			return false
		}
		call, ok := e.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !slices.Contains([]string{"Parallel", "Helper", "Log", "Logf", "Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
			return false
		}
	}
	return true
}
