package page

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A span is a piece of a line of code; its class says what it is, in one letter that the style sheet knows: comment, string, number,
// keyword, or nothing.
type span struct{ Class, Text string }

// A syntax is as much of a language as colours need.
type syntax struct {
	line     []string  // what begins a comment to the end of the line
	block    [2]string // what begins and ends one over several lines
	quotes   string    // what strings stand between
	raw      string    // the same for strings that span lines
	keywords map[string]bool
}

func words(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

const (
	wordsGo     = "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var nil true false iota any string int int64 error bool byte rune"
	wordsScript = "abstract as async await break case catch class const continue debugger default delete do else enum export extends finally for from function get if implements import in instanceof interface let new null of private protected public readonly return set static super switch this throw true false try type typeof undefined var void while with yield"
	wordsPython = "and as assert async await break class continue def del elif else except finally for from global if import in is lambda None nonlocal not or pass raise return True False try while with yield match case self"
	wordsRust   = "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while"
	wordsPHP    = "abstract and array as break case catch class clone const continue declare default do echo else elseif empty extends final finally fn for foreach function global if implements include instanceof interface isset match namespace new null or print private protected public readonly require return static switch this throw trait true false try unset use var while yield"
	wordsC      = "auto bool break case catch char class const constexpr continue default delete do double else enum explicit extern false final float for friend goto if include define ifdef ifndef endif import inline int interface long namespace new null nullptr operator override package private protected public return short signed sizeof static struct super switch template this throw throws true try typedef typename union unsigned using virtual void volatile while var val fun when object"
	wordsShell  = "if then else elif fi for while until do done case esac in function return local export set unset shift exit trap readonly declare source true false"
	wordsRuby   = "alias and begin break case class def do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield require"
	wordsSQL    = "select from where and or not insert into values update set delete create table index view drop alter add primary key references on join left right inner outer group by order having limit as is null distinct union all begin commit case when then else end"
)

// syntaxOf finds a language by the name of a file; nil leaves it without colours.
func syntaxOf(name string) *syntax {
	slashes := syntax{line: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: `"'`}
	hashes := syntax{line: []string{"#"}, quotes: `"'`}
	with := func(s syntax, keywords string) *syntax { s.keywords = words(keywords); return &s }
	base := strings.ToLower(path.Base(name))
	switch strings.TrimPrefix(path.Ext(base), ".") {
	case "go":
		slashes.raw = "`"
		return with(slashes, wordsGo)
	case "js", "mjs", "cjs", "jsx", "ts", "tsx":
		slashes.raw = "`"
		return with(slashes, wordsScript)
	case "py", "pyi":
		return with(hashes, wordsPython)
	case "rs":
		slashes.quotes = `"`
		return with(slashes, wordsRust)
	case "php":
		slashes.line = append(slashes.line, "#")
		return with(slashes, wordsPHP)
	case "c", "h", "cc", "cpp", "hpp", "java", "kt", "cs", "swift", "scala", "dart", "proto":
		return with(slashes, wordsC)
	case "sh", "bash", "zsh", "bats":
		return with(hashes, wordsShell)
	case "rb", "rake":
		return with(hashes, wordsRuby)
	case "sql":
		return with(syntax{line: []string{"--"}, block: [2]string{"/*", "*/"}, quotes: `'"`}, wordsSQL)
	case "yaml", "yml", "toml", "ini", "conf", "mk":
		return with(hashes, "true false null yes no on off")
	case "json", "jsonc", "json5":
		return with(slashes, "true false null")
	case "css", "scss", "less":
		return with(syntax{block: [2]string{"/*", "*/"}, quotes: `"'`}, "")
	case "html", "xml", "svg", "vue":
		return with(syntax{block: [2]string{"<!--", "-->"}, quotes: `"`}, "")
	}
	if base == "makefile" || base == "dockerfile" || base == "containerfile" {
		return with(hashes, wordsShell+" FROM RUN COPY ENV WORKDIR CMD ENTRYPOINT ARG")
	}
	return nil
}

// maxColoured is how much of a line is looked at: minified code is shown as it is.
const maxColoured = 2000

// A painter colours the lines of one side of a file in their order. It remembers what a line leaves open.
type painter struct {
	syntax *syntax
	open   string // what ends the comment or string that the line before left open
	class  string
}

// reset forgets what was left open: the next line does not follow on the last.
func (p *painter) reset() { p.open = "" }

// paint cuts a line into spans.
func (p *painter) paint(s string) []span {
	if p.syntax == nil || len(s) > maxColoured {
		return []span{{"", s}}
	}
	var out []span
	add := func(class, text string) {
		if text == "" {
			return
		}
		if n := len(out); n > 0 && out[n-1].Class == class {
			out[n-1].Text += text
			return
		}
		out = append(out, span{class, text})
	}
	for s != "" {
		if p.open != "" {
			head, rest, ended := strings.Cut(s, p.open)
			if !ended {
				add(p.class, s)
				return out
			}
			add(p.class, head+p.open)
			s, p.open = rest, ""
			continue
		}
		class, n, open := p.next(s)
		add(class, s[:n])
		s = s[n:]
		p.open, p.class = open, class
	}
	return out
}

// next is the class and the length of what a text begins with, and what would end it on a later line.
func (p *painter) next(s string) (class string, n int, open string) {
	x := p.syntax
	for _, c := range x.line {
		if strings.HasPrefix(s, c) {
			return "c", len(s), ""
		}
	}
	if b := x.block[0]; b != "" && strings.HasPrefix(s, b) {
		return "c", len(b), x.block[1]
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case x.raw != "" && strings.HasPrefix(s, x.raw):
		return "s", len(x.raw), x.raw
	case strings.ContainsRune(x.quotes, r):
		return "s", quoted(s), ""
	case unicode.IsDigit(r):
		return "n", prefix(s, func(r rune) bool { return r == '.' || r == '_' || unicode.IsDigit(r) || unicode.IsLetter(r) }), ""
	case r == '_' || unicode.IsLetter(r):
		n = prefix(s, func(r rune) bool { return r == '_' || unicode.IsDigit(r) || unicode.IsLetter(r) })
		if x.keywords[s[:n]] {
			return "k", n, ""
		}
		return "", n, ""
	}
	return "", size, ""
}

// prefix is the length of what a text begins with and f accepts.
func prefix(s string, f func(rune) bool) int {
	if i := strings.IndexFunc(s, func(r rune) bool { return !f(r) }); i >= 0 {
		return i
	}
	return len(s)
}

// quoted is the length of a string with its quotes, or of the rest of the line.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return len(s)
}
