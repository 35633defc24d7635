package policy

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/deedrun/deed/internal/base/truncate"
)

// Bounds of a command line that deed reads. What is longer is not read.
const (
	maxLine     = 32 << 10
	maxCommands = 200
	maxNested   = 4 // of sh -c and eval
)

// commandParts takes a command line apart as a shell does: every simple command is a part, wherever it stands (after ; &&
// || | & or a newline, in a substitution, a subshell, a loop or a function), and so is every file that a redirection
// opens. `sh -c LINE` and `eval LINE` are the commands of LINE.
//
// A simple command is matched in one spelling: its words with single blanks between them, each without quotes where it
// needs none and in single quotes where it does. What the shell would still expand stays as it is written. Assignments
// before a command belong to it, since they can change what it does: `git *` does not match `PATH=/x git status`.
func commandParts(line string, places Places) []part {
	r := reader{places: places, moved: places.Elsewhere}
	r.line(line, 0, false)
	if len(r.parts) > maxCommands {
		return []part{opaqueCommand(line, fmt.Sprintf("it has more than %d commands", maxCommands))}
	}
	return r.parts
}

func opaqueCommand(line, why string) part {
	return part{kind: partCommand, text: truncate.Head(line, 200), opaque: true, why: why}
}

type reader struct {
	places Places
	parts  []part
	moved  bool // the line changes its directory, so that a relative path is anywhere
}

func (r *reader) add(p part) {
	if len(r.parts) <= maxCommands {
		r.parts = append(r.parts, p)
	}
}

// line reads a command line. shadow: it is only another reading of something.
func (r *reader) line(line string, depth int, shadow bool) {
	if len(r.parts) > maxCommands {
		return // it is refused already, and nesting multiplies the work
	}
	fail := func(why string) {
		p := opaqueCommand(line, why)
		p.shadow = shadow
		r.add(p)
	}
	if len(line) > maxLine || depth > maxNested || strings.ContainsRune(line, 0) {
		fail("it is too long, nested too deep, or holds a NUL")
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		fail("a shell cannot parse it: " + err.Error())
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
			if name, ok := literal(c.Args[0]); ok && slices.Contains([]string{"cd", "pushd", "popd"}, name) {
				r.moved = true
			}
		}
		return true
	})
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			r.call(n, depth, shadow)
		case *syntax.DeclClause: // export, declare, …
			r.add(part{kind: partCommand, text: source(n), shadow: shadow})
		case *syntax.ForClause: // its variable may be PATH
			if it, ok := n.Loop.(*syntax.WordIter); ok {
				r.add(part{kind: partCommand, text: "for " + it.Name.Value, shadow: shadow})
			}
		case *syntax.Redirect:
			r.redirect(n, shadow)
		case *syntax.ExtGlob:
			fail("it has a pattern that shells read in different ways")
		default:
			if why := evaluates(n); why != "" {
				fail(why)
			}
		}
		return true
	})
}

// evaluates says why a shell might run what a node hides: it expands a text a second time there, quoted or not, so that
// `let 'a[$(evil)]'` runs evil.
func evaluates(n syntax.Node) string {
	again := false
	switch n := n.(type) {
	case *syntax.LetClause:
		again = true
	case *syntax.ArithmExp:
		again = hides(n.X)
	case *syntax.ArithmCmd:
		again = hides(n.X)
	case *syntax.CStyleLoop:
		again = hides(n)
	case *syntax.UnaryTest:
		again = n.Op == syntax.TsVarSet && hides(n.X)
	case *syntax.BinaryTest:
		number := slices.Contains([]syntax.BinTestOperator{syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr}, n.Op)
		again = number && (hides(n.X) || hides(n.Y))
	case *syntax.ParamExp:
		switch {
		case n.Excl && n.Names == 0:
			return "it has an expansion whose variable is known only when it runs"
		case n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull || n.Exp.Op == syntax.OtherParamOps):
			return "it has an expansion that sets or evaluates a variable"
		}
		again = n.Index != nil && hides(n.Index) || n.Slice != nil && (n.Slice.Offset != nil && hides(n.Slice.Offset) || n.Slice.Length != nil && hides(n.Slice.Length))
	}
	if again {
		return "it has quoted text where a shell evaluates it a second time"
	}
	return ""
}

// hides reports whether there is text below a node that is quoted in a way that a second expansion would undo. A
// substitution below it is read by itself.
func hides(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.SglQuoted:
			found = true
		case *syntax.Lit:
			found = found || strings.Contains(n.Value, `\`)
		}
		return true
	})
	return found
}

// A word as rules see it.
type word struct {
	text    string // canonical
	value   string // with literal
	literal bool   // the shell expands nothing in it
}

func (r *reader) call(c *syntax.CallExpr, depth int, shadow bool) {
	var assigns []string
	for _, a := range c.Assigns {
		assigns = append(assigns, source(a))
	}
	words := make([]word, len(c.Args))
	for i, w := range c.Args {
		value, ok := literal(w)
		words[i] = word{text: source(w), value: value, literal: ok}
		if ok {
			words[i].text = quote(value)
		}
	}
	r.command(assigns, words, depth, shadow, true)
}

// command adds a simple command: as it stands, or as what it runs. unwrap: look behind sudo and its like too.
func (r *reader) command(assigns []string, words []word, depth int, shadow, unwrap bool) {
	if len(r.parts) > maxCommands {
		return
	}
	texts := slices.Clone(assigns)
	for _, w := range words {
		texts = append(texts, w.text)
	}
	p := part{kind: partCommand, text: strings.Join(texts, " "), shadow: shadow}
	if len(words) == 0 {
		r.add(p) // assignments alone
		return
	}
	if !words[0].literal {
		p.opaque, p.why = true, "what it runs is known only when it runs"
		r.add(p)
		return
	}
	name := path.Base(words[0].value)
	p.also = append(p.also, strings.Join(texts[len(assigns):], " "), strings.Join(append([]string{quote(name)}, texts[len(assigns)+1:]...), " "))
	inner, runs, plain := innerLine(words)
	switch {
	case runs && !inner.literal:
		p.opaque, p.why = true, "the line that it runs is known only when it runs"
	case runs && plain && len(assigns) == 0:
		p.shadow = true // it is what it runs
		r.line(inner.value, depth+1, shadow)
	case runs:
		r.line(inner.value, depth+1, true)
	case readsLines(words):
		p.opaque, p.why = true, "it is a shell that reads what it runs"
	case unwrap && slices.Contains(wrappers, name):
		for i := 1; i < len(words) && i < 32; i++ {
			if !words[i].literal || strings.HasPrefix(words[i].value, "-") {
				continue
			}
			r.command(nil, words[i:], depth, true, false) // every later word is tried here already
			if strings.ContainsAny(words[i].value, " \t\n;&|") {
				r.line(words[i].value, depth+1, true) // env -S LINE, su -c LINE, watch LINE
			}
		}
	}
	r.add(p)
}

// wrappers run what their arguments name, somewhere among them.
var wrappers = []string{
	"builtin", "busybox", "chroot", "command", "doas", "env", "exec", "find", "flock", "ionice", "nice", "nohup", "nsenter", "parallel",
	"runuser", "script", "setsid", "ssh", "stdbuf", "strace", "su", "sudo", "time", "timeout", "toybox", "unshare", "watch", "xargs",
}

var (
	shells  = []string{"sh", "bash", "dash", "zsh", "ksh", "ash"}
	cOption = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-[a-z]*c[a-z]*$`) })
)

// innerLine returns the line that a command hands to a shell. plain: that is all that it does.
func innerLine(words []word) (line word, runs, plain bool) {
	name := words[0].value
	if name == "eval" && len(words) > 1 {
		line.literal = true
		var parts []string
		for _, w := range words[1:] {
			parts = append(parts, w.value)
			line.literal = line.literal && w.literal
		}
		line.value = strings.Join(parts, " ")
		return line, true, true
	}
	if !slices.Contains(shells, path.Base(name)) {
		return line, false, false
	}
	for i := 1; i+1 < len(words); i++ {
		if words[i].literal && cOption().MatchString(words[i].value) {
			dir := path.Dir(name)
			return words[i+1], true, i == 1 && (name == path.Base(name) || dir == "/bin" || dir == "/usr/bin")
		}
	}
	return line, false, false
}

// readsLines reports whether a command is a shell that is given neither a line nor a file: it runs what it reads, as in
// `curl x | sh` or `bash <<X`.
func readsLines(words []word) bool {
	if !slices.Contains(shells, path.Base(words[0].value)) {
		return false
	}
	for _, w := range words[1:] {
		if w.literal && (w.value == "-s" || w.value == "-" || w.value == "/dev/stdin") {
			return true
		}
		if !w.literal || !strings.HasPrefix(w.value, "-") && !strings.HasPrefix(w.value, "+") {
			return false // a file
		}
		if w.value == "--version" || w.value == "--help" {
			return false
		}
	}
	return true
}

// redirect adds the file that a redirection opens.
func (r *reader) redirect(n *syntax.Redirect, shadow bool) {
	tool := ToolWrite
	switch n.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return
	case syntax.RdrIn:
		tool = ToolRead
	}
	value, ok := literal(n.Word)
	if (n.Op == syntax.DplIn || n.Op == syntax.DplOut) && ok && (value == "-" || strings.Trim(value, "0123456789") == "") {
		return // another name for a descriptor
	}
	if ok && slices.Contains([]string{"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"}, value) {
		return
	}
	p := part{kind: partPath, text: source(n.Word), opaque: true, why: "where it leads is known only when it runs"}
	if ok && (!r.moved || path.IsAbs(value)) {
		p = r.places.part(value)
	}
	p.tool, p.shadow = tool, shadow
	r.add(p)
}

// literal returns what a word is, when the shell expands nothing in it.
func literal(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for i, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if i == 0 && strings.HasPrefix(p.Value, "~") || strings.HasPrefix(p.Value, "=") && i == 0 {
				return "", false
			}
			if !unescape(&b, p.Value, `*?[]{}`, "") {
				return "", false
			}
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar {
				return "", false
			}
			for _, q := range p.Parts {
				l, ok := q.(*syntax.Lit)
				if !ok || !unescape(&b, l.Value, "", "$`\"\\\n") {
					return "", false
				}
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// unescape writes a literal without its backslashes. A character of special that has none makes it no literal. only, when
// it is not empty, lists what a backslash escapes.
func unescape(b *strings.Builder, s, special, only string) bool {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && (only == "" || strings.IndexByte(only, s[i+1]) >= 0):
			if i++; s[i] != '\n' {
				b.WriteByte(s[i])
			}
		case strings.IndexByte(special, s[i]) >= 0:
			return false
		default:
			b.WriteByte(s[i])
		}
	}
	return true
}

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`) })

// quote writes a word so that a shell reads it back.
func quote(s string) string {
	if plainWord().MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func quoteAll(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quote(w)
	}
	return strings.Join(out, " ")
}

// canonicalLine is a command line in one spelling; one that a shell cannot parse stays as it is.
func canonicalLine(line string) string {
	if len(line) > maxLine {
		return line
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return line
	}
	return source(file)
}

// source is a node as it is written.
func source(n syntax.Node) string {
	var b strings.Builder
	if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, n); err != nil {
		return "?" // no glob was written for it
	}
	return strings.TrimSpace(b.String())
}
