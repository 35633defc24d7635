// Package runner holds the wire records of the extension runner: the sidecar files that a script writes, and the report
// that `deed lint`, `deed test` and `deed build` answer with. The names are those of the runner contract. It owns the
// names and the rules that a single record can break; it does no I/O.
package runner

// The capabilities that an extension can have. Audit is deed's own and has no script.
const (
	Lint  = "lint"
	Test  = "test"
	Build = "build"
	Audit = "audit"
)

// Capabilities lists every capability.
var Capabilities = []string{Lint, Test, Build, Audit}

// The phases of a verification, in the order in which they are worth running.
const (
	PhaseSyntax    = "syntax"
	PhaseLint      = "lint"
	PhaseTypecheck = "typecheck"
	PhaseAudit     = "audit"
	PhaseTest      = "test"
	PhaseBuild     = "build"
)

// Phases lists every phase.
var Phases = []string{PhaseSyntax, PhaseLint, PhaseTypecheck, PhaseAudit, PhaseTest, PhaseBuild}

// The statuses of a phase and of a report.
const (
	StatusPassed  = "passed"
	StatusFailed  = "failed"  // findings: something to fix in the component
	StatusError   = "error"   // infrastructure: what was asked could not be told
	StatusSkipped = "skipped" // not applicable here, and said so
	StatusNotRun  = "not-run" // an earlier phase ended the sequence
)

// Statuses lists every status.
var Statuses = []string{StatusPassed, StatusFailed, StatusError, StatusSkipped, StatusNotRun}

// The categories of a failure.
const (
	CategoryFindings       = "findings"
	CategoryInfrastructure = "infrastructure"
)

// The statuses of one test.
const (
	CasePassed  = "passed"
	CaseFailed  = "failed"
	CaseSkipped = "skipped"
)

// CaseStatuses lists every status of a test.
var CaseStatuses = []string{CasePassed, CaseFailed, CaseSkipped}

// How sure a fixer or a detector is.
const (
	ConfidenceSafe     = "safe"     // applied without asking
	ConfidenceGuarded  = "guarded"  // applied, and kept only when the verification passes
	ConfidenceAdvisory = "advisory" // told, never applied
)

// Confidences lists every tier of a fix.
var Confidences = []string{ConfidenceSafe, ConfidenceGuarded, ConfidenceAdvisory}
