package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/terminal"
	"github.com/deedrun/deed/internal/checks/finding"
	"github.com/deedrun/deed/internal/checks/testreport"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// The forms that a report is written in.
const (
	formatHuman  = "human"
	formatJSON   = "json"
	formatSARIF  = "sarif"
	formatJUnit  = "junit"
	formatGitHub = "github"
)

// asked settles the format: --json is one as well.
func (a *app) asked(format string) error {
	switch format {
	case formatHuman:
	case formatJSON:
		a.json = true
	case formatSARIF, formatJUnit, formatGitHub:
		if a.json {
			return usage(fmt.Errorf("--json and --format %s are two formats (leave one of them out)", format))
		}
	default:
		return usage(fmt.Errorf("--format: %q is not one of human, json, sarif, junit, github", format))
	}
	return nil
}

// writeReport writes a report in the format that was asked for.
func (a *app) writeReport(format string, rep runner.Report) error {
	switch format {
	case formatSARIF:
		return finding.WriteSARIF(&safeWriter{w: a.Out, json: true}, rep, inRepository(rep.ComponentPath))
	case formatGitHub:
		return finding.WriteGitHub(&safeWriter{w: a.Out}, rep, inRepository(rep.ComponentPath))
	case formatJUnit:
		return testreport.WriteJUnit(a.Out, rep)
	}
	a.showReport(rep)
	return nil
}

// inRepository returns the path of a component in its repository, which is how a forge identifies files; empty at its
// root, and where there is no repository.
func inRepository(dir string) string {
	_, rel, err := workspace.TopOf(dir)
	if err != nil || rel == "." {
		return ""
	}
	return filepath.ToSlash(rel)
}

// A safeWriter removes what would control a terminal, as safeJSON does, without holding the whole document.
type safeWriter struct {
	w    io.Writer
	json bool   // escape it; else it is left out
	rest []byte // the beginning of a character
}

func (s *safeWriter) Write(p []byte) (int, error) {
	if len(s.rest) == 0 && !slices.ContainsFunc(p, s.suspicious) {
		return s.w.Write(p)
	}
	data := append(s.rest, p...)
	out := make([]byte, 0, len(data)+64)
	for len(data) > 0 && utf8.FullRune(data) {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == '\n' || r == '\t' || !terminal.Drives(r):
			out = append(out, data[:size]...)
		case s.json:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		data = data[size:]
	}
	s.rest = slices.Clone(data)
	if _, err := s.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// suspicious reports whether a byte may belong to a character that controls a terminal.
func (s *safeWriter) suspicious(b byte) bool { return b >= 0x7f || b < ' ' && b != '\n' && b != '\t' }
