package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/engine/promote"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/store"
)

// maxOutcome bounds an outcome that is read from a file.
const maxOutcome = 64 << 20

func (a *app) promoteCmd() *cobra.Command {
	var (
		r              promote.Request
		gates, private []string
		isolation      string
	)
	c := &cobra.Command{
		Use: "promote BUNDLE|ATTEMPT|TASK|FANOUT|OUTCOME.json|RUN.json", Short: "Take an accepted result to a branch of a repository",
		Long: `Verify a result again and make one commit of its change on a branch: signature and digests, exactly one candidate
patch, every touched file as the agent found it, no path that leads out of the tree, a branch that is new. Then the checks of
the bundle run again on base and change, and after them --gate and --private-gate, each a line for the shell in a clean room
of its own; the first failure skips the rest. A --verifier gets the report on its standard input and answers
{"accepted": true or false, "reason": "..."}.

Of the repository only that branch is written, all at once and last: not the work tree, the index or HEAD, and no hook of it
runs. The same result promoted to the same branch again changes nothing. The commit names its evidence in trailers
(Deed-Attempt, Deed-Bundle, Deed-Verdict), and apply-audit.jsonl in the home has a line for every try but a dry run.`,
		Args: names("BUNDLE"),
		RunE: func(c *cobra.Command, args []string) error {
			if r.Branch == "" {
				return usage(errors.New("--branch is missing: name the branch that gets the commit"))
			}
			for _, g := range gates {
				r.Gates = append(r.Gates, promote.Gate{Command: g})
			}
			for _, g := range private {
				r.Gates = append(r.Gates, promote.Gate{Command: g, Private: true})
			}
			return a.promote(c.Context(), args[0], r, isolation)
		},
	}
	f := c.Flags()
	f.StringVar(&r.To, "to", ".", "`REPO` that gets the branch")
	f.StringVar(&r.Branch, "branch", "", "`NAME` of the branch")
	f.StringVar(&r.Base, "base", "", "commit, branch or tag that the change is to stand on (default: HEAD, which must be what the agent began with)")
	f.StringVar(&r.Patch, "patch", "", "`SHA256` of the patch that is meant, where there are several")
	f.StringArrayVar(&gates, "gate", nil, "`CMD` that must pass on the change; may be given several times")
	f.StringArrayVar(&private, "private-gate", nil, "`CMD` that must pass, of whose output nothing is told; may be given several times")
	f.DurationVar(&r.Timeout, "gate-timeout", promote.DefaultGateTimeout, "how long each gate may take")
	f.DurationVar(&r.Idle, "gate-idle", 0, "how long a gate may print nothing (default: as long as it likes)")
	f.BoolVar(&r.Unchecked, "skip-checks", false, "do not run the checks of the bundle again")
	f.StringVar(&isolation, "isolation", "", "`KIND` of containment of checks and gates (default: the bundle's)")
	f.StringVar(&r.Verifier, "verifier", "", "`CMD` that decides last, with the report on its standard input")
	f.DurationVar(&r.Patience, "verifier-timeout", promote.DefaultVerifierTimeout, "how long the verifier may take")
	f.StringArrayVar(&r.Allow, "allow-branch", nil, "protected branch that may be written; may be given several times")
	f.BoolVar(&r.Dirty, "allow-dirty", false, "promote although the repository has uncommitted work, which stays as it is")
	f.StringVar(&r.Push, "push", "", "`REMOTE`, a path or an address, that the branch is sent to")
	f.StringVar(&r.Message, "message", "", "message of the commit")
	f.BoolVar(&r.DryRun, "dry-run", false, "check everything, run no gate and change nothing")
	return c
}

func (a *app) promote(ctx context.Context, what string, r promote.Request, isolation string) (err error) {
	if r.To, err = filepath.Abs(r.To); err == nil {
		_, err = os.Stat(r.To)
	}
	if err != nil {
		return usage(fmt.Errorf("--to: %w", err))
	}
	if r.Bundles, r.Claims, err = a.candidates(ctx, what); err != nil {
		return err
	}
	if r.Keys, err = a.trusted(); err != nil {
		return err
	}
	r.By = a.operator()
	p := &promote.Promoter{Clock: clock.System, Redact: redact.New(redact.Secrets(a.environ)), Environ: a.environ, Home: home.At("")}
	if p.Dir, err = os.Getwd(); err != nil {
		return err
	}
	if !r.DryRun {
		if err := a.promoter(ctx, p, isolation); err != nil {
			return err
		}
	}
	rep, err := p.Promote(ctx, r)
	return a.showPromotion(rep, err)
}

// promoter gives a promoter what runs things.
func (a *app) promoter(ctx context.Context, p *promote.Promoter, isolation string) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	p.Home = a.h
	who, err := a.runner()
	if err != nil {
		return err
	}
	eng, err := a.engineOf(who, 1, func(attempt.Progress) {})
	if err != nil {
		return err
	}
	p.Rerun = eng.Runner.Rerun
	p.Supervisor = func(context.Context) (*proc.Supervisor, error) {
		return proc.IdleSupervisor(proc.Options{Exe: who.exe})
	}
	p.Recorded = func(ctx context.Context, dir string, v bundle.Verification, repository string) (attempt.Rerun, func(), error) {
		return a.rerunInput(ctx, dir, v, rerunFlags{source: repository, isolation: isolation})
	}
	p.Progress = func(gate, line string) { a.hint("%s: %s", clean(gate), clean(line)) }
	return nil
}

// candidates finds the bundles that an argument can mean: a directory, an outcome, an attempt, or the accepted attempts of
// a task.
func (a *app) candidates(ctx context.Context, what string) ([]string, []homeboy.Artifact, error) {
	if fi, err := os.Stat(what); err == nil && fi.IsDir() {
		return []string{what}, nil, nil
	} else if err == nil {
		text, err := plainfile.Read(what, maxOutcome)
		if err != nil {
			return nil, nil, usage(err)
		}
		dir, claims, err := promote.FromFile(text)
		if err != nil {
			return nil, nil, usage(fmt.Errorf("%s: %w", what, err))
		}
		return []string{dir}, claims, nil
	}
	if err := a.view(ctx); err != nil {
		return nil, nil, err
	}
	list := make([]store.Attempt, 1)
	at, err := a.st.Attempt(ctx, what)
	list[0] = at
	if errors.Is(err, store.ErrNotFound) {
		var t store.Task
		if t, err = a.st.Task(ctx, what); errors.Is(err, store.ErrNotFound) {
			return a.fanoutCandidate(ctx, what)
		}
		if err == nil {
			list, err = a.st.Attempts(ctx, t.Record.TaskID)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	var dirs []string
	for _, at := range list {
		var v deed.Verdict
		accepted := json.Unmarshal(at.Verdict, &v) == nil && v.Accepted
		if at.BundleDir != "" && (accepted || len(list) == 1) {
			dirs = append(dirs, filepath.Join(a.h.Root(), at.BundleDir))
		}
	}
	if len(dirs) == 0 {
		return nil, nil, &exitError{code: ExitNotDone, err: fmt.Errorf("%s has no accepted bundle: there is nothing to promote", what)}
	}
	return dirs, nil, nil
}

// fanoutCandidate finds the bundle that a fanout produced.
func (a *app) fanoutCandidate(ctx context.Context, what string) ([]string, []homeboy.Artifact, error) {
	f, err := a.st.Fanout(ctx, what)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil, usage(fmt.Errorf("%s is no bundle, no file, and no attempt, task or fanout of %s (deed task list and deed fanout list show them)", what, a.h.Root()))
	}
	if err != nil {
		return nil, nil, err
	}
	if f.Live() {
		return nil, nil, &exitError{code: ExitNotDone, err: fmt.Errorf("fanout %s is not over (deed fanout status %[1]s)", f.ID)}
	}
	var text bytes.Buffer
	if err := a.fanoutReader().Write(ctx, f.ID, &text); err != nil {
		return nil, nil, err
	}
	dir, claims, err := promote.FromFile(text.Bytes())
	if err != nil {
		return nil, nil, &exitError{code: ExitNotDone, err: fmt.Errorf("fanout %s: %w", f.ID, err)}
	}
	return []string{dir}, claims, nil
}

// showPromotion prints a report, or why there is none. As JSON a refusal is the one document too, and its exit code is 1.
func (a *app) showPromotion(rep homeboy.PromotionReport, err error) error {
	var refusal *promote.Refusal
	switch {
	case errors.As(err, &refusal):
		return a.showNotPromoted(rep, refusal)
	case errors.Is(err, workspace.ErrSource):
		return usage(fmt.Errorf("--to: %w (name a git repository with a commit, or make one: git init)", err))
	case err != nil && rep.Commit == "":
		return err
	}
	if a.json {
		if eerr := a.emit(rep); eerr != nil {
			return errors.Join(err, eerr)
		}
	} else {
		a.showPromoted(rep)
	}
	if err == nil && !rep.Status.Passed() {
		return errNotDone
	}
	return err
}

func (a *app) showNotPromoted(rep homeboy.PromotionReport, r *promote.Refusal) error {
	if !a.json {
		return &exitError{code: ExitNotDone, err: errors.New(cleanLines(r.Error()))}
	}
	if r.Candidates == nil {
		r.Candidates = []homeboy.PromotionCandidate{}
	}
	if err := a.emit(map[string]any{
		"schema": "deed/promotion-refusal/v1", "branch": rep.Branch, "repository": rep.Repository, "preflight": r.Preflight, "candidates": r.Candidates,
		"error": map[string]any{"code": r.Code(), "message": r.Error(), "reasons": r.Reasons},
	}); err != nil {
		return err
	}
	return errNotDone
}

func (a *app) showPromoted(rep homeboy.PromotionReport) {
	a.printf("%s %s\n", rep.Status, clean(rep.Branch))
	a.field("patch", rep.Candidate.SHA256)
	a.field("base", rep.Base.Commit)
	if rep.Commit != "" {
		a.field("commit", rep.Commit)
	}
	for _, f := range rep.Candidate.Files {
		a.printf("           %s\n", showPath(f))
	}
	for _, g := range rep.Gates {
		mark := a.color.Green("✓")
		if g.Status != homeboy.GateSucceeded && g.Status != homeboy.GateAcceptedInherited {
			mark = a.color.Red("✗")
		}
		a.printf("           %s %s: %s\n", mark, clean(g.ID), g.Status)
		if g.Status == homeboy.GateFailed && g.Tail != "" {
			a.printf("%s\n", cleanLines(g.Tail))
		}
	}
	if v := rep.Verifier; v != nil && !v.Accepted {
		a.printf("           %s verifier: %s: %s\n", a.color.Red("✗"), v.Termination, clean(v.Reason))
	}
	if p := rep.Push; p != nil {
		a.field("pushed", clean(p.Remote)+" "+clean(p.Ref))
	}
	switch {
	case rep.Status == homeboy.PromotionDryRun:
		a.hint("it could be promoted; nothing was changed")
	case rep.Reused:
		a.hint("the branch has this change already; nothing was changed")
	case rep.Status == homeboy.PromotionVerificationPending:
		a.hint("nothing was run on the change: the bundle has no checks, and no gate was given")
	}
}
