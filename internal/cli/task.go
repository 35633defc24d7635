package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/store"
)

func (a *app) taskCmd() *cobra.Command {
	return group("task", "Add, list, show, cancel and retry tasks, and raise their budgets",
		a.taskAddCmd(), a.taskListCmd(), a.taskShowCmd(), a.taskCancelCmd(), a.taskRetryCmd(), a.taskBudgetCmd(), a.taskResumeCmd(), a.taskLogsCmd(), a.taskEventsCmd())
}

// chunk bounds one transaction of a large batch.
const chunk = 1000

func (a *app) taskAddCmd() *cobra.Command {
	var (
		f        intentFlags
		file, at string
		delay    time.Duration
	)
	c := &cobra.Command{
		Use:   "add [flags]",
		Short: "Queue a task, or many from a file",
		Long: `Queue one task from flags, or many from a file of intents (agent-runtime/task.intent/v1): one JSON object,
a JSON array, or one object per line. A file is checked whole before anything is queued.`,
		Example: `  deed task add --type script --adapter nightly
  deed task add --type agent-task --adapter fixer --workspace . --check "go test ./..." --description "make the failing test pass"
  deed task add --file intents.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var intents []agentruntime.TaskIntent
			if file != "" {
				var err error
				if intents, err = a.readIntents(file); err != nil {
					return err
				}
			} else {
				in, err := a.intent(c, &f)
				if err != nil {
					return err
				}
				if delay != 0 {
					in.Schedule = &agentruntime.RelativeSchedule{DelayMinutes: delay.Minutes()}
				}
				in.AvailableAt = agentruntime.Timestamp(at)
				intents = []agentruntime.TaskIntent{in}
			}
			return a.addTasks(c.Context(), intents, file != "")
		},
	}
	c.Flags().StringVar(&file, "file", "", "file of intents, - for standard input")
	c.Flags().StringVar(&f.in.Source, "source", "cli", "who asks for the task")
	c.Flags().DurationVar(&delay, "delay", 0, "not before this much time has passed, for example 10m")
	c.Flags().StringVar(&at, "at", "", "not before this instant (RFC 3339)")
	f.register(c)
	return c
}

// intentFlags say in flags what a task is.
type intentFlags struct {
	in                 agentruntime.TaskIntent
	spec               specFlags
	payload, workspace string
	priority           int64
}

func (i *intentFlags) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&i.in.TaskType, "type", "", "task type")
	f.StringVar(&i.in.Subject, "subject", "", "one line on what it is about")
	f.StringVar(&i.in.Description, "description", "", "the goal")
	f.StringVar(&i.payload, "payload", "{}", "a JSON object for the adapter")
	f.Int64Var(&i.priority, "priority", task.DefaultPriority, "any integer, higher first")
	f.StringVar(&i.in.RequestedAdapterID, "adapter", "", "adapter id")
	f.StringVar(&i.in.RequestedProfileID, "profile", "", "profile id")
	f.StringVar(&i.in.RequestedModel, "model", "", "model")
	f.StringVarP(&i.workspace, "workspace", "w", "", "directory that the agent gets a copy of (default: an empty one)")
	f.IntVar(&i.spec.attempts, "attempts", 0, "attempts at most (default: the configured number)")
	skillFlag(c, &i.in.SkillIDs)
	i.spec.register(c)
}

// intent makes a task of its flags.
func (a *app) intent(c *cobra.Command, i *intentFlags) (agentruntime.TaskIntent, error) {
	in := i.in
	if in.TaskType == "" {
		return in, usage(errors.New("--type is missing (or give --file)"))
	}
	in.Payload = json.RawMessage(i.payload)
	if c.Flags().Changed("priority") {
		in.Priority = &i.priority
	}
	in.EvidenceRequirements = i.spec.evidence()
	var err error
	in.Deed, err = a.spec(&i.spec, i.workspace)
	return in, err
}

func (a *app) addTasks(ctx context.Context, intents []agentruntime.TaskIntent, many bool) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	adm := a.admission()
	by := task.Caller{Trusted: true}
	for _, in := range intents {
		if err := a.refuseSecrets(in); err != nil {
			return err
		}
	}
	if len(intents) > chunk { // a fault in the last chunk must stop the first one too
		for i, in := range intents {
			if _, err := adm.Prepare(in, by); err != nil {
				return fmt.Errorf("intent %d of %d: %w", i+1, len(intents), err)
			}
		}
	}
	added := []store.Enqueued{}
	for part := range slices.Chunk(intents, chunk) {
		out, err := adm.Add(ctx, by, part...)
		if err != nil {
			if len(added) > 0 {
				return fmt.Errorf("%d of %d tasks were queued before this: %w", len(added), len(intents), err)
			}
			return err
		}
		added = append(added, out...)
		a.h.Wake()
	}
	if a.json {
		type row struct {
			TaskID  string `json:"task_id"`
			Deduped bool   `json:"deduped"`
		}
		rows := make([]row, len(added))
		for i, e := range added {
			rows[i] = row{e.TaskID, e.Deduped}
		}
		return a.emit(map[string]any{"tasks": rows})
	}
	deduped := 0
	for _, e := range added {
		if e.Deduped {
			deduped++
			a.printf("%s deduped\n", e.TaskID)
			continue
		}
		a.printf("%s\n", e.TaskID)
	}
	if many {
		a.hint("queued %s, %d deduped", count(len(added)-deduped, "task"), deduped)
	}
	return nil
}

// maxIntents bounds a file of intents in memory.
const maxIntents = 1 << 30

func (a *app) readIntents(path string) ([]agentruntime.TaskIntent, error) {
	r := a.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, usage(err)
		}
		defer func() { _ = f.Close() }()
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, maxIntents+1))
	if err != nil {
		return nil, fmt.Errorf("read intents: %w", err)
	}
	if len(data) > maxIntents {
		return nil, usage(fmt.Errorf("file of intents is larger than %d bytes (split it)", maxIntents))
	}
	raws, err := splitIntents(data)
	if err != nil {
		return nil, usage(err)
	}
	if len(raws) == 0 {
		return nil, usage(errors.New("the file holds no intent"))
	}
	out := make([]agentruntime.TaskIntent, len(raws))
	var bad []string
	for i, raw := range raws {
		if out[i], err = task.Decode(raw); err != nil {
			if len(raws) == 1 {
				return nil, err
			}
			if len(bad) == maxBad {
				bad = append(bad, "and more")
				break
			}
			bad = append(bad, fmt.Sprintf("intent %d of %d: %s", i+1, len(raws), strings.ReplaceAll(err.Error(), "\n", "; ")))
		}
	}
	if len(bad) > 0 {
		return nil, usage(errors.New(strings.Join(bad, "\n")))
	}
	return out, nil
}

// maxBad bounds how many faulty intents of a file are listed.
const maxBad = 20

// splitIntents cuts a JSON array, or objects one after the other, into single documents.
func splitIntents(data []byte) ([]json.RawMessage, error) {
	data = bytes.TrimSpace(data)
	if bytes.HasPrefix(data, []byte("[")) {
		var list []json.RawMessage
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, fmt.Errorf("file of intents is not a JSON array: %w", err)
		}
		return list, nil
	}
	var list []json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(data))
	for {
		var raw json.RawMessage
		err := dec.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d of the file of intents, near byte %d: %w", len(list)+1, dec.InputOffset(), err)
		}
		list = append(list, raw)
	}
}

func (a *app) taskListCmd() *cobra.Command {
	var (
		statuses []string
		typ      string
		limit    int
		before   string
	)
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List tasks, newest first", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			filter := store.TaskFilter{Type: typ, Limit: limit, Before: before}
			for _, s := range statuses {
				st := agentruntime.TaskStatus(s)
				if !slices.Contains(agentruntime.TaskStatuses, st) {
					return usage(fmt.Errorf("--status %q is unknown; there are: %s", s, join(agentruntime.TaskStatuses)))
				}
				filter.Status = append(filter.Status, st)
			}
			if limit < 1 || limit > 10000 {
				return usage(fmt.Errorf("--limit %d is not between 1 and 10000", limit))
			}
			if err := a.view(c.Context()); err != nil {
				return err
			}
			tasks, err := a.st.Tasks(c.Context(), filter)
			if err != nil {
				return err
			}
			for _, t := range tasks {
				a.hintDamaged(t.Damage)
			}
			if a.json {
				recs := make([]agentruntime.TaskRecord, len(tasks))
				for i, t := range tasks {
					recs[i] = t.Record
				}
				return a.emit(map[string]any{"tasks": recs})
			}
			gone, err := a.models().Gone(c.Context(), tasks)
			if err != nil {
				return err
			}
			rows := make([][]string, len(tasks))
			for i, t := range tasks {
				status := a.status(t.Record.Status)
				if gone[t.ID()] {
					status += ", " + a.color.Yellow(view.PhaseGone)
				}
				rows[i] = []string{t.ID(), status, fmt.Sprint(t.Record.Priority), fmt.Sprintf("%d/%d", t.Record.AttemptCount, t.Record.MaxAttempts), t.Record.TaskType, shorten(clean(title(t)), 60)}
			}
			if len(rows) == 0 {
				a.hint("no tasks")
				return nil
			}
			a.table([]string{"TASK", "STATUS", "PRIO", "TRIES", "TYPE", "ABOUT"}, rows)
			if len(gone) > 0 {
				a.hint("gone is the process that ran it; `deed serve` or `deed dispatch` settles it")
			}
			return nil
		},
	}
	c.Flags().StringSliceVar(&statuses, "status", nil, "only these states")
	c.Flags().StringVar(&typ, "type", "", "only this task type")
	c.Flags().IntVar(&limit, "limit", 50, "at most this many")
	c.Flags().StringVar(&before, "before", "", "only tasks older than this one")
	return c
}

func join[T ~string](list []T) string {
	s := make([]string, len(list))
	for i, v := range list {
		s[i] = string(v)
	}
	return strings.Join(s, ", ")
}

func title(t store.Task) string {
	if t.Record.Subject != nil && *t.Record.Subject != "" {
		return *t.Record.Subject
	}
	if t.Record.Description != nil {
		return *t.Record.Description
	}
	return ""
}

func (a *app) status(s agentruntime.TaskStatus) string {
	switch s {
	case agentruntime.TaskCompleted:
		return a.color.Green(string(s))
	case agentruntime.TaskPermanentFailure:
		return a.color.Red(string(s))
	case agentruntime.TaskRetryableFailure, agentruntime.TaskBlocked:
		return a.color.Yellow(string(s))
	}
	return string(s)
}

// oneTask opens the home for reading and finds a task.
func (a *app) oneTask(ctx context.Context, id string) (store.Task, error) {
	if err := a.view(ctx); err != nil {
		return store.Task{}, err
	}
	return a.lookup(ctx, id)
}

// lookup finds a task by id or by the beginning of one.
func (a *app) lookup(ctx context.Context, id string) (store.Task, error) {
	t, err := a.st.Task(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return t, usage(fmt.Errorf("no task %s in %s (`deed task list` shows what there is)", id, a.h.Root()))
	}
	return t, err
}

func (a *app) taskCancelCmd() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "cancel TASK", Short: "Cancel a task; a running one is stopped", Args: names("TASK"),
		RunE: func(c *cobra.Command, args []string) error {
			t, err := a.oneTask(c.Context(), args[0])
			if err != nil {
				return err
			}
			res, err := a.st.Cancel(c.Context(), t.ID(), reason, a.operator())
			if err != nil {
				return refused(err)
			}
			a.h.Wake()
			if a.json {
				return a.emit(map[string]any{"task_id": t.ID(), "status": res.Status, "requested": res.Requested})
			}
			if res.Requested {
				a.printf("%s is running; it will be stopped\n", t.ID())
			} else {
				a.printf("%s %s\n", t.ID(), a.status(res.Status))
			}
			return nil
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return c
}

// operator names the person at the command line, for the record.
func (a *app) operator() string {
	if u := a.getenv("USER"); u != "" {
		return u
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}

func (a *app) taskRetryCmd() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "retry TASK", Short: "Give a failed, cancelled or waiting task another attempt now", Args: names("TASK"),
		RunE: func(c *cobra.Command, args []string) error {
			t, err := a.oneTask(c.Context(), args[0])
			if err != nil {
				return err
			}
			if err := a.st.Retry(c.Context(), t.ID(), reason, a.operator()); err != nil {
				return refused(err)
			}
			a.h.Wake()
			if a.json {
				return a.emit(map[string]any{"task_id": t.ID(), "status": agentruntime.TaskPending})
			}
			a.printf("%s pending\n", t.ID())
			return nil
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return c
}
