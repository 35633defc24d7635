package audit

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/file"
	"github.com/grafana/sobek/parser"
)

// Bounds of a script that is parsed: the parser descends by recursion, and what is longer was written by a program.
const (
	maxScript      = 256 << 10
	maxScriptDepth = 1000
)

// A scriptReader turns one JavaScript file into facts.
type scriptReader struct {
	f   *facts
	pos *file.File
}

// readScript fills f from JavaScript. Types and JSX are other languages: a file with them has no structure.
func readScript(f *facts, path string, src []byte) {
	if len(src) > maxScript || nesting(src) > maxScriptDepth {
		f.unparsed = "too large or nested too deep to parse"
		return
	}
	text := string(src)
	if strings.HasPrefix(text, "#!") {
		text = "//" + text[2:]
	}
	found, ok := scriptFacts(path, text)
	if !ok {
		f.unparsed = "not JavaScript that the parser knows (JSX, types, or a fault)"
		return
	}
	f.parsed, f.imports, f.funcs, f.types = true, found.imports, found.funcs, found.types
}

// scriptFacts parses a module, or else a script, which may do what a module may not. The parser is not made for hostile text:
// it may panic, and leave out parts of its tree. Such a file has not been parsed.
func scriptFacts(path, text string) (found *facts, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	for _, options := range [][]parser.Option{{parser.WithDisableSourceMaps, parser.IsModule}, {parser.WithDisableSourceMaps}} {
		tree, err := parser.ParseFile(nil, path, text, 0, options...)
		if err != nil {
			continue
		}
		r := &scriptReader{f: &facts{}, pos: tree.File}
		for _, s := range tree.Body {
			r.statement(s, false)
		}
		return r.f, true
	}
	return nil, false
}

// nesting is how deep the brackets of a text go, those in strings and comments included.
func nesting(src []byte) int {
	depth, deepest := 0, 0
	for _, c := range src {
		switch c {
		case '(', '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ')', ']', '}':
			depth--
		}
	}
	return deepest
}

func (r *scriptReader) line(i file.Idx) int { return r.pos.Position(int(i) - r.pos.Base()).Line }

func (r *scriptReader) statement(s ast.Statement, exported bool) {
	switch s := s.(type) {
	case *ast.ImportDeclaration:
		path := s.ModuleSpecifier.String()
		if s.FromClause != nil {
			path = s.FromClause.ModuleSpecifier.String()
		}
		r.f.imports = append(r.f.imports, importFact{path: path, line: r.line(s.Idx)})
	case *ast.ExportDeclaration:
		r.export(s)
	case *ast.FunctionDeclaration:
		r.function("", s.Function, exported)
	case *ast.ClassDeclaration:
		r.class(s.Class, exported)
	case *ast.VariableStatement:
		r.bindings(s.List, exported)
	case *ast.LexicalDeclaration:
		r.bindings(s.List, exported)
	}
}

func (r *scriptReader) export(s *ast.ExportDeclaration) {
	if s.FromClause != nil {
		r.f.imports = append(r.f.imports, importFact{path: s.FromClause.ModuleSpecifier.String(), line: r.line(s.Idx)})
	}
	switch {
	case s.HoistableDeclaration != nil && s.HoistableDeclaration.FunctionDeclaration != nil:
		r.function("", s.HoistableDeclaration.FunctionDeclaration.Function, true)
	case s.ClassDeclaration != nil:
		r.class(s.ClassDeclaration.Class, true)
	case s.LexicalDeclaration != nil:
		r.bindings(s.LexicalDeclaration.List, true)
	case s.Variable != nil:
		r.bindings(s.Variable.List, true)
	}
}

// bindings takes functions and classes that are given a name by an assignment, and what a call of require names.
func (r *scriptReader) bindings(list []*ast.Binding, exported bool) {
	for _, b := range list {
		name := ""
		if id, ok := b.Target.(*ast.Identifier); ok {
			name = id.Name.String()
		}
		switch v := b.Initializer.(type) {
		case *ast.FunctionLiteral:
			r.add(name, "", v.Idx0(), v.Idx1(), v.ParameterList, v.Source, exported)
		case *ast.ArrowFunctionLiteral:
			r.add(name, "", v.Idx0(), v.Idx1(), v.ParameterList, v.Source, exported)
		case *ast.ClassLiteral:
			r.class(v, exported)
		case *ast.CallExpression:
			r.require(v)
		}
	}
}

func (r *scriptReader) require(c *ast.CallExpression) {
	if id, ok := c.Callee.(*ast.Identifier); !ok || id.Name != "require" || len(c.ArgumentList) != 1 {
		return
	}
	if s, ok := c.ArgumentList[0].(*ast.StringLiteral); ok {
		r.f.imports = append(r.f.imports, importFact{path: s.Value.String(), line: r.line(c.Idx0())})
	}
}

func (r *scriptReader) function(recv string, fn *ast.FunctionLiteral, exported bool) {
	name := ""
	if fn.Name != nil {
		name = fn.Name.Name.String()
	}
	r.add(name, recv, fn.Idx0(), fn.Idx1(), fn.ParameterList, fn.Source, exported)
}

func (r *scriptReader) class(c *ast.ClassLiteral, exported bool) {
	t := typeFact{line: r.line(c.Class), exported: exported}
	if c.Name != nil {
		t.name = c.Name.Name.String()
	}
	if id, ok := c.SuperClass.(*ast.Identifier); ok {
		t.implements = []string{id.Name.String()}
	}
	r.f.types = append(r.f.types, t)
	for _, e := range c.Body {
		m, ok := e.(*ast.MethodDefinition)
		if !ok || m.Computed {
			continue
		}
		name, public := "", true
		switch k := m.Key.(type) {
		case *ast.Identifier:
			name = k.Name.String()
		case *ast.StringLiteral:
			name = k.Value.String()
		case *ast.PrivateIdentifier:
			name, public = "#"+k.Name.String(), false
		}
		r.add(name, t.name, m.Idx, m.Body.Idx1(), m.Body.ParameterList, m.Body.Source, exported && public)
	}
}

func (r *scriptReader) add(name, recv string, from, to file.Idx, params *ast.ParameterList, source string, exported bool) {
	if name == "" {
		return
	}
	fn := funcFact{name: name, recv: recv, line: r.line(from), end: r.line(to), exported: exported}
	if params != nil {
		fn.sig = strconv.Itoa(len(params.List))
	}
	if i := strings.IndexByte(source, '{'); i >= 0 {
		fn.exact, fn.size = hashBody([]byte(source[i:]))
	}
	r.f.funcs = append(r.f.funcs, fn)
}

// hashBody is the identity of a body without its comments and blanks, and a measure of its size.
func hashBody(src []byte) (h uint64, size int) {
	h = fnvOffset
	comment := map[int]bool{}
	eachComment(src, jsLike, func(line int, _ string) { comment[line] = true })
	for n, line := range bytes.Split(src, []byte("\n")) {
		if comment[n+1] {
			if i := bytes.Index(line, []byte("//")); i >= 0 {
				line = line[:i]
			} else if t := bytes.TrimSpace(line); bytes.HasPrefix(t, []byte("*")) || bytes.HasPrefix(t, []byte("/*")) {
				continue
			}
		}
		for _, c := range line {
			if c != ' ' && c != '\t' && c != '\r' {
				h = hashByte(h, c)
				size++
			}
		}
	}
	return h, size / 4
}
