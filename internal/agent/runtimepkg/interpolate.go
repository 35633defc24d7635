package runtimepkg

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/deedrun/deed/internal/checks/extension"
)

// The marks that manifests have for paths of the host.
const (
	runtimeMark   = "{{runtime_path}}"
	extensionMark = "{{extension_path}}"
)

// fill puts a path in the place of the marks, in one pass: a mark inside the path itself stays.
func fill(text, path string) string {
	return strings.NewReplacer(runtimeMark, path, extensionMark, path).Replace(text)
}

// builtins are commands of the shell that a plain process cannot stand for.
var builtins = map[string]bool{".": true, ":": true, "cd": true, "command": true, "eval": true, "exec": true, "export": true, "set": true, "source": true, "ulimit": true, "umask": true, "unset": true}

// shellCommand turns a manifest's command line into an argv, with the path filled in. A line of plain words needs no shell:
// the path is put into the words after they were split, so that nothing in it can mean anything. Any other line is run by
// sh, with the path quoted as its place demands.
func shellCommand(line, path string) (argv []string, shell bool, err error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX), syntax.KeepComments(true)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, false, fmt.Errorf("the command %.200q is not a line for sh: %w", line, err)
	}
	if len(file.Stmts) == 0 {
		return nil, false, errors.New("the command is empty")
	}
	if words := plainWords(file); words != nil && !builtins[words[0]] {
		for i := range words {
			words[i] = fill(words[i], path)
		}
		return words, false, nil
	}
	if line, err = quoteMarks(file, line, path); err != nil {
		return nil, false, err
	}
	return []string{"sh", "-c", line}, true, nil
}

// plainWords returns the words of a line that is one command without anything for a shell to do; nil: there is something.
func plainWords(f *syntax.File) []string {
	if len(f.Stmts) != 1 {
		return nil
	}
	s := f.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(call.Args) == 0 || len(s.Redirs) > 0 || s.Background || s.Negated {
		return nil
	}
	words := make([]string, len(call.Args))
	for i, w := range call.Args {
		text, ok := plainWord(w)
		if !ok {
			return nil
		}
		words[i] = text
	}
	return words
}

func plainWord(w *syntax.Word) (string, bool) {
	var text strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "*?[~\\") {
				return "", false
			}
			text.WriteString(p.Value)
		case *syntax.SglQuoted:
			text.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok || strings.Contains(lit.Value, `\`) {
					return "", false
				}
				text.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	return text.String(), true
}

// quoteMarks replaces every mark of a line by the path, written as its place in the line demands.
func quoteMarks(f *syntax.File, line, path string) (string, error) {
	if harmless(path) {
		return fill(line, path), nil
	}
	var out strings.Builder
	for at := 0; ; {
		next, mark := nextMark(line[at:])
		if next < 0 {
			out.WriteString(line[at:])
			return out.String(), nil
		}
		out.WriteString(line[at : at+next])
		at += next
		text, err := quotedFor(placeOf(f, uint(at)), path)
		if err != nil {
			return "", fmt.Errorf("%s at byte %d of the command: %w", mark, at, err)
		}
		out.WriteString(text)
		at += len(mark)
	}
}

// harmless reports whether a shell reads a path as it stands, whatever is around it.
func harmless(path string) bool {
	for _, c := range path {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune("/._-+,:@", c):
		default:
			return false
		}
	}
	return true
}

func nextMark(s string) (at int, mark string) {
	at = -1
	for _, m := range []string{runtimeMark, extensionMark} {
		if i := strings.Index(s, m); i >= 0 && (at < 0 || i < at) {
			at, mark = i, m
		}
	}
	return at, mark
}

// A place is what the innermost construct around a mark makes of a text.
type place int

const (
	bare place = iota
	inDouble
	inSingle
	inComment
	inUnclear // expansions, here-documents and backquotes, where no quoting is right in every shell
)

// placeOf finds the innermost construct around an offset. Walk goes from the outside in, so the last one counts.
func placeOf(f *syntax.File, at uint) place {
	found := bare
	syntax.Walk(f, func(n syntax.Node) bool {
		if r, ok := n.(*syntax.Redirect); ok && r.Hdoc != nil && inside(r.Hdoc, at) {
			found = inUnclear // a here-document lies outside the bounds of its statement
			return false
		}
		if n == nil || !inside(n, at) {
			return true // a node's comments and here-documents can lie outside of it
		}
		switch n := n.(type) {
		case *syntax.Comment:
			found = inComment
		case *syntax.DblQuoted:
			found = inDouble
		case *syntax.SglQuoted:
			found = inSingle
		case *syntax.ParamExp, *syntax.ArithmExp:
			found = inUnclear
		case *syntax.CmdSubst:
			if found = bare; n.Backquotes {
				found = inUnclear
				return false
			}
		}
		return true
	})
	return found
}

func inside(n syntax.Node, at uint) bool { return n.Pos().Offset() <= at && at < n.End().Offset() }

func quotedFor(p place, path string) (string, error) {
	switch p {
	case bare:
		return extension.Quote(path), nil
	case inSingle:
		return strings.ReplaceAll(path, "'", `'\''`), nil
	case inDouble:
		return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", "$", `\$`).Replace(path), nil
	case inComment:
		return "", nil
	}
	return "", fmt.Errorf("the path %q cannot be written there (use plain words, or invocation.argv; or install the package below a path of letters, digits and /._-)", path)
}
