package runner

import (
	"encoding/json"
	"fmt"

	"github.com/deedrun/deed/contract/fault"
)

// SchemaReport is the id of Report.
const SchemaReport = "deed/check.report/v1"

// An Envelope is what stdout carries with --json: the report of a run, or the error that kept it from being one. A run
// that reported and did not pass has success false and data.
type Envelope[T any] struct {
	Success bool           `json:"success"`
	Data    *T             `json:"data,omitempty"`
	Error   *EnvelopeError `json:"error,omitempty"`
}

// An EnvelopeError says why there is no report.
type EnvelopeError struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details,omitempty"`
	Hints   []Hint          `json:"hints,omitempty"`
}

// A Hint says what to do next.
type Hint struct {
	Message string `json:"message"`
}

// A Report is what deed saw of one capability of one component.
type Report struct {
	Schema        string   `json:"schema"`
	Capability    string   `json:"capability" jsonschema:"enum=lint,enum=test,enum=build"`
	Component     string   `json:"component"`
	ComponentPath string   `json:"component_path,omitempty"`
	Extension     string   `json:"extension,omitempty"`        // the one that ran; absent: none has the capability
	ExtensionHash string   `json:"extension_digest,omitempty"` // of its files, so that a later run can be held against it
	Passed        bool     `json:"passed"`
	Status        string   `json:"status" jsonschema:"enum=passed,enum=failed,enum=error,enum=skipped,enum=not-run"`
	ExitCode      int      `json:"exit_code"`        // deed's own: 0, 1 or 3
	RunnerExit    *int     `json:"runner_exit_code"` // the script's; null: it did not run, or was killed
	DurationMS    int64    `json:"duration_ms"`
	Phase         Phase    `json:"phase"`
	Phases        []Phase  `json:"phases,omitempty"` // of a verification of several
	Failure       *Failure `json:"failure,omitempty"`

	Missing []Missing `json:"missing,omitempty"` // what the run needed and did not find, also where something else decided

	LintFindings []LintFinding `json:"lint_findings,omitempty"`
	Annotations  []Annotation  `json:"annotations,omitempty"`

	TestCounts  *TestResults  `json:"test_counts,omitempty"`
	TestCases   []TestCase    `json:"test_cases,omitempty"`
	FailedTests []FailedTest  `json:"failed_tests,omitempty"`
	Failures    []TestFailure `json:"test_failures,omitempty"`
	Scope       *TestScope    `json:"test_scope,omitempty"`
	Coverage    *CoverageView `json:"coverage,omitempty"`
	Analysis    *Analysis     `json:"analysis,omitempty"`
	Drift       *Drift        `json:"drift,omitempty"`

	Build *BuildView `json:"build,omitempty"`

	Baseline *BaselineComparison `json:"baseline_comparison,omitempty"`
	Autofix  *Autofix            `json:"autofix,omitempty"`
	Summary  *Summary            `json:"summary,omitempty"`

	Hooks     []HookResult `json:"hooks,omitempty"`
	Steps     []string     `json:"steps,omitempty"` // those that the script asked about and that ran
	Warnings  []string     `json:"warnings,omitempty"`
	Hints     []Hint       `json:"hints,omitempty"`
	RawOutput *RawOutput   `json:"raw_output,omitempty"`
	Log       string       `json:"log,omitempty"` // the file with the script's whole output
	Cached    bool         `json:"cached,omitempty"`
}

// Validate returns every fault of the record: a report that passed has no failure, one that did not says why, and the exit
// code is that of its status.
func (r Report) Validate() error {
	var l fault.List
	if r.Schema != SchemaReport {
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("%q is not the schema of this record", r.Schema), fmt.Sprintf("write %q", SchemaReport))
	}
	fault.OneOf(&l, "$.capability", r.Capability, Lint, Test, Build)
	fault.OneOf(&l, "$.status", r.Status, Statuses...)
	if good := r.Status == StatusPassed || r.Status == StatusSkipped; r.Passed != good {
		l.Add("$.passed", fault.Conflict, fmt.Sprintf("is %v and the status is %q", r.Passed, r.Status), "only what passed or was skipped has passed")
	}
	if r.Passed != (r.ExitCode == 0) {
		l.Add("$.exit_code", fault.Conflict, fmt.Sprintf("is %d and passed is %v", r.ExitCode, r.Passed), "0 is for what passed, 1 for findings, 3 for infrastructure")
	}
	if r.Passed == (r.Failure != nil) {
		l.Add("$.failure", fault.Conflict, fmt.Sprintf("does not go with passed %v", r.Passed), "say why a run did not pass, and nothing where it did")
	}
	for i, c := range r.TestCases {
		fault.OneOf(&l, fault.Index("$.test_cases", i)+".status", c.Status, CaseStatuses...)
	}
	return l.Err()
}

// A Phase is how one phase of a verification ended.
type Phase struct {
	Phase    string `json:"phase"`
	Status   string `json:"status"`
	ExitCode *int   `json:"exit_code"`
	Summary  string `json:"summary"`
}

// A FailedTest is a failure for people.
type FailedTest struct {
	Name     string `json:"name"`
	Detail   string `json:"detail,omitempty"`
	Location string `json:"location,omitempty"`
}

// A TestScope says which tests were selected.
type TestScope struct {
	Mode          string   `json:"mode"` // changed
	ChangedSince  string   `json:"changed_since"`
	SelectedCount int      `json:"selected_count"`
	SelectedFiles []string `json:"selected_files"`
}

// A CoverageView is what a report tells of the coverage.
type CoverageView struct {
	Lines          CoverageCount  `json:"lines"`
	Methods        CoverageCount  `json:"methods"`
	Min            *float64       `json:"min,omitempty"`         // asked for, of all lines
	ChangedMin     *float64       `json:"changed_min,omitempty"` // asked for, of the changed lines
	Changed        *CoverageCount `json:"changed_lines,omitempty"`
	UncoveredFiles []CoveredFile  `json:"uncovered_files,omitempty"` // less than half of the lines
	Format         string         `json:"format,omitempty"`
}

// An Analysis is `test --analyze`: the failures by what they have in common.
type Analysis struct {
	Component     string    `json:"component"`
	TotalFailures int       `json:"total_failures"`
	TotalTests    int       `json:"total_tests"`
	TotalPassed   int       `json:"total_passed"`
	Clusters      []Cluster `json:"clusters"`
	Hints         []string  `json:"hints,omitempty"`
}

// A Cluster is a group of failures with one cause.
type Cluster struct {
	ID            string   `json:"id"`
	Pattern       string   `json:"pattern"`
	Category      string   `json:"category"`
	Count         int      `json:"count"`
	AffectedFiles []string `json:"affected_files"`
	ExampleTests  []string `json:"example_tests"`
	SuggestedFix  string   `json:"suggested_fix,omitempty"`
}

// A Drift is `test --drift`: tests that still speak of what production code renamed or removed.
type Drift struct {
	Component            string             `json:"component"`
	Since                string             `json:"since"`
	ProductionChanges    []ProductionChange `json:"production_changes"`
	DriftedTests         []DriftedTest      `json:"drifted_tests"`
	TotalDriftedFiles    int                `json:"total_drifted_files"`
	TotalDriftReferences int                `json:"total_drift_references"`
	AutoFixable          int                `json:"auto_fixable"`
}

// A ProductionChange is a symbol that is not what it was.
type ProductionChange struct {
	ChangeType string `json:"change_type"`
	File       string `json:"file"`
	OldSymbol  string `json:"old_symbol"`
	NewSymbol  string `json:"new_symbol,omitempty"`
	Line       int    `json:"line"`
}

// A DriftedTest is one line of a test that names an old symbol.
type DriftedTest struct {
	TestFile    string `json:"test_file"`
	Line        int    `json:"line"`
	Content     string `json:"content"`
	ChangeIndex int    `json:"change_index"`
}

// A BuildView is what a build left behind.
type BuildView struct {
	Command   string         `json:"build_command"`
	Artifacts []Artifact     `json:"artifacts,omitempty"`
	Versions  []VersionFound `json:"version_targets,omitempty"`
}

// An Artifact is a file that a build made.
type Artifact struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// A VersionFound is the version that a version target names.
type VersionFound struct {
	File    string `json:"file"`
	Version string `json:"version,omitempty"`
	Fault   string `json:"fault,omitempty"`
}

// A BaselineComparison holds a run against the saved baseline.
type BaselineComparison struct {
	Introduced    []BaselineItem `json:"new_items"`
	Resolved      []string       `json:"resolved_fingerprints"`
	Unchanged     int            `json:"unchanged"`
	Delta         int            `json:"delta"`
	DriftIncrease bool           `json:"drift_increased"`

	BaselineCounts *TestResults `json:"baseline,omitempty"` // of tests
	CurrentCounts  *TestResults `json:"current,omitempty"`
	PassedDelta    int          `json:"passed_delta,omitempty"`
	FailedDelta    int          `json:"failed_delta,omitempty"`
	Regression     bool         `json:"regression,omitempty"`
	Reasons        []string     `json:"reasons,omitempty"`
	Saved          bool         `json:"saved,omitempty"` // the baseline was written
}

// A BaselineItem is one thing that the baseline does not have.
type BaselineItem struct {
	Fingerprint  string `json:"fingerprint"`
	Description  string `json:"description"`
	ContextLabel string `json:"context_label,omitempty"`
}

// An Autofix says what fixers did.
type Autofix struct {
	FilesModified    int         `json:"files_modified"`
	RerunRecommended bool        `json:"rerun_recommended"`
	ChangedFiles     []string    `json:"changed_files"`
	Summary          FixSummary  `json:"fix_summary"`
	Fixes            []FixResult `json:"fixes,omitempty"`
	Advice           []FixResult `json:"advice,omitempty"`   // advisory fixes: told, never applied
	Planned          bool        `json:"planned,omitempty"`  // what would be done; every file is as it was
	Reverted         bool        `json:"reverted,omitempty"` // it was not kept, and every file is as it was
	Reason           string      `json:"reason,omitempty"`   // why it was not
	Verification     []Phase     `json:"verification,omitempty"`
}

// A FixSummary counts what fixers did.
type FixSummary struct {
	FixesApplied  int         `json:"fixes_applied"`
	FilesModified int         `json:"files_modified"`
	Rules         []RuleCount `json:"rules"`
	Primitives    []string    `json:"primitives,omitempty"`
}

// A RuleCount is how often a rule was applied.
type RuleCount struct {
	Rule  string `json:"rule"`
	Count int    `json:"count"`
}

// SchemaVerification is the id of Verification.
const SchemaVerification = "deed/check.verification/v1"

// A Verification is `deed check`: every phase of a component, in order.
type Verification struct {
	Schema        string          `json:"schema"`
	Component     string          `json:"component"`
	ComponentPath string          `json:"component_path,omitempty"`
	Passed        bool            `json:"passed"`
	Status        string          `json:"status" jsonschema:"enum=passed,enum=failed,enum=error,enum=skipped,enum=not-run"`
	ExitCode      int             `json:"exit_code"` // the worst of the phases: 0, 1 or 3
	DurationMS    int64           `json:"duration_ms"`
	Phases        []VerifiedPhase `json:"phases"`
}

// Validate returns every fault of the record: it passed exactly when no phase failed, and its exit code is that of the worst.
func (v Verification) Validate() error {
	var l fault.List
	if v.Schema != SchemaVerification {
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("%q is not the schema of this record", v.Schema), fmt.Sprintf("write %q", SchemaVerification))
	}
	fault.OneOf(&l, "$.status", v.Status, Statuses...)
	code := 0
	for i, p := range v.Phases {
		at := fault.Index("$.phases", i)
		fault.OneOf(&l, at+".phase", p.Phase, Phases...)
		fault.OneOf(&l, at+".status", p.Status, Statuses...)
		switch p.Status {
		case StatusFailed:
			code = max(code, 1)
		case StatusError:
			code = max(code, 3)
		}
	}
	if v.ExitCode != code {
		l.Add("$.exit_code", fault.Conflict, fmt.Sprintf("is %d and the phases make it %d", v.ExitCode, code), "1 is for findings, 3 for infrastructure, and the worst phase counts")
	}
	if v.Passed != (code == 0) {
		l.Add("$.passed", fault.Conflict, fmt.Sprintf("is %v and the phases make it %v", v.Passed, code == 0), "a verification passes when no phase failed")
	}
	return l.Err()
}

// A VerifiedPhase is one phase of a verification with what was seen in it.
type VerifiedPhase struct {
	Phase      string       `json:"phase" jsonschema:"enum=syntax,enum=lint,enum=typecheck,enum=audit,enum=test,enum=build"`
	Status     string       `json:"status" jsonschema:"enum=passed,enum=failed,enum=error,enum=skipped,enum=not-run"`
	ExitCode   *int         `json:"exit_code"`
	Summary    string       `json:"summary"`
	DurationMS int64        `json:"duration_ms"`
	Report     *Report      `json:"report,omitempty"`
	Audit      *AuditReport `json:"audit,omitempty"`
}

// A Summary is the short form of a report.
type Summary struct {
	TotalFindings int            `json:"total_findings,omitempty"`
	Categories    map[string]int `json:"categories,omitempty"`
	TopFindings   []LintFinding  `json:"top_findings,omitempty"`
	Total         int            `json:"total,omitempty"`
	Passed        int            `json:"passed,omitempty"`
	Failed        int            `json:"failed,omitempty"`
	Skipped       int            `json:"skipped,omitempty"`
	Failures      []FailedTest   `json:"failures,omitempty"`
	ExitCode      int            `json:"exit_code"`
}

// A HookResult is what the hooks of one event did.
type HookResult struct {
	Event        string        `json:"event"`
	Commands     []HookCommand `json:"commands"`
	AllSucceeded bool          `json:"all_succeeded"`
}

// A HookCommand is one command of a hook.
type HookCommand struct {
	Command  string `json:"command"`
	Success  bool   `json:"success"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exit_code"`
}

// RawOutput is the end of a failed script's output.
type RawOutput struct {
	StdoutTail string `json:"stdout_tail"`
	StderrTail string `json:"stderr_tail"`
	Truncated  bool   `json:"truncated"`
}
