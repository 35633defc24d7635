package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/isolate/redact"
)

func (a *app) applyCmd() *cobra.Command {
	var (
		r     apply.Request
		stage bool
		undo  string
	)
	c := &cobra.Command{
		Use: "apply BUNDLE | --undo ID", Short: "Apply an accepted bundle's patch to a directory, or take that back",
		Long: `Verify the bundle, check that every file it changes is in the directory as the agent found it, then apply the
patch: all of it, or nothing when anything is not as it should be. What was there before is kept in the home, so that
--undo ID takes the change back as long as nobody changed those files. A crash in the middle is taken back by the next
apply, or by --undo ID with the id that "deed cleanup" names; one that came when the change was whole is finished. Every attempt leaves a line in apply-audit.jsonl in the home.

--approve names the files to apply, as they are called or as the bundle's documents call them, and may be given several
times; without it all are. --stage applies nothing: it makes a required action, and "deed action answer ID approve"
applies.`,
		Args: func(_ *cobra.Command, args []string) error {
			if undo == "" {
				return names("BUNDLE")(nil, args)
			}
			return names()(nil, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if undo != "" {
				return a.undo(c.Context(), undo)
			}
			r.Bundle = args[0]
			for _, f := range r.Approve {
				if f == "" {
					return usage(errors.New("--approve is empty (leave it out to apply every file)"))
				}
			}
			if fi, err := os.Stat(r.To); err != nil {
				return usage(fmt.Errorf("--to: %w", err))
			} else if !fi.IsDir() {
				return usage(fmt.Errorf("--to: %s is not a directory", r.To))
			}
			if stage {
				return a.stage(c.Context(), r)
			}
			return a.apply(c.Context(), r)
		},
	}
	f := c.Flags()
	f.StringVar(&r.To, "to", ".", "directory to change")
	f.StringArrayVar(&r.Approve, "approve", nil, "apply this file of the change only; may be given several times")
	f.StringVar(&r.Workspace, "workspace", "", "target of the workspace to apply, when the bundle changes several")
	f.BoolVar(&r.DryRun, "dry-run", false, "check everything and change nothing")
	f.BoolVar(&r.Force, "force", false, "apply although no gate accepted the bundle, or it is not signed by a trusted key")
	f.BoolVar(&stage, "stage", false, "let it wait for a person: make a required action")
	f.StringVar(&undo, "undo", "", "take back the apply with this id")
	c.MarkFlagsMutuallyExclusive("stage", "dry-run", "undo")
	for _, other := range []string{"to", "approve", "workspace", "force"} {
		c.MarkFlagsMutuallyExclusive("undo", other)
	}
	return c
}

// applier opens the home, or only names it for what writes nothing.
func (a *app) applier(write bool) (*apply.Applier, error) {
	h := home.At("")
	root, err := home.Resolve(a.homeFlag, a.getenv)
	switch {
	case write:
		if h, err = a.makeHome(); err != nil {
			return nil, err
		}
	case err == nil:
		h = home.At(root)
	}
	return &apply.Applier{Home: h, Clock: clock.System, Redact: redact.New(redact.Secrets(a.environ))}, nil
}

func (a *app) apply(ctx context.Context, r apply.Request) error {
	ap, err := a.applier(!r.DryRun)
	if err != nil {
		return err
	}
	if r.Keys, err = a.trusted(); err != nil {
		return err
	}
	r.By = a.operator()
	res, err := ap.Apply(ctx, r)
	return a.showApply(res, err)
}

func (a *app) undo(ctx context.Context, id string) error {
	ap, err := a.applier(true)
	if err != nil {
		return err
	}
	res, err := ap.Undo(ctx, id, a.operator())
	return a.showApply(res, err)
}

// showApply prints a result. A refusal is a result too: as JSON it is the one document, and its exit code is 1.
func (a *app) showApply(res evidence.ApplyResult, err error) error {
	var refusal *apply.Refusal
	if err != nil && !errors.As(err, &refusal) {
		return err
	}
	if a.json {
		if eerr := a.emit(res); eerr != nil {
			return eerr
		}
		if err != nil {
			return errNotDone
		}
		return nil
	}
	for _, id := range res.Recovered {
		switch {
		case id == res.ApplyID && res.Status != evidence.ApplyUndone: // it is what the rest is about
		case res.RecoveredAs[id] == evidence.ApplyApplied:
			a.hint("apply %s had been cut short when it was whole; it was finished first", id)
		case res.RecoveredAs[id] == evidence.ApplyUndone:
			a.hint("the undo of apply %s had been cut short; it was finished first", id)
		default:
			a.hint("apply %s had been cut short; it was taken back first", id)
		}
	}
	if err != nil {
		return &exitError{code: ExitNotDone, err: errors.New(cleanLines(refusal.Error()))}
	}
	for _, f := range res.AppliedFiles {
		a.printf("%-8s %s\n", res.Status, showPath(f))
	}
	switch res.Status {
	case evidence.ApplyDryRun:
		a.hint("it would apply; nothing was changed")
	case evidence.ApplyNoOp:
		a.hint("the bundle changes nothing")
	case evidence.ApplyRolledBack:
		a.hint("apply %s had been cut short, and was taken back; every file is as it was", res.ApplyID)
	case evidence.ApplyApplied:
		if res.RecoveredAs[res.ApplyID] == evidence.ApplyApplied {
			a.hint("it was applied already: apply %s had been cut short when it was whole, and is finished", res.ApplyID)
		}
		a.hint("take it back with: deed apply --undo %s", res.ApplyID)
	}
	return nil
}

func (a *app) stage(ctx context.Context, r apply.Request) error {
	ap, err := a.applier(true)
	if err != nil {
		return err
	}
	if r.Keys, err = a.trusted(); err != nil {
		return err
	}
	r.By = a.operator()
	p, err := ap.Stage(ctx, r)
	var refusal *apply.Refusal
	switch {
	case errors.As(err, &refusal):
		return &exitError{code: ExitNotDone, err: errors.New(cleanLines(refusal.Error()))}
	case err != nil:
		return err
	case a.json:
		return a.emit(p)
	}
	for _, f := range p.Files {
		a.printf("%-8s %s\n", f.Status, showPath(f.Path))
	}
	a.printf("%s waits\n", p.ActionID)
	a.hint("decide with: deed action answer %s approve   (or reject)", p.ActionID)
	return nil
}
