// Package promote owns how a verified result gets onto a branch of a repository. It runs on the host only and trusts no one:
// the bundle is verified again, the patch is compared with the present base, the recorded checks and the caller's gates are
// run on base and patch in clean rooms, and an external verifier can be asked. It judges no work itself. In the repository
// it writes one branch and nothing else: never the work tree, the index or HEAD.
//
//	verify ─► choose ─► preflight ─► gates ─► verifier ─► commit on the branch ─► audit ─► push
//
// The branch is written last and in one step, only if it does not exist or still has the value that was checked, so that a
// kill at any moment leaves it either unchanged or complete. A kill also leaves temporary files in the home, which the sweep
// removes, and objects that nothing refers to.
package promote

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// Codes of the reasons for which nothing is promoted, in addition to those of package apply.
const (
	ReasonEmpty       = "empty_patch"          // there is no change, and the verdict does not say so
	ReasonAmbiguous   = "candidates_ambiguous" // several patches could be meant
	ReasonHash        = "patch_hash_mismatch"  // no candidate has the patch that was asked for
	ReasonBaseMoved   = "base_moved"           // the base is not what the agent began with
	ReasonBaseUnknown = "base_unknown"         // nothing says what the base is
	ReasonProtected   = "branch_protected"     // the branch is protected against accidental promotion
	ReasonBranchName  = "branch_ambiguous"     // the branch has a name that means another
	ReasonBranch      = "branch_exists"        // the branch has other work
	ReasonDirty       = "worktree_dirty"       // the target has uncommitted work
	ReasonLayout      = "several_workspaces"   // the patch is of more than one tree
)

// Limits of what gates and verifiers may take.
const (
	DefaultGateTimeout     = 10 * time.Minute
	DefaultVerifierTimeout = 2 * time.Minute
)

// A Gate is one command of the caller's that must pass on the change: a line for /bin/sh -c.
type Gate struct {
	Command string
	Private bool // its output is not reported
}

// A Request is one result for one branch.
type Request struct {
	Bundles   []string           // directories of the candidates
	Claims    []homeboy.Artifact // patches that an outcome names; one of them must be the candidate's
	Patch     string             // the SHA-256 of the patch that is meant; needed when there are several
	To        string             // the repository
	Branch    string
	Base      string   // a commit, branch or tag; "" is HEAD, and then it must be what the agent began with
	Allow     []string // names of protected branches that may be written
	Dirty     bool     // the target may have uncommitted work, which is not touched
	Message   string
	By        string
	Keys      []bundle.PublicKey // whose signature counts
	Gates     []Gate
	Unchecked bool          // do not run the checks of the bundle again
	Timeout   time.Duration // of each gate; 0 is DefaultGateTimeout
	Idle      time.Duration // how long a gate may print nothing; 0: as long as it likes
	Verifier  string        // a line for /bin/sh -c; "": there is none
	Patience  time.Duration // with the verifier; 0 is DefaultVerifierTimeout
	Push      string        // a remote, by path or address
	DryRun    bool
}

// A Promoter takes results to branches.
type Promoter struct {
	Home    *home.Home
	Clock   clock.Clock
	Redact  *redact.Redactor // of everything that is reported; it may be nil
	Environ []string         // the caller's: what git and the verifier need
	Dir     string           // where the verifier starts; absolute

	// Recorded reads from a verified bundle what its checks were. The returned function removes what was made for it.
	Recorded func(ctx context.Context, dir string, v bundle.Verification, repository string) (attempt.Rerun, func(), error)
	// Rerun runs checks on base and patch, as attempt.Runner does.
	Rerun func(ctx context.Context, sup *proc.Supervisor, in attempt.Rerun) (attempt.Repeated, error)
	// Supervisor starts what owns the processes of gates and of the verifier.
	Supervisor func(ctx context.Context) (*proc.Supervisor, error)
	// Progress gets the lines of progress that gates print; it may be nil.
	Progress func(gate, line string)
}

// A Refusal lists every reason for which nothing was changed, with what was looked at.
type Refusal struct {
	*apply.Refusal
	Preflight  []homeboy.PromotionCheck
	Candidates []homeboy.PromotionCandidate // where one must be chosen
}

// Unwrap lets errors.As find the reasons.
func (r *Refusal) Unwrap() error { return r.Refusal }

func refuse(code, path, format string, args ...any) *apply.Refusal {
	return &apply.Refusal{Reasons: []evidence.ApplyReason{{Code: code, Path: path, Message: fmt.Sprintf(format, args...)}}}
}

// Validate returns every fault of the request.
func (r Request) Validate() error {
	var l fault.List
	if len(r.Bundles) == 0 {
		l.Add("$.bundles", fault.MissingField, "names no candidate", "give a bundle, an attempt or a task")
	}
	l.Name("$.branch", r.Branch)
	if p := strings.ToLower(r.Patch); p != "" && (len(p) != 64 || strings.Trim(p, "0123456789abcdef") != "") {
		l.Add("$.patch", fault.BadFormat, fmt.Sprintf("%q is no SHA-256", r.Patch), "give its 64 hexadecimal digits")
	}
	for i, g := range r.Gates {
		if strings.TrimSpace(g.Command) == "" {
			l.Add(fault.Index("$.gates", i), fault.Blank, "is no command", "give a line for the shell, or leave it out")
		}
	}
	return l.Err()
}

// Promote takes a result to its branch. A *Refusal means that something is not as it must be; then, and when a gate fails,
// nothing of the repository was changed. Every call but a dry run leaves a line in the audit log.
func (p *Promoter) Promote(ctx context.Context, r Request) (homeboy.PromotionReport, error) {
	j := &job{Promoter: p, Request: r, report: homeboy.PromotionReport{
		Schema: homeboy.SchemaPromotionReport, Branch: r.Branch, Repository: r.To, Preflight: []homeboy.PromotionCheck{}, Gates: []homeboy.PromotionGate{},
	}}
	if err := r.Validate(); err != nil {
		return j.report, err
	}
	err := j.prepare()
	if err == nil {
		err = j.run(ctx)
		err = errors.Join(err, j.close())
	}
	var refusal *apply.Refusal
	if errors.As(err, &refusal) {
		err = &Refusal{Refusal: p.redacted(refusal), Preflight: j.report.Preflight, Candidates: j.rivals}
	}
	if r.DryRun {
		return j.report, err
	}
	if aerr := j.audit(err); aerr != nil {
		return j.report, errors.Join(err, aerr)
	}
	if err == nil && j.report.Commit != "" {
		crashpoint.Hit(crashpoint.PromoteAudited)
		err = j.push(ctx)
	}
	return j.report, err
}

func (p *Promoter) redacted(r *apply.Refusal) *apply.Refusal {
	out := &apply.Refusal{}
	for _, reason := range r.Reasons {
		reason.Message, reason.Path = p.Redact.String(reason.Message), p.Redact.String(reason.Path)
		out.Reasons = append(out.Reasons, reason)
	}
	return out
}

// A job is one promotion.
type job struct {
	*Promoter
	Request
	report homeboy.PromotionReport
	rivals []homeboy.PromotionCandidate

	dir     string // for everything that is made on the way
	release func() // of dir
	repo    string // the repository's directory
	offer   *apply.Offer
	files   []apply.File
	patch   string // the file with the patch
	noOp    bool   // the verdict says that nothing had to be changed
	old     string // what the branch is at, when it is moved on
	ran     bool   // something was run on the change
}

// prepare makes the place for what comes. A dry run leaves the home alone.
func (j *job) prepare() (err error) {
	if j.DryRun {
		j.dir, j.release, err = atomicfile.Scratch("promote")
	} else {
		j.dir, j.release, err = atomicfile.TempDir(j.Home.Tmp(), "promote-")
	}
	if err != nil {
		return fmt.Errorf("make a place for the promotion: %w", err)
	}
	j.repo, err = filepath.Abs(j.To)
	j.report.Repository = j.Redact.String(j.repo)
	return err
}

func (j *job) close() error {
	if j.offer != nil {
		j.offer.Close()
	}
	if j.release == nil {
		return nil
	}
	defer j.release()
	return workspace.Remove(j.dir)
}

func (j *job) run(ctx context.Context) error {
	if err := j.choose(); err != nil {
		return err
	}
	if err := j.preflight(ctx); err != nil {
		return err
	}
	if j.DryRun {
		j.report.Status, j.report.Commit = homeboy.PromotionDryRun, ""
		return nil
	}
	crashpoint.Hit(crashpoint.PromotePrepared)
	if j.report.Reused {
		j.report.Status = homeboy.PromotionApplied
		return nil
	}
	passed, err := j.verify(ctx)
	if err != nil {
		return err
	}
	j.report.Status = j.status(passed)
	if !passed || len(j.files) == 0 {
		return nil
	}
	crashpoint.Hit(crashpoint.PromoteGated)
	if err := j.commit(ctx); err != nil {
		return err
	}
	crashpoint.Hit(crashpoint.PromoteCommitted)
	return nil
}

// verify runs what must pass on the change, and asks the verifier last.
func (j *job) verify(ctx context.Context) (passed bool, err error) {
	if j.Unchecked && len(j.Gates) == 0 && j.Verifier == "" {
		return true, nil
	}
	sup, err := j.Supervisor(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, sup.Close()) }()
	if passed, err = j.gates(ctx, sup); err != nil || !passed || j.Verifier == "" {
		return passed, err
	}
	return j.ask(ctx, sup)
}

// status says how the promotion ends, before the branch is written.
func (j *job) status(passed bool) homeboy.PromotionStatus {
	switch none := len(j.files) == 0; {
	case none && !passed:
		return homeboy.PromotionNoChangesGateFailed
	case none && j.ran:
		return homeboy.PromotionVerifiedNoChanges
	case none:
		return homeboy.PromotionNoChanges
	case !passed:
		return homeboy.PromotionGateFailed
	case j.ran:
		return homeboy.PromotionApplied
	}
	return homeboy.PromotionVerificationPending
}
