package homeboy

import (
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/deedrun/deed/contract/fault"
)

// SchemaPromotionReport is the schema id of what came of a promotion.
const SchemaPromotionReport = "homeboy/agent-task-promotion-report/v1"

// A PromotionStatus is what came of a promotion. A refusal has none: there is no report of it.
type PromotionStatus string

// The statuses of a promotion.
const (
	PromotionDryRun              PromotionStatus = "dry_run"                // it could be done; nothing was changed
	PromotionVerificationPending PromotionStatus = "verification_pending"   // nothing was run on the change; with a commit the branch has it all the same
	PromotionApplied             PromotionStatus = "applied"                // the branch has the change, and every gate let it pass
	PromotionGateFailed          PromotionStatus = "gate_failed"            // a gate did not; the branch is as it was
	PromotionVerifiedNoChanges   PromotionStatus = "verified_no_changes"    // there is nothing to apply, and every gate passed
	PromotionNoChangesGateFailed PromotionStatus = "no_changes_gate_failed" // there is nothing to apply, and a gate failed
	PromotionNoChanges           PromotionStatus = "no_changes"             // there is nothing to apply, and nothing was run
)

// PromotionStatuses lists every status of a promotion.
var PromotionStatuses = []PromotionStatus{
	PromotionDryRun, PromotionVerificationPending, PromotionApplied, PromotionGateFailed, PromotionVerifiedNoChanges,
	PromotionNoChangesGateFailed, PromotionNoChanges,
}

// The checks before anything is applied.
const (
	PreflightCleanWorktree   = "clean_worktree"          // the target has no uncommitted work
	PreflightProtectedBranch = "protected_branch"        // the branch is one that may be written
	PreflightApproval        = "approval_coverage"       // the patch changes what the change list names, all of it and nothing else
	PreflightDrift           = "snapshot_drift"          // every file is on the base as the agent found it
	PreflightConfinement     = "path_confinement"        // no path leads out of the tree or into git's own files
	PreflightStaged          = "staged_file_expectation" // the patch gives each file the content that was recorded
)

// PreflightChecks lists the checks in their order.
var PreflightChecks = []string{PreflightCleanWorktree, PreflightProtectedBranch, PreflightApproval, PreflightDrift, PreflightConfinement, PreflightStaged}

// The statuses of a check before the apply.
const (
	PreflightPassed  = "passed"
	PreflightFailed  = "failed"
	PreflightSkipped = "skipped" // not applicable, or not reached
)

// The words of a gate.
const (
	GateVisible = "visible"
	GatePrivate = "private" // of its output only size and hash are told

	GateSucceeded         = "succeeded"
	GateFailed            = "failed"
	GateSkipped           = "skipped"                    // one before it failed
	GateAcceptedInherited = "accepted_inherited_failure" // it fails on the base as well

	GateCompleted  = "completed"
	GateCancelled  = "cancelled"
	GateTimedOut   = "timed_out"
	GateNoProgress = "no_progress" // it printed nothing for too long
)

// A PromotionReport is what came of taking a verified result to a branch.
type PromotionReport struct {
	Schema         string             `json:"schema" jsonschema:"minLength=1"`
	Status         PromotionStatus    `json:"status"`
	Candidate      PromotionCandidate `json:"candidate"`
	Base           PromotionBase      `json:"base"`
	Repository     string             `json:"repository,omitempty"`
	Branch         string             `json:"branch" jsonschema:"minLength=1,maxLength=512"`
	Commit         string             `json:"commit,omitempty"` // of the branch, when it has the change
	Reused         bool               `json:"reused,omitempty"` // the branch had this change before; nothing was written
	Preflight      []PromotionCheck   `json:"preflight"`
	Gates          []PromotionGate    `json:"gates"`
	Verifier       *PromotionVerifier `json:"verifier,omitempty"`
	Push           *PromotionPush     `json:"push,omitempty"`
	AuditReference string             `json:"audit_reference,omitempty"` // of the line in the audit log
	Extra          Extra              `json:"-"`
}

// A PromotionCandidate is the patch that was chosen, and what vouches for it.
type PromotionCandidate struct {
	Bundle    string   `json:"bundle" jsonschema:"minLength=1,maxLength=512"` // the bundle's id
	TaskID    string   `json:"task_id,omitempty"`
	AttemptID string   `json:"attempt_id,omitempty"`
	Verdict   string   `json:"verdict,omitempty"`
	KeyID     string   `json:"key_id,omitempty"`                           // whose signature counts
	SHA256    string   `json:"sha256" jsonschema:"pattern=^[0-9a-f]{64}$"` // of the patch
	SizeBytes int64    `json:"size_bytes" jsonschema:"minimum=0"`
	Files     []string `json:"files"`
	Extra     Extra    `json:"-"`
}

// A PromotionBase is what the change stands on.
type PromotionBase struct {
	Commit   string `json:"commit" jsonschema:"pattern=^[0-9a-f]{40}([0-9a-f]{24})?$"`
	Recorded string `json:"recorded,omitempty"` // the commit that the agent began with, as the bundle says
	Extra    Extra  `json:"-"`
}

// A PromotionCheck is one check before the apply.
type PromotionCheck struct {
	Check  string `json:"check" jsonschema:"minLength=1"`
	Status string `json:"status" jsonschema:"enum=passed,enum=failed,enum=skipped"`
	Detail string `json:"detail,omitempty"`
	Extra  Extra  `json:"-"`
}

// A PromotionGate is one command that had to pass on the change.
type PromotionGate struct {
	ID          string `json:"id" jsonschema:"minLength=1"`
	Visibility  string `json:"visibility" jsonschema:"enum=visible,enum=private"`
	Command     string `json:"command,omitempty"` // of a visible one
	Status      string `json:"status" jsonschema:"enum=succeeded,enum=failed,enum=skipped,enum=accepted_inherited_failure"`
	Termination string `json:"termination,omitempty" jsonschema:"enum=completed,enum=cancelled,enum=timed_out,enum=no_progress"` // of one that ran
	Recorded    bool   `json:"recorded,omitempty"`                                                                               // a check of the bundle, run again
	ExitCode    *int64 `json:"exit_code,omitempty"`
	Tail        string `json:"tail,omitempty"` // the last 64 KiB of its output
	Bytes       int64  `json:"bytes" jsonschema:"minimum=0"`
	SHA256      string `json:"sha256,omitempty" jsonschema:"pattern=^[0-9a-f]{64}$"` // of all its output
	Progress    string `json:"progress,omitempty"`
	DurationMS  int64  `json:"duration_ms" jsonschema:"minimum=0"`
	Extra       Extra  `json:"-"`
}

// A PromotionVerifier is the answer of an external verifier.
type PromotionVerifier struct {
	Accepted    bool   `json:"accepted"`
	Reason      string `json:"reason,omitempty"`
	Termination string `json:"termination" jsonschema:"enum=completed,enum=cancelled,enum=timed_out,enum=overflow,enum=malformed,enum=failed"`
	DurationMS  int64  `json:"duration_ms" jsonschema:"minimum=0"`
	Extra       Extra  `json:"-"`
}

// A PromotionPush is where the branch was sent.
type PromotionPush struct {
	Remote string `json:"remote"` // without credentials
	Ref    string `json:"ref"`
	Commit string `json:"commit"`
	Extra  Extra  `json:"-"`
}

var (
	objectID  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`) })
	sha256Hex = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })
)

// Passed reports whether the status says that nothing spoke against the change.
func (s PromotionStatus) Passed() bool {
	return s != PromotionGateFailed && s != PromotionNoChangesGateFailed
}

// Validate returns every fault of the report: above all, status, gates and commit must say the same.
func (p PromotionReport) Validate() error {
	var l fault.List
	ownSchema(&l, p.Schema, SchemaPromotionReport)
	fault.OneOf(&l, "$.status", p.Status, PromotionStatuses...)
	l.Name("$.branch", p.Branch)
	if !sha256Hex().MatchString(p.Candidate.SHA256) {
		l.Add("$.candidate.sha256", fault.BadFormat, fmt.Sprintf("%q is no SHA-256", clip(p.Candidate.SHA256)), "write 64 hexadecimal digits")
	}
	l.Name("$.candidate.bundle", p.Candidate.Bundle)
	if !objectID().MatchString(p.Base.Commit) {
		l.Add("$.base.commit", fault.BadFormat, fmt.Sprintf("%q is no commit", clip(p.Base.Commit)), "write its full id")
	}
	if p.Status != PromotionVerificationPending && (p.Status == PromotionApplied) != (p.Commit != "") {
		l.Add("$.commit", fault.Conflict, fmt.Sprintf("is %q and the status is %s", clip(p.Commit), p.Status), "a commit is there when the branch has the change")
	}
	p.validateChecks(&l)
	return l.Err()
}

func (p PromotionReport) validateChecks(l *fault.List) {
	for i, c := range p.Preflight {
		at := fault.Index("$.preflight", i)
		l.Name(at+".check", c.Check)
		fault.OneOf(l, at+".status", c.Status, PreflightPassed, PreflightFailed, PreflightSkipped)
		if c.Status == PreflightFailed {
			l.Add(at+".status", fault.Conflict, "is failed in a report", "refuse the promotion instead")
		}
	}
	failed := p.Verifier != nil && !p.Verifier.Accepted
	for i, g := range p.Gates {
		at := fault.Index("$.gates", i)
		l.Name(at+".id", g.ID)
		fault.OneOf(l, at+".visibility", g.Visibility, GateVisible, GatePrivate)
		fault.OneOf(l, at+".status", g.Status, GateSucceeded, GateFailed, GateSkipped, GateAcceptedInherited)
		if g.Termination != "" {
			fault.OneOf(l, at+".termination", g.Termination, GateCompleted, GateCancelled, GateTimedOut, GateNoProgress)
		}
		if g.Visibility == GatePrivate && (g.Command != "" || g.Tail != "" || g.Progress != "") {
			l.Add(at+".visibility", fault.Conflict, "is private, and the gate shows what it ran or printed", "leave command, tail and progress out")
		}
		if g.SHA256 != "" && !sha256Hex().MatchString(g.SHA256) {
			l.Add(at+".sha256", fault.BadFormat, fmt.Sprintf("%q is no SHA-256", clip(g.SHA256)), "write 64 hexadecimal digits")
		}
		failed = failed || g.Status == GateFailed
	}
	if failed && p.Status.Passed() {
		l.Add("$.status", fault.Conflict, fmt.Sprintf("is %s beside a failed gate", p.Status), "write gate_failed")
	}
	if !failed && slices.Contains(PromotionStatuses, p.Status) && !p.Status.Passed() {
		l.Add("$.status", fault.Conflict, fmt.Sprintf("is %s and no gate failed", p.Status), "write what came of it")
	}
}
