package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/attempt/brief"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/store"
)

func (a *app) briefCmd() *cobra.Command {
	var prompt bool
	show := &cobra.Command{
		Use: "show TASK|ATTEMPT", Short: "Show what an agent was told, section by section, and what was left out", Args: names("TASK|ATTEMPT"),
		Long: `Show what an agent got to read before its first turn: the sections and their lengths, what was dropped or cut and why, the hash, the
replay grade and the variant. Of a task it is the brief of its newest attempt that has one; also while it runs.`,
		Example: "  deed brief show 019ad2c4\n  deed brief show 019ad2c4 --prompt\n  deed brief show 019ad2c4 --json",
		RunE: func(c *cobra.Command, args []string) error {
			f, err := a.findBrief(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.showBrief(f, prompt)
		},
	}
	show.Flags().BoolVar(&prompt, "prompt", false, "print the text that the agent read, and nothing else")
	diff := &cobra.Command{
		Use: "diff A B", Short: "Show what two agents were told differently; A and B are tasks or attempts", Args: names("A", "B"),
		Example: "  deed brief diff 019ad2c4 019ad2d7",
		RunE: func(c *cobra.Command, args []string) error {
			x, err := a.findBrief(c.Context(), args[0])
			if err != nil {
				return err
			}
			y, err := a.findBrief(c.Context(), args[1])
			if err != nil {
				return err
			}
			return a.diffBriefs(x, y)
		},
	}
	replay := &cobra.Command{
		Use: "replay ATTEMPT", Short: "Compile a brief again from its frozen inputs, and say whether it is the same", Args: names("ATTEMPT"),
		Long: `Compile a brief again from the inputs that its document froze, and compare the hash with the one on record. The exit code is 0 when
they are the same, 1 when not. Nothing runs and nothing is changed.`,
		Example: "  deed brief replay 019ad2c4",
		RunE: func(c *cobra.Command, args []string) error {
			f, err := a.findBrief(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.replayBrief(f)
		},
	}
	return group("brief", "Show what agents were told, compare it, and compile it again", show, diff, replay)
}

// A foundBrief is the brief of an attempt as it is kept.
type foundBrief struct {
	attempt  store.Attempt
	raw      []byte
	document brief.Document
	changed  bool // it is not what was hashed
	redacted bool // and that is because a secret was taken out of it: its bundle is as it was signed
}

// findBrief finds the brief of an attempt, or of a task's newest attempt that has one.
func (a *app) findBrief(ctx context.Context, id string) (foundBrief, error) {
	if err := a.view(ctx); err != nil {
		return foundBrief{}, err
	}
	at, err := a.st.Attempt(ctx, id)
	switch {
	case err == nil:
		return a.readBrief(at)
	case !errors.Is(err, store.ErrNotFound):
		return foundBrief{}, err
	}
	t, err := a.st.Task(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return foundBrief{}, usage(fmt.Errorf("no task and no attempt %s in %s (`deed task list` lists tasks)", id, a.h.Root()))
	}
	if err != nil {
		return foundBrief{}, err
	}
	list, err := a.st.Attempts(ctx, t.ID())
	if err != nil {
		return foundBrief{}, err
	}
	for _, at := range slices.Backward(list) {
		f, err := a.readBrief(at)
		if errors.Is(err, attempt.ErrNoBrief) {
			continue
		}
		return f, err
	}
	why := "it has not been tried yet"
	if len(list) > 0 {
		why = fmt.Sprintf("none of its %s came as far as a brief; `deed task show %s` says why", count(len(list), "attempt"), t.ID())
	}
	return foundBrief{}, usage(fmt.Errorf("task %s has no brief: %s", t.ID(), why))
}

// readBrief reads it where it is: in the attempt's directory while it runs or waits, in its bundle afterwards.
func (a *app) readBrief(at store.Attempt) (foundBrief, error) {
	f := foundBrief{attempt: at}
	if at.BriefHash == "" {
		return f, usage(fmt.Errorf("attempt %s: %w (it ended before one was compiled, or is not that far)", at.Record.AttemptID, attempt.ErrNoBrief))
	}
	raw, err := attempt.ReadBrief(a.h.Attempt(at.Record.AttemptID), attempt.BriefFile, at.BriefHash)
	if errors.Is(err, attempt.ErrNoBrief) && at.BundleDir != "" {
		raw, err = attempt.ReadBrief(filepath.Join(a.h.Root(), at.BundleDir), attempt.PathBrief, at.BriefHash)
	}
	switch {
	case errors.Is(err, attempt.ErrNoBrief):
		return f, usage(fmt.Errorf("attempt %s: %w any more: its bundle is gone", at.Record.AttemptID, err))
	case errors.Is(err, attempt.ErrOtherBrief):
		f.changed, f.redacted = true, a.asSigned(at)
	case err != nil:
		return f, err
	}
	f.raw = raw
	if f.document, err = brief.Read(raw); err != nil {
		return f, usage(fmt.Errorf("attempt %s: %w", at.Record.AttemptID, err))
	}
	return f, nil
}

// notice says what to think of a document that is not what was hashed.
func (f foundBrief) notice() string {
	switch {
	case !f.changed:
		return ""
	case f.redacted:
		return "a secret was redacted from the document when its bundle was written; the hash is of what the agent was told, and cannot be repeated without it"
	}
	return "the document is not what was hashed: it was changed since"
}

// asSigned reports whether the bundle of an attempt is what it was when it was signed.
func (a *app) asSigned(at store.Attempt) bool {
	if at.BundleDir == "" {
		return false
	}
	v, err := bundle.Verify(filepath.Join(a.h.Root(), at.BundleDir), bundle.VerifyOptions{})
	return err == nil && v.Valid
}

func (a *app) showBrief(f foundBrief, prompt bool) error {
	d := f.document
	switch {
	case prompt && a.json:
		return a.emit(map[string]string{"schema": "deed/brief.prompt/v1", "attempt_id": f.attempt.Record.AttemptID, "brief_hash": f.attempt.BriefHash, "prompt": d.Prompt})
	case prompt:
		a.printf("%s\n", strings.TrimSuffix(cleanLines(d.Prompt), "\n"))
		return nil
	case a.json:
		return a.emit(struct {
			Schema    string          `json:"schema"`
			AttemptID string          `json:"attempt_id"`
			TaskID    string          `json:"task_id"`
			Hash      string          `json:"brief_hash"`
			Intact    bool            `json:"intact"`
			Brief     json.RawMessage `json:"brief"`
		}{"deed/brief.show/v1", f.attempt.Record.AttemptID, f.attempt.Record.TaskID, f.attempt.BriefHash, !f.changed, f.raw})
	}
	a.field("attempt", a.color.Bold(f.attempt.Record.AttemptID))
	a.field("task", f.attempt.Record.TaskID)
	a.field("hash", f.attempt.BriefHash)
	a.field("changed", a.color.Red(f.notice()))
	a.field("profile", clean(d.Inputs.Profile.ProfileID))
	a.field("replay", d.Replay.Grade+": "+clean(strings.Join(d.Replay.Reasons, "; ")))
	a.field("variant", d.Variant.ID)
	for _, s := range d.Variant.Skills {
		a.field("skill", clean(s.ID+" "+s.Version))
	}
	a.field("agent def", d.Variant.AgentDefVersion)
	limit := d.Inputs.Profile.ContextPolicy.MaxPromptChars
	a.printf("\n%s of at most %d\n", count(len([]rune(d.Prompt)), "character"), limit)
	for _, s := range d.Sections {
		a.printf("  %7d  %s\n", s.Chars, clean(partName(s.Section, s.Name)))
	}
	if len(d.Dropped) == 0 {
		a.printf("\nnothing was left out\n")
	} else {
		a.printf("\nleft out, in this order\n")
	}
	for _, x := range d.Dropped {
		kept := "dropped"
		if x.Kept > 0 {
			kept = fmt.Sprintf("cut to %d", x.Kept)
		}
		a.printf("  %7d  %s: %s, %s\n", x.Chars, clean(partName(x.Section, x.Name)), kept, clean(x.Why))
	}
	a.hint("\nthe text:  deed brief show %s --prompt", f.attempt.Record.AttemptID)
	return nil
}

func partName(section, name string) string {
	if name == "" {
		return section
	}
	return section + ": " + name
}

func (a *app) diffBriefs(x, y foundBrief) error {
	d, err := brief.Compare(x.document, y.document)
	if err != nil {
		return err
	}
	if a.json {
		side := func(f foundBrief) map[string]any {
			return map[string]any{"attempt_id": f.attempt.Record.AttemptID, "task_id": f.attempt.Record.TaskID, "brief_hash": f.attempt.BriefHash, "variant_id": f.document.Variant.ID}
		}
		if err := a.emit(struct {
			Schema string         `json:"schema"`
			A      map[string]any `json:"a"`
			B      map[string]any `json:"b"`
			Same   bool           `json:"same"`
			brief.Difference
		}{"deed/brief.diff/v1", side(x), side(y), d.Same(), d}); err != nil {
			return err
		}
	} else {
		a.reportDifference(d)
	}
	if d.Same() {
		return nil
	}
	return errNotDone
}

// reportDifference prints what the agent reads first, then what else was put in.
func (a *app) reportDifference(d brief.Difference) {
	if d.Same() {
		a.printf("the same\n")
		return
	}
	for _, s := range d.Sections {
		a.printf("%s %s\n%s\n", a.color.Bold(s.Section), s.Change, strings.TrimSuffix(cleanLines(s.Diff), "\n"))
	}
	if len(d.Inputs) > 0 {
		a.printf("%s\n", a.color.Bold("inputs, and what follows from them"))
	}
	for _, i := range d.Inputs {
		a.printf("  %s  %s → %s\n", clean(i.Path), shorten(clean(string(i.A)), 60), shorten(clean(string(i.B)), 60))
	}
}

// replayDoc is the answer to a replay.
type replayDoc struct {
	Schema    string            `json:"schema"`
	AttemptID string            `json:"attempt_id"`
	Recorded  string            `json:"recorded_hash"`
	Compiled  string            `json:"compiled_hash"` // empty: it could not be compiled
	Same      bool              `json:"same"`
	Grade     string            `json:"replay_grade"`
	Why       string            `json:"why,omitempty"`
	Differs   *brief.Difference `json:"difference,omitempty"` // from the document to what it compiles to
}

func (a *app) replayBrief(f foundBrief) error {
	doc := replayDoc{Schema: "deed/brief.replay/v1", AttemptID: f.attempt.Record.AttemptID, Recorded: f.attempt.BriefHash, Grade: f.document.Replay.Grade, Why: f.notice()}
	again, err := brief.Again(f.document)
	if err != nil {
		doc.Why = strings.TrimPrefix(doc.Why+"; "+err.Error(), "; ")
	} else {
		doc.Compiled, doc.Same = again.Hash, again.Hash == doc.Recorded
		now, err := brief.Read(again.Document)
		if err != nil {
			return err
		}
		d, err := brief.Compare(f.document, now)
		if err != nil {
			return err
		}
		if !d.Same() {
			doc.Differs = &d
		}
	}
	if a.json {
		if err := a.emit(doc); err != nil {
			return err
		}
	} else {
		a.field("attempt", a.color.Bold(doc.AttemptID))
		a.field("recorded", doc.Recorded)
		a.field("compiled", doc.Compiled)
		a.field("replay", doc.Grade)
		a.field("why", clean(doc.Why))
		if doc.Same {
			a.printf("%s\n", a.color.Green("the same brief"))
		} else {
			a.printf("%s\n", a.color.Red("not the same brief"))
		}
		if doc.Differs != nil {
			a.reportDifference(*doc.Differs)
		}
	}
	if doc.Same {
		return nil
	}
	return errNotDone
}
