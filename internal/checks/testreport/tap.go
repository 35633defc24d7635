package testreport

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/runner"
)

// tap reads the Test Anything Protocol, versions 12 to 14. A subtest is indented by four blanks and ends with the test
// point that sums it up. As for prove, a plan that is missing or not kept is a failure, and so is `not ok` that says SKIP.
type tap struct {
	*collector
	levels []tapLevel // the document, then the subtests that are open
	point  *tapPoint  // not yet reported: its diagnostics may follow
	yaml   string     // the indent of the block that is read; empty: none
	bailed bool
}

type tapLevel struct {
	name    string // as a comment announced it
	open    bool   // it was announced, and nothing has summed it up
	planned int    // -1: no plan yet
	skipped string // why the plan has no tests
	points  int
	failed  int
}

type tapPoint struct {
	runner.TestCase
	level    int
	suite    bool // its diagnostics call it so
	innerBad int  // failures among its subtests
	note     strings.Builder
	key      string // of the block scalar in the diagnostics that is read
}

const maxTAPDepth = 64

func readTAP(r io.Reader, c *collector) error {
	t := &tap{collector: c, levels: []tapLevel{{planned: -1}}}
	for line, err := range textLines(r) {
		if err != nil {
			return err
		}
		if err := t.line(line); err != nil {
			return err
		}
		if t.bailed {
			break
		}
	}
	return t.end()
}

// end ends a document.
func (t *tap) end() error {
	if err := t.flush(); err != nil {
		return err
	}
	for len(t.levels) > 1 { // subtests that nothing summed up
		if err := t.unfinished(); err != nil {
			return err
		}
		if err := t.closeLevel(); err != nil {
			return err
		}
	}
	return t.checkPlan(0)
}

// version begins a document. The output of a script that starts several runners has several.
func (t *tap) version() error {
	if l := t.levels[0]; l.planned < 0 && l.points == 0 && len(t.levels) == 1 {
		return nil
	}
	if err := t.end(); err != nil {
		return err
	}
	t.levels = []tapLevel{{planned: -1}}
	return nil
}

func (t *tap) line(line string) error {
	if t.yaml != "" && t.diagnostic(line) {
		return nil
	}
	indent := len(line) - len(strings.TrimLeft(line, " "))
	text := line[indent:]
	if text == "---" && t.point != nil && indent > 0 {
		t.yaml = line[:indent]
		return nil
	}
	level := indent / 4
	if indent%4 != 0 || level > maxTAPDepth {
		return nil // what a test printed
	}
	switch {
	case level == 0 && strings.HasPrefix(text, "TAP version "):
		return t.version()
	case strings.HasPrefix(text, "ok") || strings.HasPrefix(text, "not ok"):
		return t.test(level, text)
	case strings.HasPrefix(text, "1.."):
		return t.plan(level, text)
	case strings.HasPrefix(text, "# Subtest"):
		_, name, _ := strings.Cut(text, ": ")
		return t.open(level+1, name)
	case strings.HasPrefix(text, "#"):
		t.comment(strings.TrimPrefix(text, "#"))
	case strings.HasPrefix(text, "Bail out!"):
		return t.bailOut(strings.TrimSpace(strings.TrimPrefix(text, "Bail out!")))
	}
	return nil
}

// comment takes what a test that failed says about it, where there is no YAML for that.
func (t *tap) comment(text string) {
	if p := t.point; p != nil && p.Status == runner.CaseFailed && p.note.Len() < MaxMessage {
		p.note.WriteString(strings.TrimSpace(text) + "\n")
	}
}

// open makes a subtest of the level the one that is read.
func (t *tap) open(level int, name string) error {
	if err := t.flush(); err != nil {
		return err
	}
	for len(t.levels) > level {
		if err := t.closeLevel(); err != nil {
			return err
		}
	}
	for len(t.levels) <= level {
		t.levels = append(t.levels, tapLevel{planned: -1})
	}
	if name != "" {
		t.levels[level].name, t.levels[level].open = name, true
	}
	return nil
}

// unfinished tells the deepest subtest, when it was announced and the document ends before a point sums it up: the run was
// ended while it ran.
func (t *tap) unfinished() error {
	level := len(t.levels) - 1
	l := t.levels[level]
	if !l.open || l.points > 0 || t.bailed {
		return nil
	}
	return t.add(runner.TestCase{Suite: t.suite(level - 1), Name: l.name, Status: runner.CaseFailed, Type: TypeUnfinished, Message: "it began and did not end"})
}

// reach makes sure that the level is open. Deeper ones wait for the point that sums them up.
func (t *tap) reach(level int) {
	for len(t.levels) <= level {
		t.levels = append(t.levels, tapLevel{planned: -1})
	}
}

func (t *tap) plan(level int, text string) error {
	if err := t.flush(); err != nil {
		return err
	}
	count, directive, _ := strings.Cut(strings.TrimPrefix(text, "1.."), "#")
	count = strings.TrimSpace(count)
	n := integer(count)
	if n == 0 && count != "0" {
		return nil // what a test printed
	}
	t.reach(level)
	t.levels[level].planned = n
	if n == 0 {
		t.levels[level].skipped = strings.TrimSpace(directive)
	}
	return nil
}

// test takes a test point.
func (t *tap) test(level int, text string) error {
	rest, failed := strings.CutPrefix(text, "not ")
	rest = strings.TrimPrefix(rest, "ok")
	if rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return nil // a word that begins with ok
	}
	rest = strings.TrimLeft(rest, " \t")
	if digits := len(rest) - len(strings.TrimLeft(rest, "0123456789")); digits > 0 && (len(rest) == digits || rest[digits] == ' ' || rest[digits] == '\t') {
		rest = strings.TrimLeft(rest[digits:], " \t")
	}
	if err := t.flush(); err != nil {
		return err
	}
	t.reach(level)
	p := &tapPoint{level: level}
	for len(t.levels) > level+1 { // it sums up the subtest before it
		p.innerBad += t.levels[len(t.levels)-1].failed
		if err := t.closeLevel(); err != nil {
			return err
		}
	}
	l := &t.levels[level]
	l.points++
	description, directive, reason := directiveOf(rest)
	p.Name = strings.TrimSpace(strings.TrimPrefix(description, "- "))
	if p.Name == "" || p.Name == "-" {
		p.Name = "test " + strconv.Itoa(l.points)
	}
	p.Suite = t.suite(level)
	p.Status = runner.CasePassed
	switch {
	case directive == "todo" && failed, directive == "skip" && !failed:
		p.Status = runner.CaseSkipped
		p.Message = reason
	case failed:
		p.Status = runner.CaseFailed
		l.failed++
	}
	t.point = p
	return nil
}

// directiveOf splits a description from `# SKIP reason` and `# TODO reason`. Version 14 escapes # and \.
func directiveOf(text string) (description, directive, reason string) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && (text[i+1] == '#' || text[i+1] == '\\'):
			i++
			b.WriteByte(text[i])
			continue
		case text[i] == '#':
			word, after, _ := strings.Cut(strings.TrimLeft(text[i+1:], " "), " ")
			lower := strings.ToLower(word)
			if strings.HasPrefix(lower, "skip") || strings.TrimRight(lower, ":") == "todo" {
				return b.String(), lower[:4], strings.TrimSpace(after)
			}
			if isTime(text[i+1:]) {
				return b.String(), "", ""
			}
		}
		b.WriteByte(text[i])
	}
	return b.String(), "", ""
}

// isTime recognizes `time=12.5ms` of node-tap and `in 12 ms` and `in 1sec` of bats, which are not part of a name.
func isTime(text string) bool {
	text = strings.TrimSpace(text)
	number, ok := strings.CutPrefix(text, "time=")
	if !ok {
		number, ok = strings.CutPrefix(text, "in ")
	}
	for _, unit := range []string{"ms", "sec"} {
		if n, has := strings.CutSuffix(number, unit); has && ok {
			_, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
			return err == nil
		}
	}
	return false
}

// suite is the path of the subtests around a level.
func (t *tap) suite(level int) string {
	var names []string
	for _, l := range t.levels[1 : level+1] {
		if l.name != "" {
			names = append(names, l.name)
		}
	}
	return strings.Join(names, separator)
}

// diagnostic reads a line of the YAML block behind a test point: its few keys that matter, and the rest as text.
// It is false for a line that does not belong to the block, which then has no end of its own.
func (t *tap) diagnostic(line string) bool {
	text, ok := strings.CutPrefix(line, t.yaml)
	if !ok && line != "" {
		t.yaml = ""
		return false
	}
	if text == "..." {
		t.yaml = ""
		return true
	}
	p := t.point
	key, value, isKey := strings.Cut(text, ":")
	value = strings.TrimSpace(value)
	if isKey && key != "" && !strings.ContainsAny(key, " \t") {
		p.key = key
		switch value {
		case "|", "|-", ">", ">-":
			value = "" // it follows
		default:
			value = unquote(value)
		}
		t.diagnosticKey(key, value)
		return true
	}
	if (p.key == "error" || p.key == "message" || p.key == "stack") && p.note.Len() < MaxMessage {
		p.note.WriteString(strings.TrimSpace(text) + "\n")
	}
	return true
}

func (t *tap) diagnosticKey(key, value string) {
	p := t.point
	switch key {
	case "duration_ms", "time":
		if ms, err := strconv.ParseFloat(value, 64); err == nil {
			p.DurationMS = ms
		}
	case "type":
		p.suite = value == "suite"
	case "failureType":
		p.Type = value
	case "location", "at":
		p.File, p.Line = placeOf(value)
	case "error", "message":
		if value != "" {
			p.note.WriteString(value + "\n")
		}
	}
}

func unquote(value string) string {
	if n := len(value); n > 1 && (value[0] == '\'' || value[0] == '"') && value[n-1] == value[0] {
		return strings.ReplaceAll(value[1:n-1], "''", "'")
	}
	return value
}

// placeOf reads file:line or file:line:column.
func placeOf(text string) (file string, line int) {
	parts := strings.Split(text, ":")
	for n := len(parts); n > 1; n = len(parts) {
		number := integer(parts[n-1])
		if number == 0 {
			break
		}
		line, parts = number, parts[:n-1]
	}
	if line == 0 {
		return "", 0
	}
	return strings.Join(parts, ":"), line
}

// flush reports the test point whose diagnostics have ended. A suite is no test: it is reported only if it failed by itself.
func (t *tap) flush() error {
	p := t.point
	t.point, t.yaml = nil, ""
	if p == nil || p.suite && (p.Status != runner.CaseFailed || p.innerBad > 0) {
		return nil
	}
	if note := strings.TrimSpace(p.note.String()); note != "" && p.Status == runner.CaseFailed {
		p.Message = note
	}
	return t.add(p.TestCase)
}

// closeLevel ends the deepest subtest.
func (t *tap) closeLevel() error {
	level := len(t.levels) - 1
	if err := t.checkPlan(level); err != nil {
		return err
	}
	if level > 0 {
		t.levels[level-1].failed += t.levels[level].failed
	}
	t.levels = t.levels[:level]
	return nil
}

func (t *tap) checkPlan(level int) error {
	l := &t.levels[level]
	var message string
	switch {
	case t.bailed:
	case l.planned < 0 && level > 0: // version 13 asks for none here
	case l.planned < 0:
		message = fmt.Sprintf("there is no plan, and %d tests: the run may have ended early", l.points)
	case l.planned != l.points:
		message = fmt.Sprintf("%d tests were planned and %d ran", l.planned, l.points)
	case l.planned == 0 && l.skipped != "":
		t.warn("nothing was run: %s", l.skipped)
	}
	if message == "" {
		return nil
	}
	l.failed++
	return t.add(runner.TestCase{
		Suite: t.suite(level), Name: "[" + TypePlan + "]", Status: runner.CaseFailed, Type: TypePlan, Message: message,
	})
}

func (t *tap) bailOut(reason string) error {
	if err := t.flush(); err != nil {
		return err
	}
	t.bailed = true
	return t.add(runner.TestCase{Name: "[bail out]", Status: runner.CaseFailed, Type: TypeBailOut, Message: reason})
}
