package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/engine/workflow"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
)

type workflowQuery struct {
	Type   string `query:"type" doc:"only this type"`
	All    bool   `query:"all" doc:"those that have ended too"`
	Limit  int    `query:"limit" default:"50" min:"1" max:"500" doc:"at most so many"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
}

type graphQuery struct {
	ID     string `path:"id" doc:"of the workflow"`
	Format string `query:"format" enum:"mermaid,svg" default:"mermaid" doc:"of the drawing"`
}

// Workflow is an instance of a definition.
type Workflow struct {
	Workflow   agentruntime.WorkflowRecord `json:"workflow"`
	Definition string                      `json:"definition"` // its hash
	Visit      int                         `json:"visit"`
	Iteration  int                         `json:"iteration"`
	TaskID     string                      `json:"task_id,omitempty"`
	ActionID   string                      `json:"action_id,omitempty"`
	Reason     string                      `json:"reason,omitempty"`
	Ending     string                      `json:"ending,omitempty"`
	StartedBy  string                      `json:"started_by,omitempty"`
}

// WorkflowStep is one recorded step.
type WorkflowStep struct {
	Seq        int                     `json:"seq"`
	From       string                  `json:"from,omitempty"`
	To         string                  `json:"to"`
	Signal     string                  `json:"signal,omitempty"`
	Cause      string                  `json:"cause"`
	By         string                  `json:"by,omitempty"`
	CauseTask  string                  `json:"cause_task_id,omitempty"`
	TaskID     string                  `json:"task_id,omitempty"`
	TaskStatus agentruntime.TaskStatus `json:"task_status,omitempty"`
	AttemptID  string                  `json:"attempt_id,omitempty"`
	Iteration  int                     `json:"iteration"`
	Note       string                  `json:"note,omitempty"`
	At         agentruntime.Timestamp  `json:"at"`
}

// WorkflowDetail is an instance with its steps and its definition.
type WorkflowDetail struct {
	Schema     string          `json:"schema"`
	Workflow   Workflow        `json:"workflow"`
	Steps      []WorkflowStep  `json:"steps"`
	Definition json.RawMessage `json:"definition"` // the one that it was started with
	Signals    []string        `json:"signals"`    // that lead on from where it stands
}

// WorkflowType is a definition that can be started.
type WorkflowType struct {
	Type        string `json:"workflow_type"`
	Description string `json:"description,omitempty"`
	Hash        string `json:"definition"`
	Source      string `json:"source"`
}

// WorkflowTypes are the definitions, and what is wrong with others.
type WorkflowTypes struct {
	Schema string         `json:"schema"`
	Types  []WorkflowType `json:"types"`
	Faults []string       `json:"faults"`
}

// WorkflowStart asks for an instance.
type WorkflowStart struct {
	Type      string          `json:"workflow_type" jsonschema:"minLength=1,maxLength=512"`
	Key       string          `json:"instance_key" jsonschema:"minLength=1,maxLength=512"` // unique while it lives
	State     string          `json:"state,omitempty" jsonschema:"maxLength=512"`          // absent: the initial one
	Context   json.RawMessage `json:"context,omitempty"`                                   // an object; its members go into every task's payload
	AdapterID string          `json:"adapter_id,omitempty" jsonschema:"maxLength=512"`     // of every task
	ProfileID string          `json:"profile_id,omitempty" jsonschema:"maxLength=512"`     // where the definition names none
	Model     string          `json:"model,omitempty" jsonschema:"maxLength=512"`
	Priority  *int64          `json:"priority,omitempty"`
	Spec      *deed.TaskSpec  `json:"spec,omitempty"` // of every task; from those only who may do what an operator at the machine may
}

// WorkflowStarted is the instance that was started, or the one that was there.
type WorkflowStarted struct {
	Schema   string   `json:"schema"`
	Workflow Workflow `json:"workflow"`
	Deduped  bool     `json:"deduped"`
}

// WorkflowSignal moves a workflow on.
type WorkflowSignal struct {
	Signal string `json:"signal" jsonschema:"minLength=1,maxLength=512"`
	Note   string `json:"note,omitempty" jsonschema:"maxLength=4096"`
}

// Graph is a drawing of a workflow with its state lit.
type Graph struct {
	Schema       string `json:"schema"`
	WorkflowType string `json:"workflow_type"`
	Definition   string `json:"definition"`
	CurrentState string `json:"current_state"`
	Format       string `json:"format"`
	Graph        string `json:"graph"`
}

func workflowOf(w store.Workflow) Workflow {
	return Workflow{
		Workflow: w.Record, Definition: w.Definition, Visit: w.Visit, Iteration: w.Iteration, TaskID: w.TaskID, ActionID: w.ActionID, Reason: w.Reason,
		Ending: w.Ending, StartedBy: w.StartedBy,
	}
}

func (a *API) workflows() {
	get(a, "/workflows", about{id: "listWorkflows", tag: "workflows", summary: "List workflows, newest first", need: access.Read, position: true}, a.listWorkflows)
	get(a, "/workflow-types", about{id: "listWorkflowTypes", tag: "workflows", summary: "List what can be started", need: access.Read}, a.listWorkflowTypes)
	get(a, "/workflows/{id}", about{id: "getWorkflow", tag: "workflows", summary: "Show a workflow, every step that it took, and what it waits for", need: access.Read, position: true}, a.getWorkflow)
	get(a, "/workflows/{id}/graph", about{id: "getWorkflowGraph", tag: "workflows", summary: "Draw a workflow with its state lit", need: access.Read}, a.getGraph)
	post(a, "/workflows", about{id: "startWorkflow", tag: "workflows", summary: "Start a workflow, unless one with its key lives", need: access.Operate, status: http.StatusCreated, repeatable: true, conflicts: true}, a.startWorkflow)
	post(a, "/workflows/{id}/signal", about{id: "signalWorkflow", tag: "workflows", summary: "Move a workflow on that waits or is blocked", need: access.Operate, of: "getWorkflow", conflicts: true},
		func(ctx context.Context, in one, b WorkflowSignal) (Workflow, error) {
			w, err := a.Store.Workflow(ctx, in.ID)
			if err != nil {
				return Workflow{}, err
			}
			if w, err = a.Workflows.Signal(ctx, workflow.SignalRequest{WorkflowID: w.ID(), Signal: b.Signal, By: by(ctx), Note: b.Note}); err != nil {
				return Workflow{}, err
			}
			a.changed()
			return workflowOf(w), nil
		})
	post(a, "/workflows/{id}/cancel", about{id: "cancelWorkflow", tag: "workflows", summary: "End a workflow, and the task that it waits for", need: access.Operate, of: "getWorkflow", optional: true, conflicts: true},
		func(ctx context.Context, in one, b Reason) (Workflow, error) {
			w, err := a.Store.Workflow(ctx, in.ID)
			if err != nil {
				return Workflow{}, err
			}
			if w, err = a.Store.CancelWorkflow(ctx, w.ID(), b.Reason, by(ctx)); err != nil {
				return Workflow{}, err
			}
			a.changed()
			return workflowOf(w), nil
		})
}

func (a *API) listWorkflows(ctx context.Context, in workflowQuery) (Page[Workflow], error) {
	digest := filterDigest(in.Type, in.All)
	before, err := readCursor(in.Cursor, "workflows", digest)
	if err != nil {
		return Page[Workflow]{}, err
	}
	found, err := a.Store.Workflows(ctx, store.WorkflowFilter{Type: in.Type, All: in.All, Limit: in.Limit + 1, Before: before})
	if err != nil {
		return Page[Workflow]{}, gone(before, err)
	}
	return pageOf("deed/workflows/v1", "workflows", digest, in.Limit, found, store.Workflow.ID, workflowOf), nil
}

func (a *API) listWorkflowTypes(context.Context, none) (WorkflowTypes, error) {
	cat := a.Workflows.Catalog()
	out := WorkflowTypes{Schema: "deed/workflow-types/v1", Types: []WorkflowType{}, Faults: []string{}}
	for _, d := range cat.List() {
		x := WorkflowType{Type: d.WorkflowType, Hash: d.Hash, Source: d.Source}
		if d.Deed != nil {
			x.Description = d.Deed.Description
		}
		out.Types = append(out.Types, x)
	}
	for _, err := range cat.Faults() {
		out.Faults = append(out.Faults, err.Error())
	}
	return out, nil
}

func (a *API) getWorkflow(ctx context.Context, in one) (WorkflowDetail, error) {
	w, err := a.Store.ListedWorkflow(ctx, in.ID)
	if err != nil {
		return WorkflowDetail{}, err
	}
	d := WorkflowDetail{Schema: "deed/workflow/v1", Workflow: workflowOf(w), Steps: []WorkflowStep{}, Signals: []string{}}
	def, err := a.Workflows.Definition(ctx, w)
	if err != nil {
		return d, err
	}
	d.Definition = def.Body
	if w.Live() {
		d.Signals = append(d.Signals, def.Signals(w.Record.CurrentState)...)
	}
	steps, err := workflow.Steps(ctx, a.Store, w.ID())
	if err != nil {
		return d, err
	}
	for _, s := range steps {
		d.Steps = append(d.Steps, WorkflowStep{
			Seq: s.Seq, From: s.From, To: s.To, Signal: s.Signal, Cause: s.Cause, By: s.By, CauseTask: s.CauseTask, TaskID: s.TaskID,
			TaskStatus: s.Visit.Status, AttemptID: s.Visit.AttemptID, Iteration: s.Iteration, Note: s.Note, At: agentruntime.At(s.At),
		})
	}
	return d, nil
}

func (a *API) getGraph(ctx context.Context, in graphQuery) (Graph, error) {
	w, err := a.Store.Workflow(ctx, in.ID)
	if err != nil {
		return Graph{}, err
	}
	def, err := a.Workflows.Definition(ctx, w)
	if err != nil {
		return Graph{}, err
	}
	draw := workflow.Mermaid
	if in.Format == "svg" {
		draw = workflow.SVG
	}
	return Graph{
		Schema: "deed/workflow-graph/v1", WorkflowType: def.WorkflowType, Definition: def.Hash, CurrentState: w.Record.CurrentState, Format: in.Format,
		Graph: draw(def, w.Record.CurrentState),
	}, nil
}

func (a *API) startWorkflow(ctx context.Context, _ none, b WorkflowStart) (WorkflowStarted, error) {
	if b.Spec != nil && !trusted(ctx) {
		return WorkflowStarted{}, invalid("$.spec", fault.NotAllowed, "may only be given by an admin, or on the machine itself", "leave it out")
	}
	out, err := a.Workflows.Start(ctx, workflow.StartRequest{
		Type: b.Type, InstanceKey: b.Key, State: b.State, Context: b.Context, Spec: b.Spec, AdapterID: b.AdapterID, ProfileID: b.ProfileID, Model: b.Model,
		Priority: b.Priority, By: by(ctx),
	})
	if err != nil {
		return WorkflowStarted{}, err
	}
	a.changed()
	w, err := a.Store.Workflow(ctx, out.WorkflowID)
	return WorkflowStarted{Schema: "deed/workflow.started/v1", Workflow: workflowOf(w), Deduped: out.Deduped}, err
}
