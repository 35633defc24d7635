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

// A ground is one finding about a check: a reason against the work, or only a note.
type ground struct {
	code    string
	subject string // the test or the finding: two runs that report the same ground list it once
	message string
	note    bool
	ask     AskKind // the question by which a person can excuse it; notAsked: no one can
}

// A comparer compares the outcome of a check on the base with its outcome after the change. It does no I/O.
type comparer struct {
	check    deed.Check
	base     *runner.Report  // nil: nothing is known of the base
	pinned   *runner.Report  // the change with the tests of the base: it also shows tests that could not run on the base itself; nil: there is none
	after    *runner.Report  // never nil
	unstable map[string]bool // tests about which two runs on the base disagree: they prove nothing
	allowed  bool            // a person allowed the change of the inputs: tests that vanish with it are only noted

	taken      map[string]bool // new tests that were matched with a vanished one
	onlyPinned map[string]bool // tests known only from the pinned report
	out        deed.CheckComparison
	grounds    []ground
}

// compare reports what differs and every ground that follows from it.
//
// The rule: a test that fails and did not fail on the base counts against the work, and so does one that vanished or
// is skipped. A test that already failed on the base is not the agent's doing: it is noted, as long as some failure
// of the base was fixed. If none was, the work has not done what a failing test asks for. `require_pass: true` makes
// every failure count, false none of the old ones.
func compare(m comparer) (deed.CheckComparison, []ground) {
	c, after := m.check, m.after
	m.out.Counts = map[string]int{}
	switch {
	case after.Status == runner.StatusSkipped:
		m.reject(CodeNotApplicable, "", "there is nothing to run: %s", m.after.Phase.Summary)
	case after.Status == runner.StatusError:
		m.reject(CodeCheckError, "", "could not tell: %s", summary(after))
	case c.Capability == runner.Test, c.Capability == "":
		m.tests()
	case c.Capability == runner.Build:
		m.build()
	default:
		m.findings()
	}
	return m.out, m.grounds
}

func (m *comparer) reject(code, subject, format string, a ...any) {
	m.add(true, code, subject, format, a...)
}

func (m *comparer) note(code, subject, format string, a ...any) {
	m.add(false, code, subject, format, a...)
}

// addGrounds adds a ground. Names of tests come from the project and can be any text, so a message is cut to one line.
func (m *comparer) add(counts bool, code, subject, format string, a ...any) {
	m.grounds = append(m.grounds, ground{code: code, subject: subject, message: oneLine(fmt.Sprintf(format, a...)), note: !counts})
}

func summary(r *runner.Report) string {
	if r.Failure != nil && r.Failure.Summary != "" {
		return r.Failure.Summary
	}
	return cmp.Or(r.Phase.Summary, "its status is "+r.Status)
}

// comparable reports whether the base gave a result to compare the change with.
func (m *comparer) comparable() bool {
	return m.base != nil && (m.base.Status == runner.StatusPassed || m.base.Status == runner.StatusFailed)
}

// build compares only the status: a build reports nothing else.
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
	m.add(counts, CodeCheckFailed, "", "%s: %s", what, summary(m.after))
}

// findings compares the findings of linters by fingerprint, which survives moved lines.
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
		m.reject(CodeLintIntroduced, id, "%s", describeFinding(f))
	}
	for _, id := range sorted(known) {
		m.list(&m.out.Resolved, "resolved", id)
	}
	m.out.Counts["unchanged"] = stays
	require := m.check.RequirePass != nil && *m.check.RequirePass
	if stays > 0 {
		m.add(require, CodeOldFindings, "", "%d findings are as they were on the base", stays)
	}
	if len(m.after.LintFindings) == 0 && m.after.Status == runner.StatusFailed {
		old := m.comparable() && m.base.Status == runner.StatusFailed && len(m.base.LintFindings) == 0
		m.add(!old || require, CodeCheckFailed, "", "failed and named no finding: %s", summary(m.after))
	}
}

// identity is the key by which a finding is matched.
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

// oneLine returns the first line of a text, cut to fit a list.
func oneLine(s string) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
	if head, _, more := strings.Cut(s, "\n"); more {
		s = head
	}
	return truncate.Head(s, maxLine)
}

// list appends to a list of the comparison, up to a bound. The count has no bound.
func (m *comparer) list(to *[]string, name, item string) {
	if m.out.Counts[name]++; m.out.Counts[name] <= perCode {
		*to = append(*to, oneLine(item))
	}
}

// tests compares test results: by name if the report has names, else by count.
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
		m.reject(CodeReportMissing, "", "ended with no report of its tests: %s%s", summary(m.after), more)
		return
	case m.contradicts():
		return
	case m.out.After.Total == 0:
		m.reject(CodeNoTests, "", "ran no test")
		return
	}
	if len(m.after.TestCases) == 0 {
		m.byCount()
		return
	}
	m.byName()
	m.unnamed()
}

// counts returns the counts of a report, else those of its test cases; nil if it has neither.
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

// contradicts rejects a report whose counts and test cases cannot both be true. Tools count in their own ways
// (subtests, suites), so the change only has to count as the base did.
func (m *comparer) contradicts() bool {
	c, cases := m.after.TestCounts, m.after.TestCases
	if c == nil {
		return false
	}
	found := len(m.grounds)
	if c.Total < 0 || c.Passed < 0 || c.Failed < 0 || c.Skipped < 0 || c.Passed+c.Failed+c.Skipped > c.Total {
		m.reject(CodeReportContradicts, "", "reports %d tests of which %d passed, %d failed and %d were skipped", c.Total, c.Passed, c.Failed, c.Skipped)
	}
	named := tally(cases)
	if len(cases) > 0 && c.Failed == 0 && named.Failed > 0 {
		m.reject(CodeReportContradicts, "", "counts no failure and names %d failed tests", named.Failed)
	}
	if m.comparable() && m.base.TestCounts != nil && len(m.base.TestCases) > 0 && m.base.TestCounts.Total == len(m.base.TestCases) &&
		len(cases) > 0 && c.Total != len(cases) && c.Partial == "" {
		m.reject(CodeReportContradicts, "", "counts %d tests and names %d; on the base the two were the same", c.Total, len(cases))
	}
	return len(m.grounds) > found
}

// byCount compares the totals of a report without names. If the base named its tests, the change must name them too.
func (m *comparer) byCount() {
	a := m.out.After
	was := m.base
	if !m.comparable() && m.pinned != nil {
		was = m.pinned
	}
	b := &runner.TestResults{}
	if was != nil && (was == m.pinned || m.comparable()) {
		if len(was.TestCases) > 0 {
			m.reject(CodeReportMissing, "", "names no test, and on the base it named %d", len(was.TestCases))
			return
		}
		b = cmp.Or(counts(was), b)
	}
	if a.Total < b.Total {
		m.reject(CodeTestsShrank, "", "ran %d tests, and %d on the base", a.Total, b.Total)
	}
	if more := a.Failed - b.Failed; more > 0 {
		m.reject(CodeTestsNewlyFailing, "", "%d more tests fail than on the base", more)
	}
	if a.Skipped > b.Skipped && a.Passed < b.Passed {
		m.reject(CodeTestsNewlySkipped, "", "%d more tests are skipped than on the base, and %d fewer pass", a.Skipped-b.Skipped, b.Passed-a.Passed)
	}
	if a.Failed > 0 && a.Failed <= b.Failed {
		require := m.requires()
		m.add(require == nil && a.Failed == b.Failed || require != nil && *require, CodeTestsStillFailing, "", "%d tests fail as on the base", a.Failed)
	}
	if a.Failed == 0 && m.after.Status == runner.StatusFailed {
		m.reject(CodeCheckFailed, "", "failed: %s", summary(m.after))
	}
}

// byName compares test by test.
func (m *comparer) byName() {
	before, now := map[string]runner.TestCase{}, index(m.after.TestCases)
	if m.comparable() {
		before = index(m.base.TestCases)
	}
	m.onlyPinned, m.taken = map[string]bool{}, map[string]bool{}
	if m.pinned != nil {
		for id, t := range index(m.pinned.TestCases) {
			if _, ok := before[id]; !ok {
				before[id], m.onlyPinned[id] = t, true
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
				m.reject(CodeTestsNewlyFailing, id, "%s fails, and the base does not have it%s", id, because(t))
			}
		case t.Status == runner.CaseFailed && old == runner.CaseFailed:
			m.list(&m.out.StillFailing, "still_failing", id)
			still = append(still, id)
		case t.Status == runner.CaseFailed:
			m.list(&m.out.NewlyFailing, "newly_failing", id)
			m.reject(CodeTestsNewlyFailing, id, "%s fails, and %s %s%s", id, old, m.where(id), because(t))
		case t.Status == runner.CaseSkipped && old != runner.CaseSkipped:
			m.list(&m.out.NewlySkipped, "newly_skipped", id)
			m.add(!m.allowed, CodeTestsNewlySkipped, id, "%s is skipped, and %s %s%s", id, old, m.where(id), because(t))
		case t.Status == runner.CasePassed && old == runner.CaseFailed:
			m.list(&m.out.Fixed, "fixed", id)
		}
	}
	m.vanished(before, now)
	m.stillFailing(still, before, now)
}

// where says which run a test is compared with.
func (m *comparer) where(id string) string {
	if m.onlyPinned[id] {
		return "with the tests of the base"
	}
	return "on the base"
}

// vanished reports the tests that the base has and the change lacks. A subtest is not reported if its parent failed,
// was skipped or vanished itself.
func (m *comparer) vanished(before, now map[string]runner.TestCase) {
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
		if isPlaceholder(before[id]) && m.replaced(before[id].Suite, before) {
			m.list(&m.out.Fixed, "fixed", id)
			continue
		}
		if to := m.moved(before[id], before, now); to != "" {
			m.note(CodeTestsVanished, id, "%s is %s now, and it passes with the tests of the base", id, to)
			continue
		}
		m.list(&m.out.Vanished, "vanished", id)
		if unbuilt(before[id], now) {
			continue // the failed build or load is reported, and counts against the work
		}
		counted := before[id].Status != runner.CaseSkipped && !m.allowed
		m.add(counted, CodeTestsVanished, id, "%s is gone, and %s %s", id, before[id].Status, m.where(id))
	}
}

// unbuilt reports whether a test vanished because its package, file or suite could not be built or loaded.
func unbuilt(t runner.TestCase, now map[string]runner.TestCase) bool {
	for _, s := range now {
		if isPlaceholder(s) && (s.Suite == "" || s.Suite == t.Suite || s.Suite == t.File || strings.HasPrefix(t.Suite, s.Suite+" ") || strings.HasPrefix(t.Suite, s.Suite+".") || strings.HasPrefix(t.ID(), s.Suite+".")) {
			return true
		}
	}
	return false
}

// moved finds a new test that passes and has the name of a vanished one, or else is in the same file or suite. The
// vanished test counts as moved only if it ran and passed in the pinned tree: then nothing was lost with it. Each new
// test is matched with at most one vanished test.
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
		func(a, b runner.TestCase) bool { return containerOf(a) != "" && containerOf(a) == containerOf(b) }, // under another name
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

// containerOf returns what a test belongs to: its file, as far as reports of passing tests have it, or its package,
// class or module.
func containerOf(t runner.TestCase) string {
	return cmp.Or(t.Suite, t.File, strings.TrimSuffix(strings.TrimSuffix(t.Name, ownName(t)), "."))
}

// ownName returns a test's name without what it belongs to. unittest writes both as one: package.module.Class.test.
func ownName(t runner.TestCase) string {
	if t.Suite == "" && !strings.ContainsAny(t.Name, " /") {
		return t.Name[strings.LastIndexByte(t.Name, '.')+1:]
	}
	return t.Name
}

// isPlaceholder reports whether a failure is not a test but represents tests that could not be built or loaded. It
// disappears once they can be. Only a build that failed as a whole, as cargo's does, has no suite.
func isPlaceholder(t runner.TestCase) bool {
	return t.Status == runner.CaseFailed && strings.HasPrefix(t.Name, "[") && strings.HasSuffix(t.Name, "]") && (t.Suite != "" || t.Name == "[build]")
}

// replaced reports whether tests pass now where a placeholder failed before. Not every tool reports the file of a
// test; then it is enough that a test passes that did not exist before.
func (m *comparer) replaced(suite string, before map[string]runner.TestCase) bool {
	ends := " :" // what separates a suite from the name of a describe block or a test
	if !strings.Contains(suite, "/") {
		ends += "." // a module of Python; after a path it would be another package
	}
	fresh, suites := false, false
	for _, t := range m.after.TestCases {
		id := t.ID()
		if id == suite { // the file ran and had no tests
			return false
		}
		suites = suites || t.Suite != ""
		if t.Status != runner.CasePassed || isPlaceholder(t) {
			continue
		}
		if suite == "" { // the placeholder stood for all of them
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
	return fresh && !suites
}

// stillFailing judges the tests that failed on the base and fail now. One in the same file as a fixed one may belong
// to the same work, which only a person can tell. One elsewhere is not the agent's doing. If a check brings its own
// test files (check.Files), they ask for what does not exist yet and fail on the base because of that: a fixed one
// does not excuse another.
func (m *comparer) stillFailing(ids []string, before, now map[string]runner.TestCase) {
	require := m.requires()
	fixed := filesOf(m.out.Fixed, before)
	for _, id := range ids {
		counts, why := m.oldFailuresCount(require), "as on the base"
		place := placeOf(now[id])
		switch {
		case require != nil:
		case counts && m.hidesFailures():
			why += ", and the check ended well now, which it did not there"
		case counts:
			why += ", and nothing was fixed"
		case place != "" && fixed[place]:
			counts, why = true, why+", and others in "+place+" were fixed: the work there may not be done"
		}
		m.add(counts, CodeTestsStillFailing, id, "%s fails %s%s", id, why, because(now[id]))
		if require == nil && m.out.Counts["fixed"] > 0 && !m.hidesFailures() {
			m.grounds[len(m.grounds)-1].ask = AskUnfinished
		}
	}
}

// requires returns what the check demands of old failures; nil: nothing either way.
func (m *comparer) requires() *bool {
	if m.check.RequirePass == nil && m.check.Files != "" {
		return new(true)
	}
	return m.check.RequirePass
}

// oldFailuresCount reports whether old failures count in every file. A command that exited with 0 on the base in
// spite of them may do so again. One that failed there and exits with 0 now hides them.
func (m *comparer) oldFailuresCount(require *bool) bool {
	switch {
	case require != nil:
		return *require
	case m.check.Capability == "" && m.after.Status == runner.StatusPassed:
		return m.hidesFailures()
	}
	return m.out.Counts["fixed"] == 0
}

// hidesFailures reports whether a command that failed on the base exits with 0 now.
func (m *comparer) hidesFailures() bool {
	return m.check.Capability == "" && m.comparable() && m.base.Status == runner.StatusFailed && m.after.Status == runner.StatusPassed
}

// placeOf returns the file that a test is in, if the report has it. Unit tests inside the sources of a crate all have
// the file of the crate, so their module is added.
func placeOf(t runner.TestCase) string {
	if i := strings.LastIndex(t.Name, "::"); i > 0 && strings.HasSuffix(t.File, ".rs") {
		return t.File + "::" + t.Name[:i]
	}
	if t.Suite == "" && t.File == "" {
		return strings.TrimSuffix(strings.TrimSuffix(t.Name, ownName(t)), ".")
	}
	return t.File
}

// filesOf returns the files that tests are in, as far as the report has them.
func filesOf(ids []string, cases map[string]runner.TestCase) map[string]bool {
	out := map[string]bool{}
	for _, id := range ids {
		out[placeOf(cases[id])] = true
	}
	return out
}

// unnamed adds a failure that belongs to no test: a package that does not build, or a leak found after the last test.
func (m *comparer) unnamed() {
	if m.after.Status != runner.StatusFailed || tally(m.after.TestCases).Failed > 0 {
		return
	}
	old := m.comparable() && m.base.Status == runner.StatusFailed && tally(m.base.TestCases).Failed == 0
	m.add(!old || m.check.RequirePass == nil || *m.check.RequirePass, CodeCheckFailed, "", "failed, and no test did: %s", summary(m.after))
}

// index maps tests by id. Of several with the same id, the worst status counts.
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

// because returns the reason that a test gives for its status. The Go compiler starts with a line that names the
// package, which the message has already.
func because(t runner.TestCase) string {
	for line := range strings.Lines(t.Message) {
		if s := oneLine(line); s != "" && !strings.HasPrefix(s, "# ") {
			return ": " + s
		}
	}
	return ""
}

// disagree returns the tests about which two runs of the same tree disagree.
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
