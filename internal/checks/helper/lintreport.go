package helper

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/runner"
)

// maxReport bounds what a linter may write.
const maxReport = 256 << 20

// A LintReport says how to read what a linter wrote, and what its findings are where the format does not say it.
type LintReport struct {
	Format   string // one of LintFormats
	Tool     string
	Root     string // of the component: paths are relative to it
	Rule     string
	Category string
	Message  string
	Fixable  bool
}

// lintFormats are the readers of what linters write.
var lintFormats = map[string]func(LintReport, []byte) ([]runner.LintFinding, error){
	"paths":      readPaths,
	"text":       readText,
	"govet":      readVet,
	"golangci":   readGolangci,
	"eslint":     readESLint,
	"clippy":     readClippy,
	"shellcheck": readShellcheck,
	"ruff":       readRuff,
	"phpcs":      readPHPCS,
	"phpstan":    readPHPStan,
}

// LintFormats lists the formats that ReadLintReport knows.
func LintFormats() []string { return slices.Sorted(maps.Keys(lintFormats)) }

// ReadLintReport reads what a linter wrote. Findings come in the order of the report, each once, with a path below the
// component and an id of tool, rule, path and place.
func ReadLintReport(from LintReport, r io.Reader) ([]runner.LintFinding, error) {
	read, ok := lintFormats[from.Format]
	if !ok {
		return nil, fmt.Errorf("format %q is unknown (use one of %s)", from.Format, strings.Join(LintFormats(), ", "))
	}
	data, err := io.ReadAll(io.LimitReader(r, maxReport+1))
	if err != nil {
		return nil, fmt.Errorf("read the report of %s: %w", from.Tool, err)
	}
	if len(data) > maxReport {
		return nil, fmt.Errorf("read the report of %s: it has more than %d bytes", from.Tool, maxReport)
	}
	fs, err := read(from, data)
	if err != nil {
		return nil, fmt.Errorf("read the report of %s: %w", from.Tool, err)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(complete(from, fs), func(f runner.LintFinding) bool {
		key := f.ID + "\x00" + f.Message
		again := seen[key]
		seen[key] = true
		return again
	}), nil
}

func complete(from LintReport, fs []runner.LintFinding) []runner.LintFinding {
	for i := range fs {
		f := &fs[i]
		f.Tool = from.Tool
		f.File = below(from.Root, f.File)
		f.Message = strings.TrimSpace(strings.ToValidUTF8(f.Message, "\uFFFD"))
		if f.Rule == "" {
			f.Rule = from.Rule
		}
		if f.Category == "" {
			f.Category = from.Category
		}
		if f.Category == "" {
			f.Category = from.Tool
		}
		if f.Severity == "" {
			f.Severity = "error"
		}
		f.Fixable = f.Fixable || from.Fixable
		f.ID = strings.Join([]string{f.Tool, f.Rule, f.File, strconv.Itoa(f.Line), strconv.Itoa(f.Column)}, ":")
	}
	return fs
}

// below makes a path relative to the component: slashes, no ./, nothing of where the component is.
func below(root, path string) string {
	path = strings.ToValidUTF8(filepath.ToSlash(path), "\uFFFD")
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(filepath.ToSlash(root), "/")+"/"); ok && root != "" {
		path = rest
	}
	return strings.TrimPrefix(path, "./")
}

// readPaths reads one path in a line: the whole file is the finding.
func readPaths(from LintReport, data []byte) (fs []runner.LintFinding, _ error) {
	for line := range strings.SplitSeq(string(data), "\n") {
		if line = strings.TrimRight(line, "\r"); line != "" {
			fs = append(fs, runner.LintFinding{File: line, Line: 1, Message: from.Message})
		}
	}
	return fs, nil
}

// readText reads lines like path:3:7: message, as compilers and linters write them. Other lines are talk.
func readText(from LintReport, data []byte) (fs []runner.LintFinding, _ error) {
	for line := range strings.SplitSeq(string(data), "\n") {
		f, ok := textFinding(line)
		if ok && f.Severity != "note" {
			if from.Message != "" {
				f.Message = from.Message + ": " + f.Message
			}
			fs = append(fs, f)
		}
	}
	return fs, nil
}

// textFinding takes a line apart. A path may have blanks and colons; the first colon with a number after it ends it.
func textFinding(line string) (f runner.LintFinding, ok bool) {
	line = strings.TrimRight(line, "\r")
	for at := 0; ; {
		colon := strings.IndexByte(line[at:], ':')
		if colon < 0 {
			return f, false
		}
		at += colon
		if n, rest, found := number(line[at+1:]); found && at > 0 {
			f.File, f.Line = line[:at], n
			if col, after, found := number(rest); found {
				f.Column, rest = col, after
			}
			f.Message = strings.TrimSpace(rest)
			break
		}
		at++
	}
	if f.Message == "" {
		return f, false
	}
	for _, severity := range []string{"error", "warning", "note"} {
		if rest, found := strings.CutPrefix(f.Message, severity+": "); found {
			f.Severity, f.Message = severity, rest
		}
	}
	f.Rule, f.Message = ruleIn(f.Message)
	return f, true
}

// number reads digits and the colon after them.
func number(s string) (n int, rest string, ok bool) {
	digits, rest, ok := strings.Cut(s, ":")
	if !ok || digits == "" || len(digits) > 9 {
		return 0, s, false
	}
	n, err := strconv.Atoi(digits)
	return n, rest, err == nil && n >= 0
}

// ruleIn finds the rule in a message: E501 at its beginning, or [rule] at its end.
func ruleIn(message string) (rule, rest string) {
	if word, after, ok := strings.Cut(message, " "); ok && isCode(word) {
		return word, after
	}
	if open := strings.LastIndex(message, "  ["); open >= 0 && strings.HasSuffix(message, "]") {
		return message[open+3 : len(message)-1], message[:open]
	}
	return "", message
}

// isCode reports whether a word is like E501: capitals, then digits.
func isCode(word string) bool {
	letters := strings.TrimLeft(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	return letters != word && letters != "" && len(word) <= 10 && strings.Trim(letters, "0123456789") == ""
}

// readVet reads `go vet -json`: an object for each package with the reports by analyzer, lines that begin with # and name
// a package, and what the compiler says in between.
func readVet(_ LintReport, data []byte) (fs []runner.LintFinding, err error) {
	type report struct {
		Posn    string `json:"posn"`
		Message string `json:"message"`
	}
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		if !bytes.HasPrefix(line, []byte("{")) {
			if f, ok := textFinding(strings.TrimPrefix(string(line), "vet: ")); ok && strings.HasSuffix(f.File, ".go") {
				f.Rule = "typecheck"
				fs = append(fs, f)
			}
			data = rest
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		var packages map[string]map[string]json.RawMessage
		if err := dec.Decode(&packages); err != nil {
			return nil, err
		}
		data = data[dec.InputOffset():]
		for _, pkg := range slices.Sorted(maps.Keys(packages)) {
			for _, analyzer := range slices.Sorted(maps.Keys(packages[pkg])) {
				var reports []report
				if json.Unmarshal(packages[pkg][analyzer], &reports) != nil {
					continue // an analyzer that could not run has an object with an error here; the compiler says why
				}
				for _, r := range reports {
					f, ok := textFinding(r.Posn + ": " + r.Message)
					if !ok {
						f.Message = r.Message
					}
					f.Rule, f.Message = analyzer, r.Message
					fs = append(fs, f)
				}
			}
		}
	}
	return fs, nil
}

func readGolangci(_ LintReport, data []byte) (fs []runner.LintFinding, _ error) {
	var report struct {
		Issues []struct {
			FromLinter, Text, Severity string
			Pos                        struct {
				Filename     string
				Line, Column int
			}
			SuggestedFixes []json.RawMessage
			Replacement    json.RawMessage
		}
	}
	if err := first(data, &report); err != nil {
		return nil, err
	}
	for _, i := range report.Issues {
		fs = append(fs, runner.LintFinding{
			File: i.Pos.Filename, Line: i.Pos.Line, Column: i.Pos.Column, Message: i.Text, Rule: i.FromLinter, Severity: i.Severity,
			Fixable: len(i.SuggestedFixes) > 0 || len(i.Replacement) > 0 && string(i.Replacement) != "null",
		})
	}
	return fs, nil
}

func readESLint(_ LintReport, data []byte) (fs []runner.LintFinding, _ error) {
	var report []struct {
		FilePath string `json:"filePath"`
		Messages []struct {
			RuleID   *string         `json:"ruleId"`
			Severity int             `json:"severity"`
			Fatal    bool            `json:"fatal"`
			Message  string          `json:"message"`
			Line     int             `json:"line"`
			Column   int             `json:"column"`
			Fix      json.RawMessage `json:"fix"`
		} `json:"messages"`
	}
	if err := first(data, &report); err != nil {
		return nil, err
	}
	for _, file := range report {
		for _, m := range file.Messages {
			f := runner.LintFinding{File: file.FilePath, Line: m.Line, Column: m.Column, Message: m.Message, Severity: "warning"}
			if m.Severity > 1 || m.Fatal {
				f.Severity = "error"
			}
			switch {
			case m.RuleID != nil && *m.RuleID != "":
				f.Rule = *m.RuleID
			case m.Fatal:
				f.Rule = "syntax"
			}
			f.Fixable = len(m.Fix) > 0 && string(m.Fix) != "null"
			fs = append(fs, f)
		}
	}
	return fs, nil
}

// readClippy reads the messages of cargo, one JSON document in a line.
func readClippy(_ LintReport, data []byte) (fs []runner.LintFinding, _ error) {
	type span struct {
		File        string  `json:"file_name"`
		Line        int     `json:"line_start"`
		Column      int     `json:"column_start"`
		Primary     bool    `json:"is_primary"`
		Replacement *string `json:"suggested_replacement"`
	}
	type diagnostic struct {
		Message string `json:"message"`
		Level   string `json:"level"`
		Code    *struct {
			Code string `json:"code"`
		} `json:"code"`
		Spans    []span `json:"spans"`
		Children []struct {
			Spans []span `json:"spans"`
		} `json:"children"`
	}
	for line := range bytes.Lines(data) {
		var m struct {
			Reason  string     `json:"reason"`
			Message diagnostic `json:"message"`
		}
		if !bytes.HasPrefix(line, []byte("{")) || json.Unmarshal(line, &m) != nil || m.Reason != "compiler-message" {
			continue // cargo's talk, and messages about other things
		}
		d := m.Message
		at := slices.IndexFunc(d.Spans, func(s span) bool { return s.Primary })
		if at < 0 {
			continue // a sum of those before
		}
		f := runner.LintFinding{File: d.Spans[at].File, Line: d.Spans[at].Line, Column: d.Spans[at].Column, Message: d.Message, Severity: d.Level}
		if d.Code != nil {
			f.Rule = d.Code.Code
		}
		for _, c := range d.Children {
			f.Fixable = f.Fixable || slices.ContainsFunc(c.Spans, func(s span) bool { return s.Replacement != nil })
		}
		fs = append(fs, f)
	}
	return fs, nil
}

func readShellcheck(_ LintReport, data []byte) (fs []runner.LintFinding, _ error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	for { // one document for each call that many files needed
		var report struct {
			Comments []struct {
				File    string          `json:"file"`
				Line    int             `json:"line"`
				Column  int             `json:"column"`
				Level   string          `json:"level"`
				Code    int             `json:"code"`
				Message string          `json:"message"`
				Fix     json.RawMessage `json:"fix"`
			} `json:"comments"`
		}
		switch err := dec.Decode(&report); {
		case errors.Is(err, io.EOF):
			return fs, nil
		case err != nil:
			return nil, err
		}
		for _, c := range report.Comments {
			fs = append(fs, runner.LintFinding{
				File: c.File, Line: c.Line, Column: c.Column, Message: c.Message, Severity: c.Level, Rule: "SC" + strconv.Itoa(c.Code),
				Fixable: len(c.Fix) > 0 && string(c.Fix) != "null",
			})
		}
	}
}

func readRuff(_ LintReport, data []byte) (fs []runner.LintFinding, _ error) {
	var report []struct {
		Code     *string `json:"code"`
		Filename string  `json:"filename"`
		Message  string  `json:"message"`
		Location struct {
			Row    int `json:"row"`
			Column int `json:"column"`
		} `json:"location"`
		Fix json.RawMessage `json:"fix"`
	}
	if err := first(data, &report); err != nil {
		return nil, err
	}
	for _, r := range report {
		f := runner.LintFinding{File: r.Filename, Line: r.Location.Row, Column: r.Location.Column, Message: r.Message, Rule: "syntax"}
		if r.Code != nil && *r.Code != "" {
			f.Rule = *r.Code
		}
		f.Fixable = len(r.Fix) > 0 && string(r.Fix) != "null"
		fs = append(fs, f)
	}
	return fs, nil
}

func readPHPCS(_ LintReport, data []byte) (fs []runner.LintFinding, _ error) {
	var report struct {
		Files map[string]struct {
			Messages []struct {
				Message string `json:"message"`
				Source  string `json:"source"`
				Type    string `json:"type"`
				Line    int    `json:"line"`
				Column  int    `json:"column"`
				Fixable bool   `json:"fixable"`
			} `json:"messages"`
		} `json:"files"`
	}
	if err := first(data, &report); err != nil {
		return nil, err
	}
	for _, file := range slices.Sorted(maps.Keys(report.Files)) {
		for _, m := range report.Files[file].Messages {
			fs = append(fs, runner.LintFinding{
				File: file, Line: m.Line, Column: m.Column, Message: m.Message, Rule: m.Source, Severity: strings.ToLower(m.Type), Fixable: m.Fixable,
			})
		}
	}
	return fs, nil
}

func readPHPStan(_ LintReport, data []byte) (fs []runner.LintFinding, _ error) {
	var report struct {
		Files  json.RawMessage `json:"files"` // an empty array when there is none
		Errors []string        `json:"errors"`
	}
	if err := first(data, &report); err != nil {
		return nil, err
	}
	if len(report.Errors) > 0 {
		return nil, errors.New(strings.Join(report.Errors, "; "))
	}
	var files map[string]struct {
		Messages []struct {
			Message    string `json:"message"`
			Line       int    `json:"line"`
			Identifier string `json:"identifier"`
		} `json:"messages"`
	}
	if bytes.HasPrefix(bytes.TrimSpace(report.Files), []byte("{")) {
		if err := json.Unmarshal(report.Files, &files); err != nil {
			return nil, err
		}
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		for _, m := range files[file].Messages {
			fs = append(fs, runner.LintFinding{File: file, Line: m.Line, Message: m.Message, Rule: m.Identifier})
		}
	}
	return fs, nil
}

// first decodes the first JSON document of a report; some tools write talk before and after it. An empty report is one
// without findings.
func first(data []byte, v any) error {
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		if t := bytes.TrimSpace(line); bytes.HasPrefix(t, []byte("{")) || bytes.HasPrefix(t, []byte("[")) {
			return json.NewDecoder(bytes.NewReader(data)).Decode(v)
		}
		data = rest
	}
	return nil
}
