package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/internal/handoff"
	"github.com/deedrun/deed/internal/store"
)

// actionDoc is a required action as --json shows it.
type actionDoc struct {
	ActionID  string          `json:"action_id"`
	TaskID    string          `json:"task_id"`
	AttemptID string          `json:"attempt_id"`
	Kind      string          `json:"kind"`
	Prompt    string          `json:"prompt"`
	State     string          `json:"state"`
	Answer    json.RawMessage `json:"answer,omitempty"`
	By        string          `json:"answered_by,omitempty"`
}

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
				docs := make([]actionDoc, len(acts))
				for i, x := range acts {
					docs[i] = actionDoc{x.ID, x.TaskID, x.AttemptID, x.Kind, x.Prompt, x.State, x.Answer, x.AnsweredBy}
				}
				return a.emit(map[string]any{"actions": docs})
			}
			rows := make([][]string, len(acts))
			for i, x := range acts {
				rows[i] = []string{x.ID, x.TaskID, x.State, shorten(clean(x.Prompt), 80)}
			}
			if len(rows) == 0 {
				a.hint("nothing waits for you")
				return nil
			}
			a.table([]string{"ACTION", "TASK", "STATE", "PROMPT"}, rows)
			return nil
		},
	}
	list.Flags().BoolVar(&all, "all", false, "closed ones too")
	answer := &cobra.Command{
		Use: "answer ACTION TEXT", Short: "Answer a required action; its task goes on, and a staged apply is applied or rejected", Args: names("ACTION", "TEXT"),
		RunE: func(c *cobra.Command, args []string) error {
			if strings.TrimSpace(args[1]) == "" {
				return usage(errors.New("the answer is empty"))
			}
			if done, err := a.resolve(c.Context(), args[0], args[1]); done {
				return err
			}
			if err := a.view(c.Context()); err != nil {
				return err
			}
			text, err := json.Marshal(args[1])
			if err != nil {
				return err
			}
			err = a.st.AnswerAction(c.Context(), args[0], text, a.operator())
			if errors.Is(err, store.ErrNotFound) {
				return usage(fmt.Errorf("no action %s in %s (`deed action list` shows what is open)", args[0], a.h.Root()))
			}
			if err != nil {
				return refused(err)
			}
			a.h.Wake()
			if a.json {
				return a.emit(map[string]string{"action_id": args[0], "state": store.ActionAnswered})
			}
			a.printf("%s answered\n", args[0])
			return nil
		},
	}
	return group("action", "List and answer what waits for a person", list, answer)
}

// kindApply is the kind of a staged apply among the actions.
const kindApply = "apply"

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
	} else if len(staged) == 0 {
		return nil, err
	}
	for _, p := range staged {
		x := store.Action{ID: p.ActionID, Kind: kindApply, Prompt: p.Summary, State: store.ActionOpen, AnsweredBy: p.ResolvedBy}
		if p.Status != codebox.PendingOpen {
			x.State, x.Answer = store.ActionAnswered, json.RawMessage(strconv.Quote(p.Status))
		}
		acts = append(acts, x)
	}
	return acts, nil
}

// resolve answers a staged apply; done says that the action is one.
func (a *app) resolve(ctx context.Context, id, answer string) (done bool, err error) {
	ap, err := a.applier(false)
	if err != nil {
		return true, err
	}
	var approve bool
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "approve":
		approve = true
	case "reject":
	default:
		if staged, _ := ap.Pending(false); slices.ContainsFunc(staged, func(p codebox.PendingApplyPreview) bool { return strings.HasPrefix(p.ActionID, id) }) {
			return true, usage(fmt.Errorf("%s is a staged apply, and %q is no answer to it (say approve or reject)", id, clean(answer)))
		}
		return false, nil
	}
	keys, err := a.trusted()
	if err != nil {
		return true, err
	}
	out, err := ap.Resolve(ctx, id, approve, a.operator(), keys)
	var refusal *handoff.Refusal
	switch {
	case errors.Is(err, handoff.ErrNotStaged):
		return false, nil
	case errors.Is(err, handoff.ErrResolved):
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
