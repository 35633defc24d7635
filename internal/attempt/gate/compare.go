package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/truncate"
)

// A ground is one thing that a comparison found: against the work, or only worth a note.
type ground struct {
	code    string
	subject string // the test or the finding, so that two runs that say the same are told once
	message string
	note    bool
	doubt   AskKind // what a person may say of it that it does not matter; noDoubt: nothing
}

// A comparer holds what a capability gave on the base against what it gave after the change. It does no I/O.
type comparer struct {
	check    deed.Check
	base     *runner.Report  // nil: nothing is known of the base
	pinned   *runner.Report  // of the change with the tests of the base, which tells of tests that could not be run there; nil: there is none
	after    *runner.Report  // never nil
	unstable map[string]bool // tests that two runs on the base do not agree on: they prove nothing
	allowed  bool            // a person let the agent change the inputs: what is gone with them is only told

	taken   map[string]bool // new tests that stand for one that is gone
	alike   map[string]bool // tests that only the run with the tests of the base tells of
	out     deed.CheckComparison
	grounds []ground
}

// compare reports what differs and every ground that follows from it.
//
// The rule. A test that fails and did not fail on the base counts against the work, and so does one that is gone or
// skipped. A test that failed on the base already is not the agent's doing: it is noted, as long as something that failed
// was fixed. Where nothing was, the work has not done what a failing test asks for. `require_pass` true makes every
// failure count, false none of the old ones.
func compare(m comparer) (deed.CheckComparison, []ground) {
	c, after := m.check, m.after
	m.out.Counts = map[string]int{}
	switch {
	case after.Status == runner.StatusSkipped:
		m.against(CodeNotApplicable, "", "there is nothing to run: %s", m.after.Phase.Summary)
	case after.Status == runner.StatusError:
		m.against(CodeCheckError, "", "could not tell: %s", summary(after))
	case c.Capability == runner.Test, c.Capability == "":
		m.tests()
	case c.Capability == runner.Build:
		m.build()
	default:
		m.findings()
	}
	return m.out, m.grounds
}

func (m *comparer) against(code, subject, format string, a ...any) {
	m.tell(true, code, subject, format, a...)
}

func (m *comparer) note(code, subject, format string, a ...any) {
	m.tell(false, code, subject, format, a...)
}

// tell adds a ground. The names of tests are the project's own words, so a message is cut to a line.
func (m *comparer) tell(counts bool, code, subject, format string, a ...any) {
	m.grounds = append(m.grounds, ground{code: code, subject: subject, message: oneLine(fmt.Sprintf(format, a...)), note: !counts})
}

func summary(r *runner.Report) string {
	if r.Failure != nil && r.Failure.Summary != "" {
		return r.Failure.Summary
	}
	return cmp.Or(r.Phase.Summary, "its status is "+r.Status)
}

// comparable reports whether the base says anything to hold the change against.
func (m *comparer) comparable() bool {
	return m.base != nil && (m.base.Status == runner.StatusPassed || m.base.Status == runner.StatusFailed)
}

// build has only its status.
func (m *comparer) build() {
	if m.after.Status == runner.StatusPassed {
		return
	}
	old := m.comparable() && m.base.Status == runner.StatusFailed
	counts := !old || m.check.RequirePass == nil || *m.check.RequirePass
	what := "failed"
	if old {
		what = "failed as it did on the base"
	}
	m.tell(counts, CodeCheckFailed, "", "%s: %s", what, summary(m.after))
}

// findings compares what linters found by fingerprints, which survive moved lines.
func (m *comparer) findings() {
	known := map[string]bool{}
	if m.comparable() {
		for _, f := range m.base.LintFindings {
			known[identity(f)] = true
		}
	}
	stays := 0
	for _, f := range m.after.LintFindings {
		id := identity(f)
		if known[id] {
			stays++
			delete(known, id)
			continue
		}
		m.list(&m.out.Introduced, "introduced", describeFinding(f))
		m.against(CodeLintIntroduced, id, "%s", describeFinding(f))
	}
	for _, id := range sorted(known) {
		m.list(&m.out.Resolved, "resolved", id)
	}
	m.out.Counts["unchanged"] = stays
	require := m.check.RequirePass != nil && *m.check.RequirePass
	if stays > 0 {
		m.tell(require, CodeOldFindings, "", "%d findings are as they were on the base", stays)
	}
	if len(m.after.LintFindings) == 0 && m.after.Status == runner.StatusFailed {
		old := m.comparable() && m.base.Status == runner.StatusFailed && len(m.base.LintFindings) == 0
		m.tell(!old || require, CodeCheckFailed, "", "failed and named no finding: %s", summary(m.after))
	}
}

// identity is what a finding is known by.
func identity(f runner.LintFinding) string {
	return cmp.Or(f.Fingerprint, f.ID, f.File+"\x00"+f.Rule+"\x00"+f.Message)
}

func describeFinding(f runner.LintFinding) string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(quotePath(f.File))
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d", f.Line)
		}
		b.WriteString(": ")
	}
	b.WriteString(oneLine(f.Message))
	if rule := cmp.Or(f.Rule, f.Tool, f.Category); rule != "" && !strings.Contains(f.Message, rule) {
		b.WriteString(" (" + rule + ")")
	}
	return b.String()
}

// maxLine bounds one line of a verdict that holds the words of a tool or of a test.
const maxLine = 400

// oneLine is the beginning of a text, fit for a list.
func oneLine(s string) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
	if head, _, more := strings.Cut(s, "\n"); more {
		s = head
	}
	return truncate.Head(s, maxLine)
}

// list adds to a list of the comparison, which has a bound; its count has none.
func (m *comparer) list(to *[]string, name, item string) {
	if m.out.Counts[name]++; m.out.Counts[name] <= perCode {
		*to = append(*to, oneLine(item))
	}
}

// tests compares by name.
func (m *comparer) tests() {
	m.out.After = counts(m.after)
	if m.comparable() {
		m.out.Base = counts(m.base)
	}
	switch {
	case m.out.After == nil:
		more := ""
		if m.comparable() && m.out.Base == nil {
			more = "; nor does it report any on the base: use a runner that reports, or a command as the check"
		}
		m.against(CodeReportMissing, "", "ended with no report of its tests: %s%s", summary(m.after), more)
		return
	case m.contradicts():
		return
	case m.out.After.Total == 0:
		m.against(CodeNoTests, "", "ran no test")
		return
	}
	if len(m.after.TestCases) == 0 {
		m.byCount()
		return
	}
	m.byName()
	m.unnamed()
}

// counts are a report's, else those of its tests; nil where it has neither.
func counts(r *runner.Report) *runner.TestResults {
	if r.TestCounts != nil {
		c := *r.TestCounts
		return &c
	}
	if len(r.TestCases) == 0 {
		return nil
	}
	c := tally(r.TestCases)
	return &c
}

func tally(cases []runner.TestCase) runner.TestResults {
	var c runner.TestResults
	for _, t := range cases {
		c.Total++
		switch t.Status {
		case runner.CasePassed:
			c.Passed++
		case runner.CaseSkipped:
			c.Skipped++
		default:
			c.Failed++
		}
	}
	return c
}

// contradicts refuses a report whose counts and tests cannot both be true. Tools count in their own ways (subtests, suites),
// so what is asked is that the change counts as the base did.
func (m *comparer) contradicts() bool {
	c, cases := m.after.TestCounts, m.after.TestCases
	if c == nil {
		return false
	}
	found := len(m.grounds)
	if c.Total < 0 || c.Passed < 0 || c.Failed < 0 || c.Skipped < 0 || c.Passed+c.Failed+c.Skipped > c.Total {
		m.against(CodeReportContradicts, "", "reports %d tests of which %d passed, %d failed and %d were skipped", c.Total, c.Passed, c.Failed, c.Skipped)
	}
	named := tally(cases)
	if len(cases) > 0 && c.Failed == 0 && named.Failed > 0 {
		m.against(CodeReportContradicts, "", "counts no failure and names %d failed tests", named.Failed)
	}
	if m.comparable() && m.base.TestCounts != nil && len(m.base.TestCases) > 0 && m.base.TestCounts.Total == len(m.base.TestCases) &&
		len(cases) > 0 && c.Total != len(cases) && c.Partial == "" {
		m.against(CodeReportContradicts, "", "counts %d tests and names %d; on the base the two were the same", c.Total, len(cases))
	}
	return len(m.grounds) > found
}

// byCount compares where there are no names. What the base had by name must not be gone as names.
func (m *comparer) byCount() {
	a := m.out.After
	was := m.base
	if !m.comparable() && m.pinned != nil {
		was = m.pinned
	}
	b := &runner.TestResults{}
	if was != nil && (was == m.pinned || m.comparable()) {
		if len(was.TestCases) > 0 {
			m.against(CodeReportMissing, "", "names no test, and on the base it named %d", len(was.TestCases))
			return
		}
		b = cmp.Or(counts(was), b)
	}
	if a.Total < b.Total {
		m.against(CodeTestsShrank, "", "ran %d tests, and %d on the base", a.Total, b.Total)
	}
	if more := a.Failed - b.Failed; more > 0 {
		m.against(CodeTestsNewlyFailing, "", "%d more tests fail than on the base", more)
	}
	if a.Skipped > b.Skipped && a.Passed < b.Passed {
		m.against(CodeTestsNewlySkipped, "", "%d more tests are skipped than on the base, and %d fewer pass", a.Skipped-b.Skipped, b.Passed-a.Passed)
	}
	if a.Failed > 0 && a.Failed <= b.Failed {
		require := m.requires()
		m.tell(require == nil && a.Failed == b.Failed || require != nil && *require, CodeTestsStillFailing, "", "%d tests fail as on the base", a.Failed)
	}
	if a.Failed == 0 && m.after.Status == runner.StatusFailed {
		m.against(CodeCheckFailed, "", "failed: %s", summary(m.after))
	}
}

// byName compares test by test.
func (m *comparer) byName() {
	before, now := map[string]runner.TestCase{}, index(m.after.TestCases)
	if m.comparable() {
		before = index(m.base.TestCases)
	}
	m.alike, m.taken = map[string]bool{}, map[string]bool{}
	if m.pinned != nil {
		for id, t := range index(m.pinned.TestCases) {
			if _, ok := before[id]; !ok {
				before[id], m.alike[id] = t, true
			}
		}
	}
	var still []string
	for _, id := range sorted(now) {
		b, known := before[id]
		t, old := now[id], b.Status
		switch {
		case m.unstable[id]:
			m.list(&m.out.Unstable, "unstable", id)
			if t.Status == runner.CaseFailed {
				m.note(CodeTestsUnstable, id, "%s fails, and two runs on the base do not agree on it", id)
			}
		case !known:
			m.list(&m.out.New, "new", id)
			if t.Status == runner.CaseFailed {
				m.list(&m.out.NewlyFailing, "newly_failing", id)
				m.against(CodeTestsNewlyFailing, id, "%s fails, and the base does not have it%s", id, because(t))
			}
		case t.Status == runner.CaseFailed && old == runner.CaseFailed:
			m.list(&m.out.StillFailing, "still_failing", id)
			still = append(still, id)
		case t.Status == runner.CaseFailed:
			m.list(&m.out.NewlyFailing, "newly_failing", id)
			m.against(CodeTestsNewlyFailing, id, "%s fails, and %s %s%s", id, old, m.where(id), because(t))
		case t.Status == runner.CaseSkipped && old != runner.CaseSkipped:
			m.list(&m.out.NewlySkipped, "newly_skipped", id)
			m.tell(!m.allowed, CodeTestsNewlySkipped, id, "%s is skipped, and %s %s%s", id, old, m.where(id), because(t))
		case t.Status == runner.CasePassed && old == runner.CaseFailed:
			m.list(&m.out.Fixed, "fixed", id)
		}
	}
	m.gone(before, now)
	m.stillFailing(still, before, now)
}

// where says which run a test is held against.
func (m *comparer) where(id string) string {
	if m.alike[id] {
		return "with the tests of the base"
	}
	return "on the base"
}

// gone tells the tests that the base has and the change has not. A part of a test that failed, was skipped or is gone itself
// says nothing of its own.
func (m *comparer) gone(before, now map[string]runner.TestCase) {
	for _, id := range sorted(before) {
		if _, ok := now[id]; ok {
			continue
		}
		if i := strings.LastIndexByte(id, '/'); i > 0 {
			if parent, known := before[id[:i]]; known {
				if p, ok := now[id[:i]]; !ok || p.Status != runner.CasePassed && p.Status != parent.Status {
					continue
				}
			}
		}
		if m.unstable[id] {
			m.list(&m.out.Unstable, "unstable", id)
			continue
		}
		if standsIn(before[id]) && m.served(before[id].Suite, before) {
			m.list(&m.out.Fixed, "fixed", id)
			continue
		}
		if to := m.moved(before[id], before, now); to != "" {
			m.note(CodeTestsVanished, id, "%s is %s now, and it passes with the tests of the base", id, to)
			continue
		}
		m.list(&m.out.Vanished, "vanished", id)
		if unbuilt(before[id], now) {
			continue // what could not be built or loaded is told, and stands against the work
		}
		counted := before[id].Status != runner.CaseSkipped && !m.allowed
		m.tell(counted, CodeTestsVanished, id, "%s is gone, and %s %s", id, before[id].Status, m.where(id))
	}
}

// unbuilt reports whether a test is gone since what it stands in could not be built or loaded.
func unbuilt(t runner.TestCase, now map[string]runner.TestCase) bool {
	for _, s := range now {
		if standsIn(s) && (s.Suite == "" || s.Suite == t.Suite || s.Suite == t.File || strings.HasPrefix(t.Suite, s.Suite+" ") || strings.HasPrefix(t.Suite, s.Suite+".") || strings.HasPrefix(t.ID(), s.Suite+".")) {
			return true
		}
	}
	return false
}

// moved finds a test that is new, passes and has the name of one that is gone, or stands where that stood. Only where the one that is
// gone ran and passed with the tests of the base has it moved: then nothing was lost with it. A new test is taken for one that is gone
// at most.
func (m *comparer) moved(t runner.TestCase, before, now map[string]runner.TestCase) string {
	if m.pinned == nil || index(m.pinned.TestCases)[t.ID()].Status != runner.CasePassed {
		return ""
	}
	fresh := func(id string) bool {
		_, known := before[id]
		return !known && !m.taken[id] && now[id].Status == runner.CasePassed
	}
	for _, same := range []func(a, b runner.TestCase) bool{
		func(a, b runner.TestCase) bool { return ownName(a) == ownName(b) },
		func(a, b runner.TestCase) bool { return homeOf(a) != "" && homeOf(a) == homeOf(b) }, // under another name
	} {
		for _, id := range sorted(now) {
			if fresh(id) && same(now[id], t) {
				m.taken[id] = true
				return id
			}
		}
	}
	return ""
}

// homeOf is what a test stands in: its file, as far as reports of tests that pass tell it, or its package, class or module.
func homeOf(t runner.TestCase) string {
	return cmp.Or(t.Suite, t.File, strings.TrimSuffix(strings.TrimSuffix(t.Name, ownName(t)), "."))
}

// ownName is a test's name without what it stands in. unittest writes both in one: package.module.Class.test.
func ownName(t runner.TestCase) string {
	if t.Suite == "" && !strings.ContainsAny(t.Name, " /") {
		return t.Name[strings.LastIndexByte(t.Name, '.')+1:]
	}
	return t.Name
}

// standsIn reports whether a failure is no test, but stands for those that could not be built or loaded. Once they can be it
// is gone. Only a build that failed as a whole, as cargo's does, has no suite.
func standsIn(t runner.TestCase) bool {
	return t.Status == runner.CaseFailed && strings.HasPrefix(t.Name, "[") && strings.HasSuffix(t.Name, "]") && (t.Suite != "" || t.Name == "[build]")
}

// served reports whether tests pass in the place of one that stood in for them. Not every tool tells which file a test is of:
// then it is asked that a test passes that was not there.
func (m *comparer) served(suite string, before map[string]runner.TestCase) bool {
	ends := " :" // what a describe or a test is told behind
	if !strings.Contains(suite, "/") {
		ends += "." // a module of Python; behind a path it would be another package
	}
	fresh, told := false, false
	for _, t := range m.after.TestCases {
		id := t.ID()
		if id == suite { // the file ran and had no tests
			return false
		}
		told = told || t.Suite != ""
		if t.Status != runner.CasePassed || standsIn(t) {
			continue
		}
		if suite == "" { // it stood in for all of them
			return true
		}
		for _, name := range []string{t.Suite, t.File, id} {
			if rest, ok := strings.CutPrefix(name, suite); ok && (rest == "" || strings.ContainsRune(ends, rune(rest[0]))) {
				return true
			}
		}
		_, known := before[id]
		fresh = fresh || !known
	}
	return fresh && !told
}

// stillFailing judges the tests that failed before and fail now. One that stands beside a fixed one, in the same file, may belong
// to the same work, which a person can tell; one elsewhere is not the agent's. Tests that were laid over the tree ask for what is not
// there yet: they fail on the base because of that, and one that is fixed does not excuse another.
func (m *comparer) stillFailing(ids []string, before, now map[string]runner.TestCase) {
	require := m.requires()
	fixed := filesOf(m.out.Fixed, before)
	for _, id := range ids {
		counts, why := m.oldCounts(require), "as on the base"
		place := placeOf(now[id])
		switch {
		case require != nil:
		case counts && m.hides():
			why += ", and the check ended well now, which it did not there"
		case counts:
			why += ", and nothing was fixed"
		case place != "" && fixed[place]:
			counts, why = true, why+", and others in "+place+" were fixed: the work there may not be done"
		}
		m.tell(counts, CodeTestsStillFailing, id, "%s fails %s%s", id, why, because(now[id]))
		if require == nil && m.out.Counts["fixed"] > 0 && !m.hides() {
			m.grounds[len(m.grounds)-1].doubt = AskUnfinished
		}
	}
}

// requires is what the check says of old failures; nil: it says nothing.
func (m *comparer) requires() *bool {
	if m.check.RequirePass == nil && m.check.Files != "" {
		return new(true)
	}
	return m.check.RequirePass
}

// oldCounts reports whether old failures count wherever they are. A command that ended well on the base in spite of them may do so
// again. One that failed there and ends well now hides them.
func (m *comparer) oldCounts(require *bool) bool {
	switch {
	case require != nil:
		return *require
	case m.check.Capability == "" && m.after.Status == runner.StatusPassed:
		return m.hides()
	}
	return m.out.Counts["fixed"] == 0
}

// hides reports whether a command that failed on the base ends well now.
func (m *comparer) hides() bool {
	return m.check.Capability == "" && m.comparable() && m.base.Status == runner.StatusFailed && m.after.Status == runner.StatusPassed
}

// placeOf is the file that a test stands in, where a report tells it. Tests inside the sources of a crate have the file of the whole
// crate, and their module tells more.
func placeOf(t runner.TestCase) string {
	if i := strings.LastIndex(t.Name, "::"); i > 0 && strings.HasSuffix(t.File, ".rs") {
		return t.File + "::" + t.Name[:i]
	}
	if t.Suite == "" && t.File == "" {
		return strings.TrimSuffix(strings.TrimSuffix(t.Name, ownName(t)), ".")
	}
	return t.File
}

// filesOf is where tests stand, as far as a report tells it.
func filesOf(ids []string, cases map[string]runner.TestCase) map[string]bool {
	out := map[string]bool{}
	for _, id := range ids {
		out[placeOf(cases[id])] = true
	}
	return out
}

// unnamed is a failure that no test has: a package that does not build, a leak that is found after the last test.
func (m *comparer) unnamed() {
	if m.after.Status != runner.StatusFailed || tally(m.after.TestCases).Failed > 0 {
		return
	}
	old := m.comparable() && m.base.Status == runner.StatusFailed && tally(m.base.TestCases).Failed == 0
	m.tell(!old || m.check.RequirePass == nil || *m.check.RequirePass, CodeCheckFailed, "", "failed, and no test did: %s", summary(m.after))
}

// index finds tests by id. Of several with one id the worst counts.
func index(cases []runner.TestCase) map[string]runner.TestCase {
	worse := []string{runner.CasePassed, runner.CaseSkipped, runner.CaseFailed}
	out := make(map[string]runner.TestCase, len(cases))
	for _, c := range cases {
		if !slices.Contains(worse, c.Status) {
			c.Status = runner.CaseFailed
		}
		if have, ok := out[c.ID()]; !ok || slices.Index(worse, c.Status) > slices.Index(worse, have.Status) {
			out[c.ID()] = c
		}
	}
	return out
}

// because is what a test says of itself. The compiler of Go begins with the package, which is named already.
func because(t runner.TestCase) string {
	for line := range strings.Lines(t.Message) {
		if s := oneLine(line); s != "" && !strings.HasPrefix(s, "# ") {
			return ": " + s
		}
	}
	return ""
}

// disagree names the tests on which two runs of one tree do not agree.
func disagree(a, b *runner.Report) []string {
	if a == nil || b == nil {
		return nil
	}
	first, second := index(a.TestCases), index(b.TestCases)
	odd := map[string]bool{}
	for id, t := range first {
		if second[id].Status != t.Status {
			odd[id] = true
		}
	}
	for id := range second {
		if _, ok := first[id]; !ok {
			odd[id] = true
		}
	}
	return sorted(odd)
}
