package runner

import "encoding/json"

// TestResults is the file HOMEBOY_TEST_RESULTS_FILE.
type TestResults struct {
	Total   int    `json:"total"`
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Skipped int    `json:"skipped"`
	Partial string `json:"partial,omitempty"` // why the counts are incomplete
}

// A TestCase is one test by name, in the file DEED_TEST_CASES_FILE, which is deed's own sidecar: counts alone cannot
// tell which test is gone.
type TestCase struct {
	Suite      string  `json:"suite,omitempty"` // the package, class or file that it belongs to
	Name       string  `json:"name"`
	Status     string  `json:"status" jsonschema:"enum=passed,enum=failed,enum=skipped"`
	File       string  `json:"file,omitempty"`
	Line       int     `json:"line,omitempty"`
	DurationMS float64 `json:"duration_ms,omitempty"`
	Message    string  `json:"message,omitempty"` // of a failure, or why it was skipped
	Type       string  `json:"type,omitempty"`    // of a failure, as the tool names it
}

// ID names a test within its component.
func (c TestCase) ID() string {
	if c.Suite == "" {
		return c.Name
	}
	return c.Suite + "::" + c.Name
}

// A TestFailure is one item of HOMEBOY_TEST_FAILURES_FILE, which is an array of them or an object with `failures`.
type TestFailure struct {
	TestName   string `json:"test_name,omitempty"`
	TestFile   string `json:"test_file,omitempty"`
	ErrorType  string `json:"error_type,omitempty"`
	Message    string `json:"message,omitempty"`
	SourceFile string `json:"source_file,omitempty"`
	SourceLine int    `json:"source_line,omitempty"`
}

// A LintFinding is one item of HOMEBOY_LINT_FINDINGS_FILE. ID is the finding's identity for the ratchet as its tool
// gives it; Fingerprint is deed's second one, which survives moved lines.
type LintFinding struct {
	ID          string                     `json:"id,omitempty"`
	Message     string                     `json:"message"`
	Category    string                     `json:"category,omitempty"`
	Tool        string                     `json:"tool,omitempty"`
	Rule        string                     `json:"rule,omitempty"`
	File        string                     `json:"file,omitempty"` // below the component, slash-separated
	Line        int                        `json:"line,omitempty"`
	Column      int                        `json:"column,omitempty"`
	Severity    string                     `json:"severity,omitempty"`
	Fixable     bool                       `json:"fixable,omitempty"`
	Fingerprint string                     `json:"fingerprint,omitempty"`
	Known       bool                       `json:"known,omitempty"` // the baseline has it
	Extra       map[string]json.RawMessage `json:"-"`               // every other key that the tool wrote: told again as it came
}

// An Annotation is one item of a file in HOMEBOY_ANNOTATIONS_DIR.
type Annotation struct {
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Message  string `json:"message"`
	Source   string `json:"source,omitempty"` // absent: the stem of the file's name
	Severity string `json:"severity,omitempty"`
	Code     string `json:"code,omitempty"`
	Fixable  bool   `json:"fixable,omitempty"`
}

// A FixResult is one item of HOMEBOY_FIX_RESULTS_FILE, and of HOMEBOY_FIX_PLAN_FILE where it is what would be done.
type FixResult struct {
	File       string `json:"file"`
	Rule       string `json:"rule"`
	Action     string `json:"action,omitempty"`
	Primitive  string `json:"primitive,omitempty"`
	Confidence string `json:"confidence,omitempty"` // absent: guarded
}

// A Coverage is HOMEBOY_COVERAGE_FILE in the shape that every format is brought to.
type Coverage struct {
	Totals CoverageTotals `json:"totals"`
	Files  []CoveredFile  `json:"files"`
}

// CoverageTotals are the sums over all files.
type CoverageTotals struct {
	Lines   CoverageCount `json:"lines"`
	Methods CoverageCount `json:"methods"`
}

// A CoverageCount is how much of something was run.
type CoverageCount struct {
	Pct     float64 `json:"pct"`
	Total   int     `json:"total"`
	Covered int     `json:"covered"`
}

// A CoveredFile is one file of a coverage report. Hits, where the format has them, are by line.
type CoveredFile struct {
	File    string      `json:"file"`
	LinePct float64     `json:"line_pct"`
	Hits    map[int]int `json:"-"`
}
