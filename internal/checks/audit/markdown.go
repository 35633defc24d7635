package audit

import (
	"fmt"
	"path"
	"strings"
	"unicode"
)

// maxDocument bounds a document that is read for its links. Longer ones are data.
const maxDocument = 1 << 20

// maxTarget bounds the target of a link.
const maxTarget = 2048

// A document is a Markdown file in the making: blocks line by line, then the text of each block. Every byte is looked at a
// bounded number of times, whatever it is.
type document struct {
	f       *facts
	anchors map[string]int
	text    strings.Builder // the block that is open
	first   int             // its line
	fence   string          // what closes the open code block
	list    bool            // a list is open, so that indented text is no code
	blank   bool            // the line before was empty
}

// readDocument fills the links, anchors and claims of a document.
func readDocument(f *facts, src []byte) {
	d := &document{f: f, anchors: map[string]int{}, blank: true}
	n := 0
	for line := range strings.SplitSeq(string(src), "\n") {
		n++
		d.line(n, strings.TrimSuffix(line, "\r"))
	}
	d.end()
	f.parsed = true
}

func (d *document) line(n int, line string) {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	text := strings.TrimLeft(line, " \t>") // quotes hold what they quote
	switch {
	case d.fence != "":
		if rest, ok := strings.CutPrefix(text, d.fence); ok && strings.Trim(rest, d.fence[:1]+" \t") == "" {
			d.fence = ""
		}
	case fenceOf(text) != "":
		d.end()
		d.fence = fenceOf(text)
	case text == "":
		d.end()
		d.blank = true
		return
	case d.blank && !d.list && (indent >= 4 || strings.HasPrefix(line, "\t")):
		return // code, until something stands at the margin
	case isHeading(text):
		d.end()
		d.heading(strings.TrimRight(strings.TrimLeft(text, "#"), "# \t"))
		d.inline(n, text)
		d.list = false
	case d.text.Len() > 0 && indent < 4 && isUnderline(text):
		d.heading(d.text.String())
		d.end()
	default:
		if isItem(text) {
			d.list = true
		} else if indent == 0 && d.blank {
			d.list = false
		}
		if d.text.Len() == 0 {
			d.first = n
		} else {
			d.text.WriteByte('\n')
		}
		d.text.WriteString(text)
	}
	d.blank = false
}

func (d *document) end() {
	if d.text.Len() == 0 {
		return
	}
	text := d.text.String()
	d.text.Reset()
	d.inline(d.first, text)
}

func fenceOf(text string) string {
	for _, c := range []string{"`", "~"} {
		n := len(text) - len(strings.TrimLeft(text, c))
		if n >= 3 && (c == "~" || !strings.Contains(text[n:], "`")) {
			return text[:n]
		}
	}
	return ""
}

func isHeading(text string) bool {
	n := len(text) - len(strings.TrimLeft(text, "#"))
	return n >= 1 && n <= 6 && (len(text) == n || text[n] == ' ' || text[n] == '\t')
}

func isUnderline(text string) bool {
	t := strings.TrimRight(text, " \t")
	return t != "" && (strings.Trim(t, "=") == "" || strings.Trim(t, "-") == "")
}

func isItem(text string) bool {
	if len(text) > 1 && strings.IndexByte("-*+", text[0]) >= 0 && text[1] == ' ' {
		return true
	}
	rest := strings.TrimLeft(text, "0123456789")
	return len(rest) < len(text) && len(rest) > 1 && (rest[0] == '.' || rest[0] == ')') && rest[1] == ' '
}

// heading adds the anchor of a heading, as the sites that show Markdown make it.
func (d *document) heading(text string) {
	slug := slugOf(plainText(text))
	n := d.anchors[slug]
	d.anchors[slug]++
	if n > 0 {
		slug = fmt.Sprintf("%s-%d", slug, n)
	}
	d.f.headings = append(d.f.headings, slug)
}

// plainText takes the targets out of the links of a text.
func plainText(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == ']' && i+1 < len(s) && s[i+1] == '(' {
			if end := strings.IndexByte(s[i:], ')'); end > 0 {
				i += end
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func slugOf(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, strings.TrimSpace(text))
}

// inline reads the text of a block.
func (d *document) inline(line int, s string) {
	if target, ok := definition(s); ok {
		d.link(line, target)
	}
	open := 0
	ticks := 0 // a run of this many backticks was looked for and not found: no code span of it can begin any more
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\n':
			line++
			if target, ok := definition(s[i+1:]); ok {
				d.link(line, target)
			}
		case '\\':
			i++
		case '`':
			n := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
			end := -1
			if n != ticks {
				end = spanEnd(s[i+n:], n)
			}
			if end < 0 {
				ticks = n
				i += n - 1
				continue
			}
			code := s[i+n : i+n+end]
			d.claim(line, strings.TrimSpace(code))
			line += strings.Count(code, "\n")
			i += n + end + n - 1
		case '<':
			if end := strings.IndexByte(s[i:min(len(s), i+maxTarget)], '>'); end > 0 {
				d.tag(line, s[i:i+end+1])
				line += strings.Count(s[i:i+end], "\n")
				i += end
			}
		case '[':
			open++
		case ']':
			if open == 0 {
				continue
			}
			open--
			if i+1 < len(s) && s[i+1] == '(' {
				if target, ok := destination(s[i+2 : min(len(s), i+2+maxTarget)]); ok {
					d.link(line, target)
				}
			}
		}
	}
}

// spanEnd finds the run of exactly n backticks that ends a code span.
func spanEnd(s string, n int) int {
	for i := 0; i < len(s); {
		j := strings.IndexByte(s[i:], '`')
		if j < 0 {
			return -1
		}
		i += j
		run := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if run == n {
			return i
		}
		i += run
	}
	return -1
}

// definition reads a line of the form [label]: target.
func definition(s string) (string, bool) {
	if s == "" || s[0] != '[' {
		return "", false
	}
	line, _, _ := strings.Cut(s[:min(len(s), maxTarget)], "\n")
	label, rest, ok := strings.Cut(line, "]:")
	if !ok || strings.ContainsAny(label[1:], "[]") || strings.HasPrefix(label, "[^") {
		return "", false
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return "", false
	}
	return strings.Trim(fields[0], "<>"), true
}

// destination reads the target of a link after its opening parenthesis.
func destination(s string) (string, bool) {
	s = strings.TrimLeft(s, " \t\n")
	if rest, ok := strings.CutPrefix(s, "<"); ok {
		target, _, ok := strings.Cut(rest, ">")
		return target, ok && !strings.Contains(target, "\n")
	}
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth == 0 {
				return s[:i], true
			}
			depth--
		case ' ', '\t', '\n':
			return s[:i], strings.IndexByte(s[i:], ')') > 0
		}
	}
	return "", false
}

func (d *document) link(line int, target string) {
	if target != "" {
		d.f.links = append(d.f.links, linkFact{target: target, line: line})
	}
}

// tag reads anchors, links and pictures of HTML.
func (d *document) tag(line int, tag string) {
	for _, attr := range []string{"id=", "name=", "href=", "src="} {
		i := strings.Index(tag, " "+attr)
		if i < 0 {
			continue
		}
		rest := tag[i+1+len(attr):]
		if rest == "" || (rest[0] != '"' && rest[0] != '\'') {
			continue
		}
		value, _, ok := strings.Cut(rest[1:], rest[:1])
		switch {
		case !ok:
		case attr == "id=" || attr == "name=":
			d.f.headings = append(d.f.headings, value)
		default:
			d.link(line, value)
		}
	}
}

// claim takes a code span that can only be the name of a file: it has a directory and an ending that is known.
func (d *document) claim(line int, code string) {
	code = strings.TrimPrefix(code, "./")
	if i := strings.LastIndexByte(code, ':'); i > 0 && strings.Trim(code[i+1:], "0123456789-") == "" {
		code = code[:i] // a line number
	}
	if len(code) > maxTarget || !strings.Contains(code, "/") || strings.ContainsAny(code, " \n\t*{}<>$|\"'`…=,()@~\\:?%+") {
		return
	}
	if strings.HasPrefix(code, "/") || strings.HasPrefix(code, "../") || strings.Contains(code, "...") || strings.Contains(code, "//") {
		return
	}
	if _, ok := languages[path.Ext(code)]; ok {
		d.f.claims = append(d.f.claims, linkFact{target: code, line: line})
	}
}
