package tool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/deedrun/deed/internal/evidence/workspace"
)

// Bounds of search.
const (
	defaultMatches = 100
	maxSearchFile  = 4 << 20
	maxSearchFiles = 100_000
	maxMatchLine   = 400 // bytes of a matching line that are shown
	maxIgnoreFile  = 64 << 10
	maxIgnoreRules = 2000
)

// skippedDirs are never searched: their files are not edited.
var skippedDirs = map[string]bool{".git": true, ".hg": true, ".svn": true, "node_modules": true}

// search writes the lines of files that match.
func (t *tree) search(ctx context.Context, in searchInput, w io.Writer) error {
	expr := in.Pattern
	if in.IgnoreCase {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return Failf(TypeInput, "pattern is no regular expression of RE2: %v", err)
	}
	if in.Glob != "" {
		if err := workspace.ValidateGlob(in.Glob); err != nil {
			return Failf(TypeInput, "glob: %v", err)
		}
	}
	rel, err := t.rel(in.Path)
	if err != nil {
		return err
	}
	st, err := t.root.Stat(rel)
	if err != nil {
		return t.explain(in.Path, err)
	}
	s := &searcher{t: t, re: re, whole: wholeFile(expr), glob: in.Glob, left: in.Limit, out: bufio.NewWriter(w)}
	if s.left == 0 {
		s.left = defaultMatches
	}
	if st.IsDir() {
		s.dir(ctx, filepath.ToSlash(rel), nil)
	} else {
		s.file(filepath.ToSlash(rel))
	}
	switch {
	case s.left < 0:
		fmt.Fprintf(s.out, "(more matches follow; narrow the search or raise limit)\n")
	case s.files >= maxSearchFiles || ctx.Err() != nil:
		fmt.Fprintf(s.out, "(stopped after %d files; narrow the search by path)\n", s.files)
	case s.matches == 0:
		fmt.Fprintf(s.out, "(no match in %s)\n", plural(s.files, "file"))
	}
	return s.out.Flush()
}

type searcher struct {
	t       *tree
	re      *regexp.Regexp
	whole   *regexp.Regexp // matches every file that has a matching line; nil: it must be looked at line by line
	glob    string
	out     *bufio.Writer
	left    int // matches that may still be reported
	matches int
	files   int
}

// wholeFile makes an expression that finds out quickly that a file has no match: it may match more than single lines do,
// never less. The end of a line is not the end of a text, so an expression about ends has none.
func wholeFile(expr string) *regexp.Regexp {
	if strings.Contains(expr, "$") || strings.Contains(expr, `\A`) || strings.Contains(expr, `\z`) {
		return nil
	}
	re, err := regexp.Compile("(?m)" + expr)
	if err != nil {
		return nil
	}
	return re
}

func (s *searcher) done(ctx context.Context) bool {
	return s.left < 0 || s.files >= maxSearchFiles || ctx.Err() != nil
}

// dir searches below a directory. Links are not followed: what they lead to is searched where it is.
func (s *searcher) dir(ctx context.Context, rel string, rules []ignoreRule) {
	entries, err := s.t.entries(rel)
	if err != nil {
		return // gone since, or not ours to read: a search tells what it can see
	}
	rules = append(rules[:len(rules):len(rules)], s.t.ignoreRules(rel)...)
	for _, e := range entries {
		if s.done(ctx) {
			return
		}
		name := path.Join(rel, e.Name())
		switch {
		case e.IsDir() && skippedDirs[e.Name()], ignored(rules, name, e.IsDir()):
		case e.IsDir():
			s.dir(ctx, name, rules)
		case e.Type().IsRegular() && (s.glob == "" || workspace.Match(s.glob, name)):
			s.file(name)
		}
	}
}

// file searches one file. A file that cannot be read, is binary or too large has no matches.
func (s *searcher) file(rel string) {
	s.files++
	f, st, err := s.t.open(rel)
	if err != nil {
		return
	}
	defer f.Close()
	if st.Size() > maxSearchFile {
		return
	}
	r := bufio.NewReaderSize(io.LimitReader(f, maxSearchFile), 32<<10)
	if head, _ := r.Peek(headBytes); isBinary(head) {
		return
	}
	data, err := io.ReadAll(r)
	if err != nil || s.whole != nil && !s.whole.Match(data) {
		return
	}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		line = bytes.TrimRight(line, "\r\n")
		if !s.re.Match(line) {
			continue
		}
		if s.left--; s.left < 0 {
			return
		}
		s.matches++
		cut := ""
		if len(line) > maxMatchLine {
			line, cut = line[:maxMatchLine], " …"
		}
		fmt.Fprintf(s.out, "%s:%d:%s%s\n", workspace.Display(rel), n, bytes.ToValidUTF8(line, []byte("\ufffd")), cut)
	}
}

// An ignoreRule is a line of a .gitignore: a glob from the top of the workspace.
type ignoreRule struct {
	glob    string
	keep    bool // a line that begins with !
	dirOnly bool
}

// ignoreRules reads the .gitignore of a directory. It understands what people write in them, which is enough for a search:
// what counts as a change is decided by git's own rules, elsewhere.
func (t *tree) ignoreRules(rel string) []ignoreRule {
	f, st, err := t.open(path.Join(rel, ".gitignore"))
	if err != nil {
		return nil
	}
	defer f.Close()
	if st.Size() > maxIgnoreFile {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile))
	if err != nil && !errors.Is(err, fs.ErrClosed) {
		return nil
	}
	var rules []ignoreRule
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" || line[0] == '#' || len(rules) >= maxIgnoreRules {
			continue
		}
		var r ignoreRule
		line, r.keep = strings.CutPrefix(line, "!")
		line, r.dirOnly = strings.CutSuffix(line, "/")
		anchored := strings.Contains(line, "/")
		line = strings.TrimPrefix(line, "/")
		if !anchored {
			line = "**/" + line
		}
		r.glob = path.Join(rel, line)
		if workspace.ValidateGlob(r.glob) == nil {
			rules = append(rules, r)
		}
	}
	return rules
}

// ignored reports what the last rule that matches says.
func ignored(rules []ignoreRule, name string, dir bool) bool {
	for i := len(rules) - 1; i >= 0; i-- {
		if r := rules[i]; (dir || !r.dirOnly) && workspace.Match(r.glob, name) {
			return !r.keep
		}
	}
	return false
}
