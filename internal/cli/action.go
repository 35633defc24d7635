package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/agent/action"
	"github.com/deedrun/deed/internal/engine/answer"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/store"
)

func (a *app) actionCmd() *cobra.Command {
	var all bool
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List what waits for a person", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			acts, err := a.actions(c.Context(), all)
			if err != nil {
				return err
			}
			if a.json {
				docs := make([]view.Action, len(acts))
				for i, x := range acts {
					docs[i] = view.ActionOf(x)
				}
				return a.emit(map[string]any{"schema": "deed/actions/v1", "actions": docs})
			}
			rows := make([][]string, len(acts))
			for i, x := range acts {
				rows[i] = []string{x.ID, cmp.Or(x.TaskID, x.Owner), x.State, shorten(clean(x.Prompt), 80)}
			}
			if len(rows) == 0 {
				a.hint("nothing waits for you")
				return nil
			}
			a.table([]string{"ACTION", "OF", "STATE", "PROMPT"}, rows)
			return nil
		},
	}
	list.Flags().BoolVar(&all, "all", false, "closed ones too")
	show := &cobra.Command{
		Use: "show ACTION", Short: "Show what is asked, why, and who may answer until when", Args: names("ACTION"),
		Example: "  deed action show 019ad2c4",
		RunE: func(c *cobra.Command, args []string) error {
			x, staged, err := a.shownAction(c.Context(), args[0])
			switch {
			case err != nil:
				return err
			case a.json:
				return a.emit(view.ActionOf(x))
			case staged != nil:
				a.showStaged(x, *staged)
			default:
				a.showAction(x)
			}
			return nil
		},
	}
	return group("action", "List and answer what waits for a person", list, show, a.approveCmd(), a.denyCmd(), a.answerCmd())
}

func (a *app) approveCmd() *cobra.Command {
	var always bool
	var note string
	c := &cobra.Command{
		Use: "approve ACTION", Short: "Allow what an action asks for: this one call, or a staged apply", Args: names("ACTION"),
		Example: "  deed action approve 019ad2c4 --note 'once, for this release'\n  deed action approve 019ad2c4 --always",
		RunE: func(c *cobra.Command, args []string) error {
			d := action.Decision{Decision: deed.RuleAllow, Always: always, Note: note}
			if done, err := a.resolve(c.Context(), args[0], "approve", d); done {
				return err
			}
			return a.reply(c.Context(), args[0], &d, nil)
		},
	}
	c.Flags().BoolVar(&always, "always", false, "every later call of this task with the same tool and subject too")
	c.Flags().StringVar(&note, "note", "", "`TEXT` for the record and for the agent")
	return c
}

func (a *app) denyCmd() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "deny ACTION", Short: "Refuse what an action asks for; the agent is told the reason", Args: names("ACTION"),
		Example: "  deed action deny 019ad2c4 --reason 'leave the remote alone, commit locally'",
		RunE: func(c *cobra.Command, args []string) error {
			d := action.Decision{Decision: deed.RuleDeny, Note: reason}
			if done, err := a.resolve(c.Context(), args[0], "reject", d); done {
				return err
			}
			return a.reply(c.Context(), args[0], &d, nil)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "`TEXT` for the record and for the agent")
	return c
}

func (a *app) answerCmd() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "answer ACTION [TEXT]", Short: "Answer a question; its task goes on. A staged apply takes approve or reject", Args: cobra.RangeArgs(1, 2),
		Example: "  deed action answer 019ad2c4 'tabs, as in the rest of the file'",
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && file == "":
				return usage(errors.New("TEXT is missing (or give --file)"))
			case len(args) == 2 && file != "":
				return usage(errors.New("TEXT and --file exclude each other (give one)"))
			case file != "":
				data, err := a.readDocument(c.Context(), file, maxAnswer)
				if err != nil {
					return unread(err)
				}
				if !json.Valid(data) {
					return usage(fmt.Errorf("%s is not JSON", shownInput(file)))
				}
				return a.reply(c.Context(), args[0], nil, data)
			case strings.TrimSpace(args[1]) == "":
				return usage(errors.New("the answer is empty"))
			}
			if done, err := a.resolve(c.Context(), args[0], args[1], action.Decision{}); done {
				return err
			}
			text, err := json.Marshal(args[1])
			if err != nil {
				return err
			}
			return a.reply(c.Context(), args[0], nil, text)
		},
	}
	c.Flags().StringVar(&file, "file", "", "answer with the JSON in `FILE`, - for standard input")
	return c
}

// maxAnswer bounds an answer: the agent's brief repeats it.
const maxAnswer = 1 << 20

func (a *app) oneAction(ctx context.Context, id string) (store.Action, error) {
	if err := a.view(ctx); err != nil {
		return store.Action{}, err
	}
	x, err := a.st.Action(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return x, usage(fmt.Errorf("no action %s in %s (`deed action list` shows what is open)", id, a.h.Root()))
	}
	return x, err
}

// shownAction is the action with an id. A staged apply, which is in the home and not in the store, comes with its document.
func (a *app) shownAction(ctx context.Context, id string) (store.Action, *evidence.PendingApplyPreview, error) {
	ap, err := a.applier(false)
	if err != nil {
		return store.Action{}, nil, err
	}
	p, err := ap.Staged(id)
	if errors.Is(err, apply.ErrNotStaged) {
		x, err := a.oneAction(ctx, id)
		return x, nil, err
	}
	return view.StagedAction(p), &p, err
}

// desk is where this command answers what waits for a person.
func (a *app) desk() (*answer.Desk, error) {
	ap, err := a.applier(false)
	if err != nil {
		return nil, err
	}
	return &answer.Desk{Store: a.st, Home: a.h, Config: a.cfg, Workflows: a.workflows(), Applier: ap, Keys: a.trusted}, nil
}

// reply answers an action of a task.
func (a *app) reply(ctx context.Context, id string, d *action.Decision, text json.RawMessage) error {
	x, err := a.oneAction(ctx, id)
	if err != nil {
		return err
	}
	if strings.HasPrefix(x.Owner, store.AgentOwner+"/") {
		return a.decideRevision(ctx, x, d)
	}
	desk, err := a.desk()
	if err != nil {
		return err
	}
	did, err := desk.Give(ctx, x.ID, a.operator(), answer.Answer{Decision: d, Text: text})
	if errors.Is(err, store.ErrMayNotAnswer) || errors.Is(err, answer.ErrAnswer) {
		return usage(err)
	}
	if err != nil {
		return refused(err)
	}
	x = did.Action
	if a.json {
		return a.emit(view.ActionOf(x))
	}
	word := "answered"
	if d != nil {
		word = map[string]string{deed.RuleAllow: "approved", deed.RuleDeny: "denied"}[d.Decision]
	}
	a.printf("%s %s\n", x.ID, word)
	if x.Owner != "" {
		return nil
	}
	a.hint("\na dispatcher goes on with it by itself; here and now:  deed task resume %s", x.TaskID)
	return nil
}

// showStaged says what the approval of a staged apply changes.
func (a *app) showStaged(x store.Action, p evidence.PendingApplyPreview) {
	in := p.ApplyInput
	x.Subject = nil
	a.showAction(x)
	a.rows([][2]string{
		{"bundle", in.ArtifactsPath},
		{"artifact", p.ArtifactID},
		{"to", in.ApplyTarget.Directory},
		{"workspace", in.ApplyTarget.Workspace},
		{"staged by", in.Approver},
		{"note", p.Note},
	})
	if in.Force {
		a.rows([][2]string{{"force", "although no gate accepted the bundle, or no trusted key signed it"}})
	}
	for _, f := range p.Files {
		a.rows([][2]string{{"file", f.Status + " " + f.Path}})
	}
	if p.Status == evidence.PendingOpen {
		a.hint("\nto apply it:  deed action answer %s approve\nto leave it:  deed action answer %s reject", p.ActionID, p.ActionID)
	}
}

func (a *app) showAction(x store.Action) {
	d := view.ActionOf(x)
	a.rows([][2]string{
		{"action", d.ActionID},
		{"task", d.TaskID},
		{"of", d.Owner},
		{"kind", d.Kind},
		{"state", d.State},
		{"asks", d.Prompt},
		{"why", d.Why},
		{"rule", d.Rule},
		{"about", string(d.Subject)},
		{"context", d.Context},
		{"opened", d.OpenedAt},
		{"deadline", d.Deadline},
		{"then", string(d.Default)},
		{"who", strings.Join(d.MayAnswer, ", ")},
		{"answer", string(d.Answer)},
		{"by", d.By},
		{"closed", d.ClosedAt},
	})
}

// rows prints what has a value, each behind its name.
func (a *app) rows(rows [][2]string) {
	for _, row := range rows {
		if row[1] != "" {
			a.printf("%-9s %s\n", row[0], clean(row[1]))
		}
	}
}

// actions lists what waits for a person: the actions of tasks, which are in the store, and the staged applies, which are
// in the home. A home that has only the latter needs no store.
func (a *app) actions(ctx context.Context, all bool) ([]store.Action, error) {
	ap, err := a.applier(false)
	if err != nil {
		return nil, err
	}
	staged, err := ap.Pending(all)
	if err != nil {
		return nil, err
	}
	var acts []store.Action
	if err := a.view(ctx); err == nil {
		f := store.ActionFilter{State: store.ActionOpen, Limit: 1000}
		if all {
			f.State = ""
		}
		if acts, err = a.st.Actions(ctx, f); err != nil {
			return nil, err
		}
		for _, x := range acts {
			a.hintDamaged(x.Damage)
		}
	} else if len(staged) == 0 {
		return nil, err
	}
	for _, p := range staged {
		acts = append(acts, view.StagedAction(p))
	}
	return acts, nil
}

// resolve answers a staged apply with a decision and a note; done says that the action is one.
func (a *app) resolve(ctx context.Context, id, word string, d action.Decision) (done bool, err error) {
	ap, err := a.applier(false)
	if err != nil {
		return true, err
	}
	var approve bool
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "approve":
		approve = true
	case "reject":
	default:
		if staged, _ := ap.Pending(false); slices.ContainsFunc(staged, func(p evidence.PendingApplyPreview) bool { return strings.HasPrefix(p.ActionID, id) }) {
			return true, usage(fmt.Errorf("%s is a staged apply, and %q is no answer to it (say approve or reject)", id, clean(word)))
		}
		return false, nil
	}
	if err := answer.Once(ap, id, d.Always); errors.Is(err, answer.ErrAnswer) {
		return true, usage(err)
	} else if err != nil && !errors.Is(err, apply.ErrNotStaged) {
		return true, err
	}
	keys, err := a.trusted()
	if err != nil {
		return true, err
	}
	out, err := ap.Resolve(ctx, id, apply.Resolution{Approve: approve, By: a.operator(), Note: d.Note, Keys: keys})
	var refusal *apply.Refusal
	switch {
	case errors.Is(err, apply.ErrNotStaged):
		return false, nil
	case errors.Is(err, apply.ErrResolved):
		return true, usage(err)
	case err != nil && !errors.As(err, &refusal):
		return true, err
	case a.json:
		if eerr := a.emit(out); eerr != nil || err == nil {
			return true, eerr
		}
		return true, errNotDone
	case err == nil && !approve:
		a.printf("%s rejected\n", id)
		return true, nil
	}
	return true, a.showApply(out.Result, err)
}
