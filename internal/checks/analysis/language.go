package analysis

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The kinds of a symbol.
const (
	method = "method" // functions too
	class  = "class"
	code   = "code"
)

// A symbol is something that a file declares, or an error code that it mentions.
type symbol struct {
	kind  string
	name  string
	owner string // of a method: its type, where the language or the indentation says so
	owned bool   // owner is certain
	shape string // all of it but its name; "" when that is not known
	line  int
}

func (s symbol) id() string {
	if s.owned {
		return s.kind + "\x00" + s.owner + "\x00" + s.name
	}
	return s.kind + "\x00" + s.name
}

// A language says how symbols are found in a file. Go is parsed; the others are read line by line for what begins a
// declaration, which finds names and not meaning.
type language struct {
	name       string
	extensions []string
	comments   []string // how a line that is a comment begins
	patterns   func() patterns
}

type patterns struct {
	methods, classes []*regexp.Regexp
	code             *regexp.Regexp
}

func read(methods, classes []string, code string) func() patterns {
	return sync.OnceValue(func() patterns {
		p := patterns{code: regexp.MustCompile(code)}
		for _, m := range methods {
			p.methods = append(p.methods, regexp.MustCompile(m))
		}
		for _, c := range classes {
			p.classes = append(p.classes, regexp.MustCompile(c))
		}
		return p
	})
}

const (
	singleQuoted = `'([a-z][a-z0-9_]{2,49})'`
	anyQuoted    = "[\"'\x60]([a-z][a-z0-9]*(?:_[a-z0-9]+)+)[\"'\x60]"
	doubleQuoted = `"([a-z][a-z0-9]*(?:_[a-z0-9]+)+)"`
)

// phpLike is PHP, and what every file is taken for that is nothing else, as the runner contract has it.
var phpLike = language{
	name: "php", extensions: []string{".php"}, comments: []string{"//", "#", "*", "/*"},
	patterns: read(
		[]string{`^\s*(?:(?:public|protected|private|static|final|abstract)\s+)*function\s+&?(\w+)\s*\(`},
		[]string{`^\s*(?:(?:abstract|final|readonly)\s+)*(?:class|interface|trait|enum)\s+(\w+)`}, singleQuoted),
}

var languages = []*language{
	&phpLike,
	{name: "go", extensions: []string{".go"}, comments: []string{"//", "/*", "*"}, patterns: read([]string{`^func\s+(?:\([^)]*\)\s*)?(\w+)`}, []string{`^type\s+(\w+)`}, doubleQuoted)},
	{
		name: "rust", extensions: []string{".rs"}, comments: []string{"//", "/*", "*"},
		patterns: read(
			[]string{`^\s*(?:pub(?:\([^)]*\))?\s+)?(?:(?:default|async|const|unsafe|extern(?:\s+"[^"]*")?)\s+)*fn\s+(\w+)`},
			[]string{`^\s*(?:pub(?:\([^)]*\))?\s+)?(?:unsafe\s+)?(?:struct|enum|trait|union)\s+(\w+)`}, doubleQuoted),
	},
	{
		name: "python", extensions: []string{".py"}, comments: []string{"#"},
		patterns: read([]string{`^\s*(?:async\s+)?def\s+(\w+)\s*\(`}, []string{`^\s*class\s+(\w+)`}, anyQuoted),
	},
	{
		name: "js", extensions: []string{".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte"}, comments: []string{"//", "/*", "*"},
		patterns: read(
			[]string{
				`^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?function\s*\*?\s*([\w$]+)\s*[(<]`,
				`^\s*(?:export\s+)?(?:const|let|var)\s+([\w$]+)\s*(?::[^=]+)?=\s*(?:async\s+)?(?:function\b|(?:\([^)]*\)|[\w$]+)\s*(?::[^=]+)?=>)`,
				`^\s+(?:(?:public|private|protected|static|async|get|set|override)\s+)*([\w$]+)\s*\([^;]*\)\s*(?::\s*[^{;]+)?\{\s*$`,
			},
			[]string{`^\s*(?:export\s+)?(?:default\s+)?(?:abstract\s+)?(?:class|interface|enum)\s+([\w$]+)`}, anyQuoted),
	},
	{
		name: "swift", extensions: []string{".swift", ".kt"}, comments: []string{"//", "/*", "*"},
		patterns: read([]string{`^\s*(?:[\w@]+\s+)*fun(?:c)?\s+(\w+)`}, []string{`^\s*(?:[\w@]+\s+)*(?:class|struct|protocol|interface|object)\s+(\w+)`}, doubleQuoted),
	},
	{
		name: "ruby", extensions: []string{".rb"}, comments: []string{"#"},
		patterns: read([]string{`^\s*def\s+(?:self\.)?(\w+[?!]?)`}, []string{`^\s*(?:class|module)\s+([\w:]+)`}, anyQuoted),
	},
}

func languageOf(p string) *language {
	ext := path.Ext(p)
	for _, l := range languages {
		if slices.Contains(l.extensions, ext) {
			return l
		}
	}
	return nil
}

// keywords look like the declaration of a method to a reader of lines.
var keywords = []string{"if", "for", "while", "switch", "catch", "function", "return", "else", "do", "try", "with", "match"}

// symbols lists what a file declares. ok is false when the language is one that is parsed and this file is not of it.
func (l *language) symbols(text []byte) (found []symbol, ok bool) {
	if l.name == "go" {
		return goSymbols(text)
	}
	return l.lines(text), true
}

// both lists what two versions of a file declare, in one way: where one cannot be parsed, both are read line by line.
func (l *language) both(old, now []byte) (before, after []symbol) {
	before, parsed := l.symbols(old)
	after, too := l.symbols(now)
	if !parsed || !too {
		return l.lines(old), l.lines(now)
	}
	return before, after
}

// lines reads declarations line by line.
func (l *language) lines(text []byte) []symbol {
	p := l.patterns()
	var out []symbol
	owner := ""
	for n, line := range numbered(text) {
		if l.isComment(line) {
			continue
		}
		if name := first(p.classes, line); name != "" {
			owner = name
			out = append(out, symbol{kind: class, name: name, line: n})
		}
		if name := first(p.methods, line); name != "" && !slices.Contains(keywords, name) {
			out = append(out, symbol{kind: method, name: name, owner: owner, line: n})
		}
	}
	return out
}

// maxCode is how long an error code can be.
const maxCode = 50

// codes lists the strings of a file that look like error codes.
func (l *language) codes(text []byte) []symbol {
	re := l.patterns().code
	var out []symbol
	for n, line := range numbered(text) {
		if l.isComment(line) {
			continue
		}
		for _, found := range re.FindAllStringSubmatch(line, -1) {
			if len(found[1]) >= minSymbol && len(found[1]) <= maxCode {
				out = append(out, symbol{kind: code, name: found[1], line: n})
			}
		}
	}
	return out
}

// isComment reports whether a line is nothing but a comment. #[ begins an attribute.
func (l *language) isComment(line string) bool {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "#[") {
		return false
	}
	return slices.ContainsFunc(l.comments, func(c string) bool { return strings.HasPrefix(line, c) })
}

func first(res []*regexp.Regexp, line string) string {
	for _, re := range res {
		if found := re.FindStringSubmatch(line); found != nil {
			return found[1]
		}
	}
	return ""
}

// maxLine is how long a line of a source is; what is longer was made by a machine.
const maxLine = 2000

// numbered walks the lines of a text, from 1.
func numbered(text []byte) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			if line = strings.TrimRight(line, "\r\n"); len(line) <= maxLine && !yield(n, line) {
				return
			}
		}
	}
}
