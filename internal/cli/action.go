package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

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
			if err := a.view(c.Context()); err != nil {
				return err
			}
			f := store.ActionFilter{State: store.ActionOpen, Limit: 1000}
			if all {
				f.State = ""
			}
			acts, err := a.st.Actions(c.Context(), f)
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
		Use: "answer ACTION TEXT", Short: "Answer a required action; its task goes on", Args: names("ACTION", "TEXT"),
		RunE: func(c *cobra.Command, args []string) error {
			if strings.TrimSpace(args[1]) == "" {
				return usage(errors.New("the answer is empty"))
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
