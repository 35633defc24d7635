package deed

import (
	"fmt"
	"slices"

	"github.com/deedrun/deed/contract/fault"
)

// A Verdict is the gate's decision on one completion attempt, with every reason.
type Verdict struct {
	Schema        string        `json:"schema"`
	Accepted      bool          `json:"accepted"`
	NoOp          bool          `json:"no_op"`                                                                   // accepted, and nothing was changed
	Grade         string        `json:"grade,omitempty" jsonschema:"enum=unchecked,enum=passing,enum=fixed"`     // of an accepted one: what the checks prove; absent before grades were given
	Observed      string        `json:"observed,omitempty" jsonschema:"enum=tests,enum=findings,enum=exit_code"` // what the grade rests on
	InputsTouched bool          `json:"inputs_touched,omitempty"`                                                // the change edits something that a check judges by
	Reasons       []Reason      `json:"reasons"`
	Notes         []Reason      `json:"notes,omitempty"` // seen, and not a ground for refusal
	Checks        []CheckResult `json:"checks"`
}

// A Reason is one ground for refusal: a code that programs read and a sentence that people read.
type Reason struct {
	Code    string `json:"code" jsonschema:"minLength=1,maxLength=512"`
	Message string `json:"message"`
	Path    string `json:"path,omitempty"`
	Check   string `json:"check,omitempty"`
}

// The grades of an accepted verdict, from the weakest.
const (
	GradeUnchecked = "unchecked" // no check ran: nothing is proven
	GradePassing   = "passing"   // the checks passed before and after: nothing broke, and nothing more is proven
	GradeFixed     = "fixed"     // a check failed before and passes now
)

// Grades lists every grade, from the weakest.
var Grades = []string{GradeUnchecked, GradePassing, GradeFixed}

// Proof says in one line what an accepted verdict proves; "" for a refusal, and for a verdict from before grades were given.
func (v Verdict) Proof() string {
	text := map[string]string{
		GradeUnchecked: "unchecked: no check ran, so nothing is proven",
		GradePassing:   "passing: the checks pass and nothing broke; no failure is proven fixed",
		GradeFixed:     "fixed: what failed before the change passes now",
	}[v.Grade]
	if text == "" {
		return ""
	}
	if v.Observed == ObservedExitCode {
		text += "; judged by exit code alone"
	}
	if v.InputsTouched {
		text += "; the change edits what judges it"
	}
	return text
}

// StrongestGrade is the highest of several; "" is none.
func StrongestGrade(grades ...string) string {
	best := ""
	for _, g := range grades {
		if !Reaches(best, g) {
			best = g
		}
	}
	return best
}

// What a result rests on.
const (
	ObservedTests    = "tests"     // tests by name
	ObservedFindings = "findings"  // findings of a linter
	ObservedExitCode = "exit_code" // the exit code alone
)

// Reaches reports whether a grade is at least another. Every grade is at least none.
func Reaches(grade, least string) bool {
	return slices.Index(Grades, grade) >= slices.Index(Grades, least)
}

// The statuses of a check.
const (
	CheckPassed  = "passed"
	CheckFailed  = "failed"
	CheckTimeout = "timeout"
	CheckError   = "error" // it could not be run
)

// CheckStatuses lists every status of a check.
var CheckStatuses = []string{CheckPassed, CheckFailed, CheckTimeout, CheckError}

// Validate returns every fault of the record: an accepted verdict has no reason against it and no check that did
// not pass, a refused one says why, and only an accepted one can be a no-op.
func (v Verdict) Validate() error {
	var l fault.List
	if v.Schema != SchemaVerdict {
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("%q is not the schema of this record", clip(v.Schema)), fmt.Sprintf("write %q", SchemaVerdict))
	}
	switch {
	case v.Accepted && len(v.Reasons) > 0:
		l.Add("$.accepted", fault.Conflict, "is true beside reasons for refusal", "one reason is enough to refuse")
	case !v.Accepted && len(v.Reasons) == 0:
		l.Add("$.reasons", fault.Conflict, "is empty and the verdict is a refusal", "a refusal says why")
	}
	if v.NoOp && !v.Accepted {
		l.Add("$.no_op", fault.Conflict, "is true and the verdict is a refusal", "only an accepted empty change is a no-op")
	}
	if v.Grade != "" {
		fault.OneOf(&l, "$.grade", v.Grade, Grades...)
		if !v.Accepted {
			l.Add("$.grade", fault.Conflict, "is set and the verdict is a refusal", "only accepted work has a grade")
		}
	}
	reasons(&l, "$.reasons", v.Reasons)
	reasons(&l, "$.notes", v.Notes)
	for i, c := range v.Checks {
		at := fault.Index("$.checks", i)
		l.Text(at+".name", c.Name)
		fault.OneOf(&l, at+".status", c.Status, CheckStatuses...)
		if v.Accepted && c.Status != CheckPassed && !c.Advisory {
			l.Add(at+".status", fault.Conflict, fmt.Sprintf("is %q and the verdict is accepted", clip(c.Status)), "every check that is not advisory must pass")
		}
		if c.DurationMS < 0 {
			l.Add(at+".duration_ms", fault.OutOfRange, fmt.Sprintf("%d is negative", c.DurationMS), "time does not run backwards")
		}
		for name, path := range map[string]string{"log": c.Log, "report": c.Report, "base_report": c.BaseReport, "pinned_report": c.PinnedReport} {
			l.OptionalRelativePath(at+"."+name, path)
		}
	}
	return l.Err()
}

func reasons(l *fault.List, at string, rs []Reason) {
	for i, r := range rs {
		l.Name(fault.Index(at, i)+".code", r.Code)
		l.Text(fault.Index(at, i)+".message", r.Message)
	}
}
