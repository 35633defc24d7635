package gate

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// Rust keeps unit tests in the sources that they test: `#[cfg(test)] mod tests { … }`. That part of a file is an
// input of a check; the rest of the file is not. If a change edits such a part, the pinned tree has the agent's file
// with that part taken from the base.

// findInnerTests returns the sources whose inline tests the patch edits.
func (k *evaluation) findInnerTests() ([]string, error) {
	sources := slices.DeleteFunc(k.unprotectedChanges().Of(workspace.ClassTracked), func(c workspace.Change) bool {
		return path.Ext(c.Path) != ".rs" || c.Status != workspace.Modified || matchAny(testFiles, c.Path)
	})
	if len(sources) == 0 {
		return nil, nil
	}
	files, err := patchFiles(k.Patch)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range files {
		if !slices.ContainsFunc(sources, func(c workspace.Change) bool { return c.Path == f.path }) {
			continue
		}
		was, err := k.readBase(f.path)
		if err != nil {
			return nil, err
		}
		inside, outside := f.edits(was, testBlocks(was))
		if inside {
			out = append(out, f.path)
			k.editsMore = k.editsMore || outside
		}
	}
	return out, nil
}

// lineAt returns the number of the line that an offset is in.
func lineAt(text []byte, at int) int { return bytes.Count(text[:at], []byte("\n")) + 1 }

// edits reports whether a patch changes lines inside the blocks of a file, and lines outside of them. A line added
// just before or just after a block is outside.
func (f patchFile) edits(was []byte, blocks []block) (inside, outside bool) {
	in := func(line, after int) bool {
		return slices.ContainsFunc(blocks, func(b block) bool { return lineAt(was, b.start)+after <= line && line <= lineAt(was, b.end) })
	}
	for _, l := range f.removed {
		inside, outside = inside || in(l.old, 0), outside || !in(l.old, 0)
	}
	for _, l := range f.added {
		inside, outside = inside || in(l.old, 1), outside || !in(l.old, 1)
	}
	return inside, outside
}

// restoreInnerTests restores the inline tests of the sources in a tree from the base.
func (k *evaluation) restoreInnerTests(tree string) error {
	if len(k.innerTests) == 0 {
		return nil
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, name := range k.innerTests {
		was, err := k.readBase(name)
		if err != nil {
			return err
		}
		is, err := readHead(root, name)
		if err != nil {
			return err
		}
		if err := root.WriteFile(filepath.FromSlash(name), withBlocks(is, was), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// changedInner returns the sources with edited inline tests as changed inputs.
func (k *evaluation) changedInner() []deed.ChangedInput {
	var out []deed.ChangedInput
	for _, name := range k.innerTests {
		if p := workspace.TextPath(name); !slices.ContainsFunc(k.result.ChangedInputs, func(c deed.ChangedInput) bool { return c.Path == p }) {
			out = append(out, deed.ChangedInput{Path: p, Status: string(workspace.Modified)})
		}
	}
	return out
}

// A block is a module of tests inside a source file.
type block struct {
	name       string
	start, end int // start of the attribute, and just after the closing brace
}

// testModule matches the beginning of a block.
var testModule = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*#\[cfg\((?:test|all\(test[^\n]*)\)\]\s*(?:(?:#\[[^\n]*\]|//[^\n]*)\s*)*(?:pub(?:\([a-z]+\))? )?mod\s+(\w+)\s*\{`)
})

// testBlocks finds the modules of tests in a source.
func testBlocks(text []byte) []block {
	var out []block
	for at := 0; ; {
		m := testModule().FindSubmatchIndex(text[at:])
		if m == nil {
			return out
		}
		end := afterBrace(text, at+m[1])
		if end < 0 {
			return out
		}
		out = append(out, block{name: string(text[at+m[2] : at+m[3]]), start: at + m[0], end: end})
		at = end
	}
}

// afterBrace returns the offset just after the brace that closes the one before at; -1 if there is none. Braces in
// comments, strings and character literals are ignored.
func afterBrace(text []byte, at int) int {
	depth := 1
	for at < len(text) {
		switch text[at] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return at + 1
			}
		case '/', '"', '\'', 'r':
			if n := literalAt(text[at:], at > 0 && wordByte(text[at-1])); n > 0 {
				at += n
				continue
			}
		}
		at++
	}
	return -1
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// rustLiteral matches a literal or a comment of Rust at the beginning of a text.
var rustLiteral = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\A(?s:"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|'(?:\\[^\n']+|\\'|[^'\\\n])')`)
})

var rawString = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\Ar(#*)"`) })

// literalAt returns the length of a comment, string or character literal at the beginning of a text; 0 if there is
// none. A lifetime is not a literal.
func literalAt(text []byte, inWord bool) int {
	if text[0] == 'r' {
		m := rawString().FindSubmatch(text)
		if m == nil || inWord {
			return 0
		}
		end := bytes.Index(text[len(m[0]):], append([]byte{'"'}, m[1]...))
		if end < 0 {
			return 0
		}
		return len(m[0]) + end + 1 + len(m[1])
	}
	return len(rustLiteral().Find(text))
}

// withBlocks returns a source with its test modules replaced by those of another version of it.
func withBlocks(is, was []byte) []byte {
	old := map[string]string{}
	var names []string
	for _, b := range testBlocks(was) {
		old[b.name] += string(was[b.start:b.end]) + "\n"
		names = append(names, b.name)
	}
	var out strings.Builder
	at := 0
	for _, b := range testBlocks(is) {
		out.Write(is[at:b.start])
		out.WriteString(old[b.name])
		delete(old, b.name)
		at = b.end
	}
	out.Write(is[at:])
	text := out.String()
	for _, n := range slices.Compact(names) { // modules that the change removed, or moved into a file of their own
		block := old[n]
		if block == "" {
			continue
		}
		if d := declaration([]byte(text), n); d != nil {
			text = text[:d[0]] + strings.TrimSuffix(block, "\n") + text[d[1]:]
		} else {
			text += "\n" + block
		}
		delete(old, n)
	}
	return []byte(text)
}

// testDeclaration is a module of tests whose source is a file of its own.
var testDeclaration = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*#\[cfg\((?:test|all\(test[^\n]*)\)\]\s*(?:(?:#\[[^\n]*\]|//[^\n]*)\s*)*(?:pub(?:\([a-z]+\))? )?mod\s+(\w+)\s*;`)
})

// declaration finds where a source declares a module of tests by name without its text; nil: nowhere.
func declaration(text []byte, name string) []int {
	for _, m := range testDeclaration().FindAllSubmatchIndex(text, -1) {
		if string(text[m[2]:m[3]]) == name {
			return m[:2]
		}
	}
	return nil
}
