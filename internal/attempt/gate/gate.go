// Package gate owns the completion decision: it compares an agent's claim with what deed itself observed, and accepts
// or rejects the work with every reason. It runs outside the agent, on inputs pinned before the agent started. It
// changes nothing but the clean rooms that it creates.
//
// How work is judged. Decide runs all of these steps, and one reason from any of them rejects the work; a note never
// does:
//
//	claim, scope, leaks  the claimed and the actual changes agree, stay in scope, and hold no secret
//	artifacts, audit     declared artifacts exist, and the adapter's account matches what deed saw
//	runChecks            base plus patch is what the agent left; then every check runs in clean rooms
//	tests, Stop          a test ran if the task asks for one; the operator's stop policy agrees
//	grade                the checks prove at least what the task asks for
//	signs                a person looks at lines that could deceive the checks
//
// How one check is judged. An evaluation runs it on up to three trees: the base without the patch, the change with
// the inputs of the check restored from the base (pinned), and the change as the agent submitted it. compare matches
// the tests or findings of the changed trees with those of the base: what failed before is not held against the
// agent, what breaks or vanishes is. Witnesses, tests that deed adds, show whether the report can be believed. Where
// no run can tell whether a change is honest, a person is asked.
package gate

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/evidence/leak"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// The reason codes. Programs read them, so a code never changes its meaning.
const (
	CodeNoClaim            = "no_completion_claim"         // the agent did not say that it is done
	CodeClaimedNotChanged  = "claimed_not_changed"         // a file that it claims to have changed has its old content
	CodeChangedNotClaimed  = "changed_not_claimed"         // a file changed that it does not mention
	CodeEmptyChange        = "empty_change_set"            // nothing changed, and the task asks for a change
	CodeOutOfScope         = "out_of_scope"                // a change outside the write scope
	CodeProtectedPath      = "protected_path"              // a protected file changed
	CodePinnedInput        = "pinned_input_changed"        // the base or the pinned task is not what it was at the claim
	CodeLinkOutside        = "link_outside"                // a link that leads out of the workspace
	CodeUnrepresentable    = "unrepresentable_change"      // a change that no patch can carry
	CodePatchInapplicable  = "patch_not_applicable"        // base plus patch is not what the agent left behind
	CodeSecretInChange     = "secret_in_change"            // the change holds a secret's value
	CodeArtifactMissing    = "artifact_missing"            // a declared artifact does not exist
	CodeArtifactOutside    = "artifact_outside_root"       // a declared artifact is not inside the managed directory
	CodeArtifactInvalid    = "artifact_invalid"            // a declared artifact is not a regular file that can be kept, or breaks its schema
	CodeAuditMissing       = "adapter_audit_missing"       // the adapter's account is required and missing
	CodeAuditMismatch      = "adapter_audit_mismatch"      // the account contradicts what deed saw
	CodeCheckFailed        = "check_failed"                // a check ended with a non-zero exit
	CodeCheckTimeout       = "check_timeout"               // a check ran into its time limit
	CodeCheckError         = "check_error"                 // a check could not be run
	CodeNotApplicable      = "check_not_applicable"        // the project has nothing that provides the capability
	CodeInputsChanged      = "check_inputs_changed"        // an input of a check was changed, and the check's policy does not allow that
	CodeTestsNewlyFailing  = "tests_newly_failing"         // a test fails that did not fail on the base
	CodeTestsStillFailing  = "tests_still_failing"         // a test fails as it did on the base, and no failure of the base was fixed
	CodeTestsVanished      = "tests_vanished"              // a test of the base is gone
	CodeTestsNewlySkipped  = "tests_newly_skipped"         // a test is skipped that ran on the base
	CodeTestsShrank        = "tests_shrank"                // fewer tests ran than on the base
	CodeTestsUnstable      = "tests_unstable"              // note: two runs on the base disagree about a test
	CodeNoTests            = "no_tests"                    // no test ran
	CodeReportMissing      = "report_missing"              // no report has the tests, or their names
	CodeReportContradicts  = "report_contradicts"          // the counts and the tests of a report cannot both be true
	CodeWitness            = "witness_not_seen"            // deed's own test is not reported as it must be, so the report is not of this run
	CodeLintIntroduced     = "lint_introduced"             // a finding that the base does not have
	CodeOldFindings        = "lint_unchanged"              // findings that the base has too; a note unless require_pass
	CodeNeedsPerson        = "needs_person"                // no run can tell whether the change is honest: a person has to look
	CodeUnrun              = "program_not_run"             // a script that drove the check on the base did not run
	CodeSuspicious         = "suspicious_line"             // a line of the change could make checks pass without the work being done
	CodeGradeTooLow        = "grade_too_low"               // the checks prove less than the task asks for
	CodeStopPolicy         = "stop_policy"                 // a rule or a hook of the operator does not let the agent stop
	NoteRepositoryTouched  = "repository_metadata_changed" // commits, refs or the index changed; not part of the patch
	NoteNotCarried         = "not_carried_by_patch"        // an empty directory, permission bits or an owner
	NoteArtifactDropped    = "artifact_dropped"            // a link or a special file in the directory of artifacts
	NoteIgnoredFileChanged = "ignored_file_changed"        // a file that version control ignores changed
)

// Input is everything that a decision is based on.
type Input struct {
	Claim    *driver.Claim
	Spec     deed.TaskSpec // effective: the task's own fields merged with those of its type
	Evidence agentruntime.EvidenceRequirements

	View      View // what the agent sees, for the paths in its claims
	Changes   workspace.ChangeSet
	Base      *workspace.Base     // the first state, which no agent ever had access to
	Manifest  *workspace.Manifest // of the base, taken before the agent started
	After     *workspace.Manifest // of the agent's directory, taken after its last process ended
	Patch     string              // the patch file; the decision checks that it applies
	Rooms     string              // an empty directory with a name that the agent could not know: each check gets its rooms in it. Need not exist without checks
	SecretHit bool                // a secret's value is in the change
	Leaks     leak.Report         // secrets in the change that were not declared
	PinFault  string              // not empty: why what was pinned at the claim no longer matches
	ReadOnly  string              // not empty: why the workspace must not be changed at all

	Artifacts *os.Root    // the managed directory of artifacts, new with this attempt and opened before the agent ran
	Listed    Listing     // the contents of Artifacts
	Audit     *AuditFacts // what deed saw of the adapter's process; nil when there was none

	// Stop asks the operator's stop policy, after the checks: each reason that it returns counts against the work.
	// nil: there is no policy.
	Stop func(ctx context.Context) ([]string, error)

	Runner Runner    // runs the checks; nil: every check is an error
	Bases  []BaseRun // the result of each check on the base, where it is known already; see Bases

	// Ask asks a person whether the agent may have changed the inputs of a check. by says who answered, "nobody"
	// where there was no person to ask. nil: nobody can be asked, which is a no.
	Ask func(ctx context.Context, c deed.Check, q Question) (allowed bool, by string, err error)

	pin [sha256.Size]byte // of the patch that was proven

	Refused bool // there is a reason against the work already, so nobody is asked about the rest
}

// A Question is what a person is asked when no run can decide.
type Question struct {
	Changed    []deed.ChangedInput
	Failing    []string // what fails with the inputs of the base; nil where that was not run
	Optional   bool     // the check's policy does not ask for a person: one is asked only if present
	NoWorkDone bool     // only the inputs were changed, and without that change the check fails as it did before

	OnlySteering bool // nothing fails with the inputs of the base: the change only touches files that steer the check

	Kind AskKind // what it is about
}

// An AskKind says what a person is asked about.
type AskKind int

// The kinds.
const (
	AskInputs     AskKind = iota // Changed are inputs of the check
	AskSuspicious                // Changed are files with lines that could deceive the checks; Failing says what the lines do
	AskUnfinished                // Changed is the whole change; Failing are tests that still fail, though others that failed with them were fixed
	AskUnrun                     // Changed is the whole change; Failing are scripts that drove the check on the base and did not run now
)

// Decide examines everything and reports all reasons, not just the first. An error means that deed could not decide
// (the disk is full, say), never that the work is bad. The returned value is then no verdict: it only holds the
// checks that were reached, the last one as far as it ran.
func Decide(ctx context.Context, in Input) (deed.Verdict, error) {
	v := &verdict{}
	v.claim(in)
	v.scope(in)
	v.leaks(in.Leaks)
	v.artifacts(in)
	v.audit(in)
	if err := v.runChecks(ctx, in); err != nil {
		return deed.Verdict{Checks: v.checks}, err
	}
	v.tests(in)
	if in.Stop != nil {
		reasons, err := in.Stop(ctx)
		if err != nil {
			return deed.Verdict{Checks: v.checks}, err
		}
		for _, r := range reasons {
			v.reject(CodeStopPolicy, "", "%s", r)
		}
	}
	v.grade(in)
	if err := v.signs(ctx, in); err != nil {
		return deed.Verdict{Checks: v.checks}, err
	}
	return v.conclude(in), nil
}

// conclude builds the verdict from what was found.
func (v *verdict) conclude(in Input) deed.Verdict {
	out := deed.Verdict{
		Schema: deed.SchemaVerdict, Accepted: len(v.reasons) == 0, Reasons: bounded(v.reasons), Notes: bounded(v.notes), Checks: v.checks,
	}
	out.NoOp = out.Accepted && in.Changes.Empty()
	if out.Accepted {
		out.Grade, out.Observed = grade(v.checks)
		out.InputsTouched = slices.ContainsFunc(v.checks, func(c deed.CheckResult) bool { return len(c.ChangedInputs) > 0 })
	}
	if out.Reasons == nil {
		out.Reasons = []deed.Reason{}
	}
	if out.Checks == nil {
		out.Checks = []deed.CheckResult{}
	}
	return out
}

// grade compares what the checks prove with the grade that the task requires.
func (v *verdict) grade(in Input) {
	least := in.Spec.RequireGrade
	got, _ := grade(v.checks)
	if least == "" || len(v.reasons) > 0 || deed.Reaches(got, least) {
		return
	}
	how := map[string]string{
		deed.GradeUnchecked: "no check ran: give one with --check",
		deed.GradePassing:   "every check passed before the change as well: give one that fails without it",
	}[got]
	v.reject(CodeGradeTooLow, "", "the task asks for the grade %s and the work has %s: %s", least, got, how)
}

// grade returns the best grade that a counting (not advisory) check proves, and what that grade was observed by.
func grade(checks []deed.CheckResult) (grade, observed string) {
	grade = deed.GradeUnchecked
	for _, c := range checks {
		if !c.Advisory && c.Grade != "" && (grade == deed.GradeUnchecked || c.Grade != grade && deed.Reaches(c.Grade, grade) || c.Grade == grade && observed == deed.ObservedExitCode) {
			grade, observed = c.Grade, c.Observed
		}
	}
	return grade, observed
}

// Checks proves the patch and runs the checks as Decide does, and examines nothing else.
func Checks(ctx context.Context, in Input) (deed.Verdict, error) {
	v := &verdict{}
	if err := v.runChecks(ctx, in); err != nil {
		return deed.Verdict{}, err
	}
	return v.conclude(in), nil
}

type verdict struct {
	reasons []deed.Reason
	notes   []deed.Reason
	checks  []deed.CheckResult
}

// perCode bounds how often one code is listed: a hundred examples say as much as a hundred thousand.
const perCode = 100

// bounded keeps the first reasons of each code and counts the rest.
func bounded(list []deed.Reason) []deed.Reason {
	seen := map[string]int{}
	var out []deed.Reason
	for _, r := range list {
		if seen[r.Code]++; seen[r.Code] <= perCode {
			out = append(out, r)
		}
	}
	for _, code := range sorted(seen) {
		if n := seen[code] - perCode; n > 0 {
			out = append(out, deed.Reason{Code: code, Message: fmt.Sprintf("and %d more of these", n)})
		}
	}
	return out
}

func (v *verdict) reject(code, path, format string, a ...any) {
	v.reasons = append(v.reasons, deed.Reason{Code: code, Path: workspace.TextPath(path), Message: fmt.Sprintf(format, a...)})
}

func (v *verdict) note(code, path, format string, a ...any) {
	v.notes = append(v.notes, deed.Reason{Code: code, Path: workspace.TextPath(path), Message: fmt.Sprintf(format, a...)})
}

// claim compares the claimed file changes with the change set that deed computed.
func (v *verdict) claim(in Input) {
	if in.Claim == nil || in.Claim.Status != agentruntime.TaskCompleted {
		v.reject(CodeNoClaim, "", "the agent did not claim completion")
	}
	if in.PinFault != "" {
		v.reject(CodePinnedInput, "", "%s", in.PinFault)
	}
	// Every change may be claimed. Only those that the patch carries must be claimed, since builds leave files
	// behind.
	actual, carried := in.changed(), map[string]string{}
	for _, c := range in.Changes.Of(workspace.ClassTracked) {
		carried[c.Path] = string(c.Status)
	}
	claimed := map[string]bool{}
	if in.Claim != nil {
		claimed = in.named(in.Claim.FileChanges, actual)
	}
	for _, p := range sorted(claimed) {
		if actual[p] {
			continue
		}
		if in.Manifest.Find(p) != nil {
			v.reject(CodeClaimedNotChanged, p, "the agent claims to have changed %s, and its content is as it was before", quotePath(p))
		} else {
			v.reject(CodeClaimedNotChanged, p, "the agent claims to have changed %s, and there is no such change", quotePath(p))
		}
	}
	// An agent that lists files must list all of them. One that lists none has claimed nothing, which is rejected
	// only if the task requires the comparison.
	if len(claimed) > 0 || in.Evidence.RequireFileChangeVerification {
		for _, p := range sorted(carried) {
			if !claimed[p] {
				v.reject(CodeChangedNotClaimed, p, "%s was %s, and the agent does not mention it", quotePath(p), carried[p])
			}
		}
	}
	if in.Spec.RequireChanges != nil && *in.Spec.RequireChanges && in.Changes.Empty() {
		v.reject(CodeEmptyChange, "", "no file changed, and the task asks for a change")
	}
}

// scope checks every change against the write scope and the protected paths.
func (v *verdict) scope(in Input) {
	for _, c := range in.Changes.Changes {
		switch c.Class {
		case workspace.ClassGit:
			v.note(NoteRepositoryTouched, c.Path, "the repository metadata in %s changed; the patch does not carry it", quotePath(c.Path))
			continue
		case workspace.ClassIgnored:
			v.note(NoteIgnoredFileChanged, c.Path, "%s is ignored by version control; the patch does not carry it", quotePath(c.Path))
		case workspace.ClassUnrepresentable:
			if harmless[c.Reason] {
				v.note(NoteNotCarried, c.Path, "%s (%s) is not carried by the patch", quotePath(c.Path), c.Reason)
				continue
			}
			v.reject(CodeUnrepresentable, c.Path, "%s cannot be carried by a patch (%s)", quotePath(c.Path), c.Reason)
		}
		if c.After != nil && c.After.Kind == workspace.KindSymlink && c.Class == workspace.ClassTracked && workspace.LeavesTree(c.Path, c.After.Target) {
			v.reject(CodeLinkOutside, c.Path, "%s is a link to %s, outside the workspace", quotePath(c.Path), quotePath(c.After.Target))
		}
		if in.ReadOnly != "" {
			v.reject(CodeOutOfScope, c.Path, "%s was %s, and nothing may be: %s", quotePath(c.Path), c.Status, in.ReadOnly)
		}
		if len(in.Spec.WriteScope) > 0 && !matchAny(in.Spec.WriteScope, c.Path) {
			v.reject(CodeOutOfScope, c.Path, "%s was %s outside the write scope (%s)", quotePath(c.Path), c.Status, strings.Join(in.Spec.WriteScope, ", "))
		}
		if g, ok := matching(in.Spec.ProtectedPaths, c.Path); ok {
			v.reject(CodeProtectedPath, c.Path, "%s was %s and is protected by %q", quotePath(c.Path), c.Status, g)
		}
	}
	if in.SecretHit {
		v.reject(CodeSecretInChange, "", "the change holds the value of a secret; the stored patch is redacted and cannot be applied")
	}
}

// harmless are the differences that a patch does not carry and that change no content.
var harmless = map[workspace.Reason]bool{
	workspace.ReasonEmptyDirectory: true,
	workspace.ReasonModeBits:       true,
	workspace.ReasonOwnership:      true,
}

func matchAny(globs []string, path string) bool {
	_, ok := matching(globs, path)
	return ok
}

func matching(globs []string, path string) (string, bool) {
	for _, g := range globs {
		if workspace.Match(g, path) {
			return g, true
		}
	}
	return "", false
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
