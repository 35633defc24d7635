package audit

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// maxMarker bounds the text that is kept of a marker.
const maxMarker = 160

var markerWords = []string{"TODO", "FIXME", "HACK", "XXX"}

// marker reads one line of a comment, without the signs that make it one.
func marker(text string) (markerFact, bool) {
	for _, w := range markerWords {
		rest, ok := strings.CutPrefix(text, w)
		if !ok {
			continue
		}
		if r, _ := utf8.DecodeRuneInString(rest); unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '/' || r == ',' {
			return markerFact{}, false // a word of a sentence about markers
		}
		return markerFact{word: w, text: cut(text, maxMarker)}, true
	}
	for _, p := range []string{"Deprecated:", "@deprecated"} {
		if rest, ok := strings.CutPrefix(text, p); ok {
			return markerFact{word: "DEPRECATED", text: cut(text, maxMarker), version: firstVersion(rest)}, true
		}
	}
	return markerFact{}, false
}

var versionRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bv?(\d+\.\d+(?:\.\d+)?)\b`) })

func firstVersion(s string) string {
	if m := versionRE().FindStringSubmatch(s); m != nil {
		return m[1]
	}
	return ""
}

// trimComment takes the signs of a comment off one line of it.
func trimComment(s string) string {
	s = strings.TrimLeft(s, " \t")
	s = strings.TrimLeft(s, "/*#;!-")
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(s), "*/"))
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// A syntax is what a language's comments and strings look like: enough to tell one from the other, and no more.
type syntax struct {
	line  []string    // a comment to the end of the line
	block [][2]string // a comment from one to the other
	quote string      // the signs that strings stand between
	multi bool        // strings may go on over line ends
	chars bool        // a single quote is a character or a lifetime, never a longer string
}

var (
	cLike    = &syntax{line: []string{"//"}, block: [][2]string{{"/*", "*/"}}, quote: `"'`}
	jsLike   = &syntax{line: []string{"//"}, block: [][2]string{{"/*", "*/"}}, quote: "\"'`"}
	rust     = &syntax{line: []string{"//"}, block: [][2]string{{"/*", "*/"}}, quote: `"`, multi: true, chars: true}
	php      = &syntax{line: []string{"//", "#"}, block: [][2]string{{"/*", "*/"}}, quote: `"'`}
	python   = &syntax{line: []string{"#"}, block: [][2]string{{`"""`, `"""`}, {"'''", "'''"}}, quote: `"'`}
	shellish = &syntax{line: []string{"#"}, quote: `"'`}
	configs  = &syntax{line: []string{"#"}, quote: `"'`}
	sql      = &syntax{line: []string{"--"}, block: [][2]string{{"/*", "*/"}}, quote: `'"`}
	css      = &syntax{block: [][2]string{{"/*", "*/"}}, quote: `"'`}
)

// A language is what is known of the files with one of these endings.
type language struct {
	name      string
	syntax    *syntax
	structure bool // a program with declarations, so that not being parsed is worth saying
}

var languages = map[string]language{
	".go": {"go", cLike, true}, ".php": {"php", php, true}, ".py": {"python", python, true}, ".rs": {"rust", rust, true},
	".js": {"javascript", jsLike, true}, ".mjs": {"javascript", jsLike, true}, ".cjs": {"javascript", jsLike, true},
	".jsx": {"javascript", jsLike, true}, ".ts": {"typescript", jsLike, true}, ".tsx": {"typescript", jsLike, true},
	".mts": {"typescript", jsLike, true}, ".cts": {"typescript", jsLike, true},
	".java": {"java", cLike, true}, ".kt": {"kotlin", cLike, true}, ".swift": {"swift", cLike, true}, ".scala": {"scala", cLike, true},
	".c": {"c", cLike, true}, ".h": {"c", cLike, true}, ".cc": {"c++", cLike, true}, ".cpp": {"c++", cLike, true}, ".hpp": {"c++", cLike, true},
	".cs": {"c#", cLike, true}, ".rb": {"ruby", configs, true}, ".lua": {"lua", &syntax{line: []string{"--"}, quote: `"'`}, true},
	".dart": {"dart", cLike, true}, ".ex": {"elixir", configs, true}, ".exs": {"elixir", configs, true},
	".sh": {"shell", shellish, false}, ".bash": {"shell", shellish, false}, ".zsh": {"shell", shellish, false},
	".sql": {"sql", sql, false}, ".css": {"css", css, false}, ".scss": {"css", cLike, false}, ".less": {"css", cLike, false},
	".yaml": {"yaml", configs, false}, ".yml": {"yaml", configs, false}, ".toml": {"toml", configs, false},
	".md": {"markdown", nil, false}, ".markdown": {"markdown", nil, false}, ".mdx": {"markdown", nil, false},
	".html": {"html", nil, false}, ".txt": {"text", nil, false}, ".json": {"json", nil, false}, ".proto": {"proto", cLike, false},
	".graphql": {"graphql", configs, false}, ".tf": {"terraform", configs, false},
}

// eachComment calls f with every line of every comment, without the signs, in the order of the file. Where a language's
// strings cannot be told without parsing it, such as a regular expression of JavaScript with a quote, the worst that
// happens is a comment that is not seen, up to the end of its line.
func eachComment(src []byte, s *syntax, f func(line int, text string)) {
	eachToken(src, s, f, func(int, string) {})
}

// eachToken is eachComment, and calls literal with the text of every string.
func eachToken(src []byte, s *syntax, f, literal func(line int, text string)) {
	line := 1
	for i := 0; i < len(src); {
		switch c := src[i]; {
		case c == '\n':
			line++
			i++
		case s.startsLine(src[i:]):
			end := lineEnd(src, i)
			f(line, trimComment(string(src[i:end])))
			i = end
		case s.blockAt(src[i:]) != nil:
			b := s.blockAt(src[i:])
			body := src[i+len(b[0]):]
			end := bytes.Index(body, []byte(b[1]))
			if end < 0 {
				end = len(body)
			}
			for text := range strings.SplitSeq(string(body[:end]), "\n") {
				f(line, trimComment(text))
				line++
			}
			line--
			i = min(len(src), i+len(b[0])+end+len(b[1]))
		case s.chars && c == '\'':
			i += charLength(src[i:])
		case strings.IndexByte(s.quote, c) >= 0:
			n, lines := stringLength(src[i:], c, s.multi || c == '`')
			literal(line, string(src[i+1:max(i+1, i+n-1)]))
			i += n
			line += lines
		default:
			i++
		}
	}
}

func (s *syntax) startsLine(src []byte) bool {
	for _, l := range s.line {
		if src[0] == l[0] && bytes.HasPrefix(src, []byte(l)) {
			return true
		}
	}
	return false
}

func (s *syntax) blockAt(src []byte) *[2]string {
	for i := range s.block {
		if src[0] == s.block[i][0][0] && bytes.HasPrefix(src, []byte(s.block[i][0])) {
			return &s.block[i]
		}
	}
	return nil
}

func lineEnd(src []byte, i int) int {
	if n := bytes.IndexByte(src[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(src)
}

// charLength is the length of a character such as 'a' or '\n'; of a lifetime only the quote.
func charLength(src []byte) int {
	if len(src) > 3 && src[1] == '\\' {
		if end := bytes.IndexByte(src[2:min(len(src), 12)], '\''); end >= 0 {
			return end + 3
		}
	}
	if _, n := utf8.DecodeRune(src[1:]); 1+n < len(src) && src[1+n] == '\'' {
		return n + 2
	}
	return 1
}

// stringLength is the length of the string at the beginning of src, and how many line ends are in it.
func stringLength(src []byte, quote byte, multi bool) (n, lines int) {
	for i := 1; i < len(src); i++ {
		switch src[i] {
		case '\\':
			if i+1 < len(src) && src[i+1] == '\n' {
				lines++
			}
			i++
		case quote:
			return i + 1, lines
		case '\n':
			if !multi {
				return i, lines
			}
			lines++
		}
	}
	return len(src), lines
}
