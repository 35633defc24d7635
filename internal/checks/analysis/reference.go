package analysis

import (
	"cmp"
	"context"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/runner"
)

// A tree reads files of a component, never past its edge.
type tree struct{ root *os.Root }

func openTree(dir string) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &tree{root}, nil
}

func (t *tree) close() {
	if t != nil {
		_ = t.root.Close()
	}
}

// maxSource is the size beyond which a file is not read: it is not written by hand.
const maxSource = 4 << 20

// read returns the content of a regular file, or nothing.
func (t *tree) read(p string) []byte {
	name := filepath.FromSlash(p)
	if st, err := t.root.Lstat(name); err != nil || !st.Mode().IsRegular() || st.Size() > maxSource {
		return nil
	}
	f, err := t.root.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSource))
	if err != nil {
		return nil
	}
	return text
}

// maxContent is how much of a line is reported.
const maxContent = 200

// references finds the lines of tests that speak of what changed.
func (p *production) references(ctx context.Context, changes []change, all []string) ([]runner.DriftedTest, error) {
	byName := map[string][]int{}
	var moves []int
	for i, c := range changes {
		if c.ChangeType == fileMove {
			moves = append(moves, i)
		} else {
			byName[c.OldSymbol] = append(byName[c.OldSymbol], i)
		}
	}
	out := []runner.DriftedTest{}
	for _, file := range all {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		isTest := p.cfg.Mapping.IsTest(file)
		if !p.cfg.counts(file) || !isTest && !p.inline(file) {
			continue
		}
		text := p.tree.read(file)
		s := scanner{production: p, changes: changes, byName: byName, moves: moves, file: file, text: string(text), lang: languageOf(file)}
		if s.lang == nil {
			s.lang = &phpLike
		}
		if !isTest {
			at := strings.Index(s.text, "#[cfg(test)]")
			if at < 0 {
				continue
			}
			s.from = strings.Count(s.text[:at], "\n") + 1
		}
		if s.lang.name == "go" {
			s.parsed = readGoTest(text) // nil: it does not parse, and is read line by line
		}
		out = append(out, s.scan(all)...)
	}
	slices.SortStableFunc(out, func(a, b runner.DriftedTest) int {
		return cmp.Or(strings.Compare(a.TestFile, b.TestFile), cmp.Compare(a.Line, b.Line), cmp.Compare(a.ChangeIndex, b.ChangeIndex))
	})
	return out, nil
}

func (p *production) inline(file string) bool {
	return p.cfg.InlineTests && path.Ext(file) == ".rs" && p.cfg.Mapping.IsSource(file)
}

// A scanner looks through one test file.
type scanner struct {
	*production
	changes []change
	byName  map[string][]int
	moves   []int
	file    string
	text    string
	from    int // the first line that counts
	lang    *language
	parsed  *goTest
}

func (s scanner) scan(all []string) []runner.DriftedTest {
	var out []runner.DriftedTest
	for n, line := range numbered([]byte(s.text)) {
		if n < s.from || s.lang.isComment(line) {
			continue
		}
		hits := map[int]bool{}
		for _, name := range identifiers(line) {
			for _, i := range s.byName[name] {
				if !hits[i] && s.refersTo(i, n, line, all) {
					hits[i] = true
				}
			}
		}
		for _, i := range s.moves {
			if namesFile(line, s.changes[i].OldSymbol, path.Ext(s.file)) {
				hits[i] = true
			}
		}
		for i := range hits {
			out = append(out, runner.DriftedTest{TestFile: s.file, Line: n, Content: cut(collapse(line), maxContent), ChangeIndex: i})
		}
	}
	return out
}

// refersTo reports whether a line that contains the name of a changed symbol means that symbol.
func (s scanner) refersTo(i, n int, line string, all []string) bool {
	c := s.changes[i]
	if languageOf(c.File) != languageOf(s.file) {
		return false
	}
	if c.ChangeType == errorCode {
		if s.parsed != nil {
			return s.parsed.strings[n][c.OldSymbol]
		}
		return quoted(line, c.OldSymbol)
	}
	if s.parsed != nil && !s.parsed.uses(n, c, path.Dir(s.file), path.Dir(c.File)) {
		return false
	}
	if !s.declared(c, all) {
		return true
	}
	// Production code has something else of that name. The test has to know the type that it was taken from.
	return c.owner != "" && slices.Contains(identifiers(s.text), c.owner)
}

// declared reports whether production code of the same language still declares the name; in Go, in the same package.
func (p *production) declared(c change, all []string) bool {
	lang := languageOf(c.File)
	if lang == nil {
		return false
	}
	scope := lang.name
	if scope == "go" {
		scope += "\x00" + path.Dir(c.File)
	}
	if p.still == nil {
		p.still = map[string]bool{}
	}
	if !p.still[scope] {
		p.still[scope] = true
		for _, f := range all {
			if languageOf(f) != lang || p.cfg.Mapping.IsTest(f) || lang.name == "go" && path.Dir(f) != path.Dir(c.File) {
				continue
			}
			found, _ := lang.symbols(p.tree.read(f))
			for _, s := range found {
				p.still[scope+"\x00"+s.kind+"\x00"+s.name] = true
			}
		}
	}
	kind := method
	if c.ChangeType == classRename || c.ChangeType == classRemoved {
		kind = class
	}
	return p.still[scope+"\x00"+kind+"\x00"+c.OldSymbol]
}

// identifiers lists the names in a text.
func identifiers(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !isNameRune(r) })
}

func isNameRune(r rune) bool {
	return r == '_' || r == '$' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127
}

func quoted(line, text string) bool {
	for _, q := range []string{"'", `"`, "`"} {
		if strings.Contains(line, q+text+q) {
			return true
		}
	}
	return false
}

// namesFile reports whether a line speaks of a file by its path, with or without its ending, or as a Python module.
func namesFile(line, file, ext string) bool {
	names := []string{file}
	stem := strings.TrimSuffix(file, path.Ext(file))
	if strings.Contains(stem, "/") {
		names = append(names, stem)
		if ext == ".py" {
			names = append(names, strings.ReplaceAll(stem, "/", "."))
		}
	}
	return slices.ContainsFunc(names, func(name string) bool { return hasName(line, name) })
}

func hasName(line, name string) bool {
	for at := 0; at < len(line); at++ {
		i := strings.Index(line[at:], name)
		if i < 0 {
			return false
		}
		if at += i; edge(line, at-1) && edge(line, at+len(name)) {
			return true
		}
	}
	return false
}

// edge reports whether a path can end at an index of a line: what is there belongs to no name.
func edge(line string, i int) bool {
	if i < 0 || i >= len(line) {
		return true
	}
	return !isNameRune(rune(line[i])) && line[i] != '-' || line[i] == '$'
}
