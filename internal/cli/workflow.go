package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/engine/workflow"
	"github.com/deedrun/deed/internal/store"
)

func (a *app) workflowCmd() *cobra.Command {
	return group("workflow", "Start, follow and steer work of several steps",
		a.workflowListCmd(), a.workflowShowCmd(), a.workflowStartCmd(), a.workflowSignalCmd(), a.workflowCancelCmd(), a.workflowGraphCmd(), a.workflowLintCmd())
}

// workflows composes the engine of workflows. The home, the settings and the store are open.
func (a *app) workflows() *workflow.Engine {
	return &workflow.Engine{Store: a.st, Admission: a.admission(), Catalog: a.definitions, Clock: clock.System, Root: a.h.Root()}
}

// definitions reads the definitions of workflows: deed's own, the home's and the project's.
func (a *app) definitions() *workflow.Catalog {
	dir, err := os.Getwd()
	if err != nil {
		dir = ""
	}
	return workflow.Load(workflow.Options{Home: a.h.Workflows(), Project: workflow.ProjectDir(dir), Known: a.known()})
}

// peek reads the settings and names the home, for a command that needs neither a home nor a store.
func (a *app) peek() error {
	if _, err := a.config(); err != nil {
		return err
	}
	root, err := home.Resolve(a.homeFlag, a.getenv)
	if err != nil {
		return usage(err)
	}
	a.h = home.At(root)
	return nil
}

// known asks the settings and the skills about the names in a definition. The home is named.
func (a *app) known() workflow.Known {
	c, skills := a.cfg, a.skills()
	return workflow.Known{
		Type:    func(n string) error { _, err := c.Type(n); return err },
		Profile: func(n string) error { _, err := c.Profile(n); return err },
		Skill:   func(n string) error { _, err := skills.Find(n); return err },
	}
}

// workflowDoc is an instance as --json shows it.
type workflowDoc struct {
	Schema     string                      `json:"schema"`
	Workflow   agentruntime.WorkflowRecord `json:"workflow"`
	Definition string                      `json:"definition"`
	Visit      int                         `json:"visit"`
	Iteration  int                         `json:"iteration"`
	TaskID     string                      `json:"task_id,omitempty"`
	ActionID   string                      `json:"action_id,omitempty"`
	Reason     string                      `json:"reason,omitempty"`
	Ending     string                      `json:"ending,omitempty"`
	StartedBy  string                      `json:"started_by,omitempty"`
	Steps      []stepDoc                   `json:"transitions,omitempty"`
}

type stepDoc struct {
	Seq       int                     `json:"seq"`
	From      string                  `json:"from,omitempty"`
	To        string                  `json:"to"`
	Signal    string                  `json:"signal,omitempty"`
	Cause     string                  `json:"cause"`
	By        string                  `json:"by,omitempty"`
	CauseTask string                  `json:"cause_task_id,omitempty"`
	TaskID    string                  `json:"task_id,omitempty"`
	Status    agentruntime.TaskStatus `json:"task_status,omitempty"`
	Bundle    string                  `json:"bundle,omitempty"`
	Iteration int                     `json:"iteration"`
	Note      string                  `json:"note,omitempty"`
	At        string                  `json:"at"`
}

const schemaWorkflow = "deed/workflow/v1"

func newWorkflowDoc(w store.Workflow) workflowDoc {
	return workflowDoc{
		Schema: schemaWorkflow, Workflow: w.Record, Definition: w.Definition, Visit: w.Visit, Iteration: w.Iteration,
		TaskID: w.TaskID, ActionID: w.ActionID, Reason: w.Reason, Ending: w.Ending, StartedBy: w.StartedBy,
	}
}

func (a *app) workflowListCmd() *cobra.Command {
	var (
		types bool
		f     store.WorkflowFilter
	)
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the workflows that have not ended, or what can be started", Args: cobra.NoArgs,
		Example: "  deed workflow list --all\n  deed workflow list --types",
		RunE: func(c *cobra.Command, _ []string) error {
			if types {
				return a.listTypes()
			}
			if err := a.view(c.Context()); err != nil {
				return err
			}
			list, err := a.st.Workflows(c.Context(), f)
			if err != nil {
				return err
			}
			for _, w := range list {
				a.hintDamaged(w.Damage)
			}
			if a.json {
				docs := make([]workflowDoc, len(list))
				for i, w := range list {
					docs[i] = newWorkflowDoc(w)
				}
				return a.emit(map[string]any{"schema": "deed/workflows/v1", "workflows": docs})
			}
			if len(list) == 0 {
				a.hint("no workflow is under way; `deed workflow list --types` shows what can be started")
				return nil
			}
			rows := make([][]string, len(list))
			for i, w := range list {
				rows[i] = []string{w.ID(), w.Record.WorkflowType, shorten(clean(w.Record.InstanceKey), 40), a.workflowStatus(w), clean(w.Record.CurrentState), fmt.Sprint(w.Iteration), shorten(clean(w.Reason), 60)}
			}
			a.table([]string{"WORKFLOW", "TYPE", "KEY", "STATUS", "STATE", "ITERATION", "WHY"}, rows)
			return nil
		},
	}
	c.Flags().BoolVar(&types, "types", false, "the definitions that can be started, and the files that cannot be used")
	c.Flags().StringVar(&f.Type, "type", "", "only this `TYPE`")
	c.Flags().BoolVar(&f.All, "all", false, "those that have ended too")
	c.Flags().IntVar(&f.Limit, "limit", 100, "at most so many")
	return c
}

// listTypes shows what can be started. Files that cannot be used are reported on standard error.
func (a *app) listTypes() error {
	if err := a.peek(); err != nil {
		return err
	}
	cat := a.definitions()
	type doc struct {
		Type        string `json:"workflow_type"`
		Description string `json:"description,omitempty"`
		Hash        string `json:"definition"`
		Source      string `json:"source"`
	}
	docs := []doc{}
	var rows [][]string
	for _, d := range cat.List() {
		x := doc{Type: d.WorkflowType, Hash: d.Hash, Source: d.Source}
		if d.Deed != nil {
			x.Description = d.Deed.Description
		}
		docs = append(docs, x)
		rows = append(rows, []string{clean(x.Type), shorten(clean(x.Description), 70), showPath(x.Source)})
	}
	faults := []string{}
	for _, err := range cat.Faults() {
		faults = append(faults, err.Error())
	}
	if a.json {
		return a.emit(map[string]any{"schema": "deed/workflow-types/v1", "types": docs, "faults": faults})
	}
	a.table([]string{"TYPE", "ABOUT", "FROM"}, rows)
	for _, f := range faults {
		fmt.Fprintf(a.Err, "%s %s\n", a.errColor.Red("deed:"), cleanLines(f))
	}
	return nil
}

// workflowStatus is the status in its colour, with how it ended.
func (a *app) workflowStatus(w store.Workflow) string {
	switch s := w.Record.Status; {
	case s == agentruntime.WorkflowBlocked:
		return a.color.Yellow(string(s))
	case s == agentruntime.WorkflowCompleted && w.Ending == store.EndCompleted:
		return a.color.Green(string(s))
	case s == agentruntime.WorkflowCompleted:
		return a.color.Red(w.Ending)
	case w.TaskID == "" && w.ActionID != "":
		return "waiting"
	default:
		return string(s)
	}
}

// oneWorkflow opens the home for reading and finds an instance.
func (a *app) oneWorkflow(ctx context.Context, id string) (store.Workflow, error) {
	if err := a.view(ctx); err != nil {
		return store.Workflow{}, err
	}
	w, err := a.st.ListedWorkflow(ctx, id)
	a.hintDamaged(w.Damage)
	if errors.Is(err, store.ErrNotFound) {
		return w, usage(fmt.Errorf("no workflow %s in %s (`deed workflow list --all` shows what there is)", id, a.h.Root()))
	}
	return w, err
}

func (a *app) workflowShowCmd() *cobra.Command {
	return &cobra.Command{
		Use: "show WORKFLOW", Short: "Show a workflow, every step that it took, and what it waits for", Args: names("WORKFLOW"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			w, err := a.oneWorkflow(ctx, args[0])
			if err != nil {
				return err
			}
			d, err := a.workflowSteps(ctx, w)
			if err != nil {
				return err
			}
			if a.json {
				return a.emit(d)
			}
			a.showWorkflow(w, d)
			return nil
		},
	}
}

// workflowSteps is an instance with its transitions and what became of their tasks.
func (a *app) workflowSteps(ctx context.Context, w store.Workflow) (workflowDoc, error) {
	d := newWorkflowDoc(w)
	steps, err := workflow.Steps(ctx, a.st, w.ID())
	if err != nil {
		return d, err
	}
	for _, s := range steps {
		x := stepDoc{
			Seq: s.Seq, From: s.From, To: s.To, Signal: s.Signal, Cause: s.Cause, By: s.By, CauseTask: s.CauseTask, TaskID: s.TaskID,
			Status: s.Visit.Status, Iteration: s.Iteration, Note: s.Note, At: string(agentruntime.At(s.At)),
		}
		if dir := s.Visit.BundleDir; dir != "" {
			x.Bundle = filepath.Join(a.h.Root(), dir)
		}
		d.Steps = append(d.Steps, x)
	}
	return d, nil
}

func (a *app) showWorkflow(w store.Workflow, d workflowDoc) {
	a.field("workflow", a.color.Bold(w.ID()))
	a.field("type", clean(w.Record.WorkflowType))
	a.field("key", clean(w.Record.InstanceKey))
	a.field("status", a.workflowStatus(w))
	a.field("state", clean(w.Record.CurrentState))
	a.field("iteration", fmt.Sprint(w.Iteration))
	a.field("why", clean(w.Reason))
	a.field("definition", w.Definition)
	a.field("started by", clean(w.StartedBy))
	a.field("created", string(w.Record.CreatedAt))
	a.field("ended", deref(w.Record.CompletedAt))
	if w.ActionID != "" {
		a.field("action", w.ActionID+"  (`deed action show` says what may be answered)")
	}
	a.printf("\n")
	rows := make([][]string, len(d.Steps))
	for i, s := range d.Steps {
		who := s.Cause
		if s.By != "" {
			who += " " + strings.TrimPrefix(s.By, s.Cause+":")
		}
		way := clean(s.To)
		if s.From != "" {
			way = clean(s.From) + " → " + way
		}
		rows[i] = []string{fmt.Sprint(s.Seq), way, clean(s.Signal), clean(who), s.TaskID, a.status(s.Status), shorten(clean(s.Note), 60)}
	}
	a.table([]string{"#", "STEP", "SIGNAL", "BY", "TASK", "BECAME", "NOTE"}, rows)
}

func (a *app) workflowStartCmd() *cobra.Command {
	var (
		r         workflow.StartRequest
		sf        specFlags
		file      string
		sets      []string
		workspace string
		priority  int64
	)
	c := &cobra.Command{
		Use: "start TYPE [OBJECTIVE]", Short: "Start a workflow", Args: cobra.RangeArgs(1, 2),
		Long: `Start an instance of a definition (` + "`deed workflow list --types`" + `). The context goes into the payload of every task; OBJECTIVE
is its member objective. While an instance with the same key has not ended, that one is shown and none is started. The flags
about tasks hold for every task of the workflow; each visit starts from the workspace as the accepted work before it left it.`,
		Example: "  deed workflow start goal-loop 'every link in docs works' --agent codex --workspace .\n  deed workflow start release --key v1.4 --set version=1.4",
		RunE: func(c *cobra.Command, args []string) error {
			r.Type = args[0]
			var err error
			if r.Context, err = a.workflowContext(c.Context(), file, sets, args[1:]); err != nil {
				return err
			}
			if r.Spec, err = a.spec(&sf, workspace); err != nil {
				return err
			}
			if c.Flags().Changed("priority") {
				r.Priority = &priority
			}
			if r.InstanceKey == "" && len(args) == 2 {
				r.InstanceKey = slug(args[1])
			}
			if r.InstanceKey == "" {
				return usage(errors.New("--key is missing (it names the instance, so that it is not started twice)"))
			}
			return a.startWorkflow(c.Context(), r)
		},
	}
	f := c.Flags()
	f.StringVar(&r.InstanceKey, "key", "", "`KEY` of the instance, unique while it lives (default: made from OBJECTIVE)")
	f.StringVar(&r.State, "state", "", "`STATE` to begin in (default: the definition's initial state)")
	f.StringVar(&file, "context", "", "`FILE` with a JSON object for the context, - for standard input")
	f.StringArrayVar(&sets, "set", nil, "`NAME=TEXT` for the context; repeatable")
	f.StringVarP(&workspace, "workspace", "w", "", "directory that the tasks get a copy of (default: an empty one)")
	f.StringVar(&r.AdapterID, "agent", "", "`ADAPTER` that runs every task (default: as the task type and the profile say)")
	f.StringVar(&r.ProfileID, "profile", "", "`PROFILE` where the definition names none")
	f.StringVar(&r.Model, "model", "", "model of every task")
	f.Int64Var(&priority, "priority", 0, "of every task, any integer, higher first")
	f.IntVar(&sf.attempts, "attempts", 0, "attempts of each task at most (default: the configured number)")
	sf.register(c)
	_ = f.MarkHidden("dedupe")
	return c
}

// workflowContext joins the file, the --set flags and the objective.
func (a *app) workflowContext(ctx context.Context, file string, sets, objective []string) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if file != "" {
		data, err := a.readDocument(ctx, file, maxAnswer)
		if err != nil {
			return nil, unread(err)
		}
		if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
			return nil, usage(fmt.Errorf("%s is not a JSON object", shownInput(file)))
		}
	}
	put := func(name, value string) error {
		text, err := json.Marshal(value)
		if err == nil {
			fields[name] = text
		}
		return err
	}
	for _, s := range sets {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, usage(fmt.Errorf("--set %q is not NAME=TEXT", s))
		}
		if err := put(name, value); err != nil {
			return nil, err
		}
	}
	for _, o := range objective {
		if strings.TrimSpace(o) == "" {
			return nil, usage(errors.New("OBJECTIVE is empty"))
		}
		if err := put("objective", o); err != nil {
			return nil, err
		}
	}
	if len(fields) == 0 {
		return nil, nil
	}
	return json.Marshal(fields)
}

// slug makes a key out of a sentence.
func slug(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	out := strings.Join(words, "-")
	if r := []rune(out); len(r) > 80 {
		out = string(r[:80])
	}
	return strings.Trim(out, "-")
}

func (a *app) startWorkflow(ctx context.Context, r workflow.StartRequest) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	r.By = a.operator()
	out, err := a.workflows().Start(ctx, r)
	if fault.Of(err) != nil {
		return usage(err)
	}
	if err != nil {
		return err
	}
	a.h.Wake()
	w, err := a.st.Workflow(ctx, out.WorkflowID)
	if err != nil {
		return err
	}
	if a.json {
		return a.emit(struct {
			workflowDoc
			Deduped bool `json:"deduped"`
		}{newWorkflowDoc(w), out.Deduped})
	}
	a.printf("%s\n", w.ID())
	if out.Deduped {
		a.hint("it was started before, and is %s in state %s", w.Record.Status, clean(w.Record.CurrentState))
	}
	a.hint("\nsee it go:  deed workflow show %s", w.ID())
	return nil
}

func (a *app) workflowSignalCmd() *cobra.Command {
	var note string
	c := &cobra.Command{
		Use: "signal WORKFLOW SIGNAL", Short: "Move a workflow on that waits or is blocked", Args: names("WORKFLOW", "SIGNAL"),
		Long:    "Give a workflow the signal that leads on from its state, as if the state's task had given it. While that task has not ended, its own word counts.",
		Example: "  deed workflow signal 019ad2c4 continue --note 'one more round is fine'",
		RunE: func(c *cobra.Command, args []string) error {
			w, err := a.oneWorkflow(c.Context(), args[0])
			if err != nil {
				return err
			}
			w, err = a.workflows().Signal(c.Context(), workflow.SignalRequest{WorkflowID: w.ID(), Signal: args[1], By: a.operator(), Note: note})
			if errors.Is(err, workflow.ErrEnded) || errors.Is(err, workflow.ErrRunning) || errors.Is(err, workflow.ErrSignal) {
				return usage(err)
			}
			if err != nil {
				return err
			}
			return a.showMoved(w)
		},
	}
	c.Flags().StringVar(&note, "note", "", "`TEXT` for the record")
	return c
}

// showMoved shows the state of a workflow after a person moved it.
func (a *app) showMoved(w store.Workflow) error {
	a.h.Wake()
	if a.json {
		return a.emit(newWorkflowDoc(w))
	}
	a.printf("%s %s %s\n", w.ID(), a.workflowStatus(w), clean(w.Record.CurrentState))
	return nil
}

func (a *app) workflowCancelCmd() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "cancel WORKFLOW", Short: "End a workflow, and the task that it waits for", Args: names("WORKFLOW"),
		RunE: func(c *cobra.Command, args []string) error {
			w, err := a.oneWorkflow(c.Context(), args[0])
			if err != nil {
				return err
			}
			if w, err = a.st.CancelWorkflow(c.Context(), w.ID(), reason, a.operator()); err != nil {
				return refused(err)
			}
			return a.showMoved(w)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return c
}

func (a *app) workflowGraphCmd() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "graph TYPE|WORKFLOW", Short: "Draw a definition, or an instance with its state lit", Args: names("TYPE or WORKFLOW"),
		Example: "  deed workflow graph goal-loop\n  deed workflow graph 019ad2c4 --format svg > loop.svg",
		RunE: func(c *cobra.Command, args []string) error {
			draw := map[string]func(workflow.Definition, string) string{"mermaid": workflow.Mermaid, "svg": workflow.SVG}[format]
			if draw == nil {
				return usage(fmt.Errorf("--format %q is neither mermaid nor svg", format))
			}
			d, current, err := a.drawn(c.Context(), args[0])
			if err != nil {
				return err
			}
			text := draw(d, current)
			if a.json {
				return a.emit(map[string]any{"schema": "deed/workflow-graph/v1", "workflow_type": d.WorkflowType, "definition": d.Hash, "current_state": current, "format": format, "graph": text})
			}
			a.printf("%s", text)
			return nil
		},
	}
	c.Flags().StringVar(&format, "format", "mermaid", "`FORMAT`: mermaid or svg")
	return c
}

// drawn finds what is to be drawn: a definition by its type, or an instance with the definition that it was started with.
func (a *app) drawn(ctx context.Context, name string) (workflow.Definition, string, error) {
	if err := a.peek(); err != nil {
		return workflow.Definition{}, "", err
	}
	d, terr := a.definitions().Get(name)
	if terr == nil {
		return d, "", nil
	}
	if err := a.view(ctx); err != nil {
		return d, "", usage(terr)
	}
	w, err := a.st.Workflow(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return d, "", usage(terr)
	}
	if err != nil {
		return d, "", err
	}
	d, err = a.workflows().Definition(ctx, w)
	return d, w.Record.CurrentState, err
}

// maxDefinition bounds a file that is linted.
const maxDefinition = 1 << 20

func (a *app) workflowLintCmd() *cobra.Command {
	return &cobra.Command{
		Use: "lint FILE...", Short: "Check definitions, and say all that is wrong with them", Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.peek(); err != nil {
				return err
			}
			type doc struct {
				File       string        `json:"file"`
				OK         bool          `json:"ok"`
				Type       string        `json:"workflow_type,omitempty"`
				Definition string        `json:"definition,omitempty"`
				Faults     []fault.Fault `json:"faults,omitempty"`
			}
			var docs []doc
			bad := false
			for _, file := range args {
				data, err := plainfile.Read(file, maxDefinition)
				if err != nil {
					return usage(err)
				}
				d, err := workflow.Parse(file, data, a.known())
				x := doc{File: file, OK: err == nil, Type: d.WorkflowType, Definition: d.Hash}
				if err != nil {
					bad = true
					x.Faults = faultsOf(err)
				}
				docs = append(docs, x)
				switch {
				case a.json:
				case err != nil:
					a.printf("%s\n", cleanLines(err.Error()))
				default:
					a.printf("%s %s: workflow %s\n", a.color.Green("✓"), showPath(file), clean(d.WorkflowType))
				}
			}
			if a.json {
				if err := a.emit(map[string]any{"schema": "deed/workflow-lint/v1", "files": docs}); err != nil {
					return err
				}
			}
			if bad {
				return errNotDone
			}
			return nil
		},
	}
}

// faultsOf returns the faults of a document that was read from a file.
func faultsOf(err error) []fault.Fault {
	var ce *config.Error
	if !errors.As(err, &ce) {
		return []fault.Fault{{Path: fault.Root, Message: err.Error()}}
	}
	out := make([]fault.Fault, len(ce.Faults))
	for i, f := range ce.Faults {
		out[i] = f.Fault
	}
	return out
}
