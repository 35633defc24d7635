package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/agent/action"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/engine/answer"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/store"
)

func writes(name, title, about string) *mcp.Tool {
	no := false
	return &mcp.Tool{Name: name, Title: title, Description: about, Annotations: &mcp.ToolAnnotations{Title: title, DestructiveHint: &no, OpenWorldHint: &no}}
}

func (d *desk) addWriting(s *mcp.Server) {
	mcp.AddTool(s, writes("task_add", "Add a task", "Queue a task for a coding agent. It works on a copy of the workspace, and the checks of the task prove whether the goal is reached. A dispatcher (deed serve) runs it; wait with task_wait."), d.add)
	mcp.AddTool(s, writes("action_answer", "Answer a required action", "Answer what a task asks a person: approve or deny a permission, or give a text for a question. Answer only as the person you work for has decided."), d.answer)
}

// AddInput is a task to be queued.
type AddInput struct {
	Goal      string   `json:"goal" jsonschema:"what the agent should do, in whole sentences"`
	Subject   string   `json:"subject,omitempty" jsonschema:"a short title"`
	TaskType  string   `json:"task_type,omitempty" jsonschema:"agent-task unless given"`
	Agent     string   `json:"agent,omitempty" jsonschema:"an adapter of the operator's settings; theirs for the type unless given"`
	Workspace string   `json:"workspace,omitempty" jsonschema:"an absolute directory that the agent gets a copy of; empty directory unless given; needs the role admin"`
	Checks    []string `json:"checks,omitempty" jsonschema:"shell commands that must succeed on the changed copy, such as make test; needs the role admin: else those of the task type run"`
	Scope     []string `json:"scope,omitempty" jsonschema:"globs of the only paths that may change"`
	Protect   []string `json:"protect,omitempty" jsonschema:"globs of paths that must not change"`
}

// AddResult is a queued task.
type AddResult struct {
	TaskID  string `json:"task_id"`
	Deduped bool   `json:"deduped" jsonschema:"there was one with this key: it is that one"`
}

func (d *desk) add(ctx context.Context, _ *mcp.CallToolRequest, in AddInput) (*mcp.CallToolResult, AddResult, error) {
	if strings.TrimSpace(in.Goal) == "" {
		return nil, AddResult{}, errors.New("goal is empty: say what the agent should do")
	}
	payload, err := json.Marshal(map[string]string{"goal": in.Goal})
	if err != nil {
		return nil, AddResult{}, err
	}
	spec := &deed.TaskSpec{WriteScope: in.Scope, ProtectedPaths: in.Protect}
	if in.Workspace == "" && len(in.Checks)+len(in.Scope)+len(in.Protect) == 0 {
		spec = nil
	}
	if in.Workspace != "" {
		spec.Workspace = &deed.Workspace{Source: in.Workspace}
	}
	for i, c := range in.Checks {
		spec.Checks = append(spec.Checks, deed.Check{Name: fmt.Sprintf("check-%d", i+1), Command: []string{"sh", "-c", c}})
	}
	intent := agentruntime.TaskIntent{
		TaskType: in.TaskType, Source: "mcp:" + d.who.Name, Subject: in.Subject, Description: in.Goal, RequestedAdapterID: in.Agent, Payload: payload, Deed: spec,
	}
	if intent.TaskType == "" {
		intent.TaskType = "agent-task"
	}
	var e store.Enqueued
	err = d.recorded(ctx, "mcp task_add", func() (string, error) {
		e, err = d.Add(ctx, d.who, intent)
		return e.TaskID, err
	})
	if err != nil {
		return nil, AddResult{}, err
	}
	return nil, AddResult{TaskID: e.TaskID, Deduped: e.Deduped}, nil
}

// recorded does something that changes the home, with a line of its own in the log of accesses: before it is done, and again with what
// came of it. What cannot be recorded is not done.
func (d *desk) recorded(ctx context.Context, action string, act func() (target string, err error)) error {
	e := store.AccessEntry{At: clock.System(), Name: d.who.Name, Role: d.who.Role.String(), How: string(d.who.How), Remote: d.Remote, Action: action}
	seqs, err := d.Store.LogAccess(ctx, e)
	if err != nil {
		return fmt.Errorf("nothing was done, because it could not be recorded: %w", err)
	}
	e.Seq, e.Status = seqs[0], http.StatusOK
	target, err := act()
	if e.Target = truncate.Head(target, maxNote); err != nil {
		e.Status, e.Note = http.StatusUnprocessableEntity, truncate.Head(err.Error(), maxNote)
	}
	return errors.Join(err, d.Store.EndAccess(context.WithoutCancel(ctx), e))
}

// maxNote bounds what the log keeps of a model's text.
const maxNote = 200

// AnswerInput is an answer.
type AnswerInput struct {
	ActionID string `json:"action_id" jsonschema:"of action_list"`
	Decision string `json:"decision,omitempty" jsonschema:"approve or deny, for a permission or a staged apply"`
	Text     string `json:"text,omitempty" jsonschema:"the answer to a question; with deny: the reason that the agent is told"`
}

func (d *desk) answer(ctx context.Context, _ *mcp.CallToolRequest, in AnswerInput) (*mcp.CallToolResult, ActionResult, error) {
	var w answer.Answer
	switch in.Decision {
	case "approve":
		w.Decision = &action.Decision{Decision: deed.RuleAllow, Note: in.Text}
	case "deny":
		w.Decision = &action.Decision{Decision: deed.RuleDeny, Note: in.Text}
	case "":
		if strings.TrimSpace(in.Text) == "" {
			return nil, ActionResult{}, errors.New("decision and text are both empty: give approve or deny for a permission, a text for a question")
		}
		w.Text = rawText(in.Text)
	default:
		return nil, ActionResult{}, fmt.Errorf("decision %q is neither approve nor deny", in.Decision)
	}
	var e answer.Effect
	err := d.recorded(ctx, "mcp action_answer", func() (_ string, err error) {
		e, err = d.Desk.Give(ctx, in.ActionID, d.who.Name, w)
		return in.ActionID, err
	})
	if err != nil {
		return nil, ActionResult{}, callerError(err)
	}
	if e.Applied != nil {
		return nil, ActionResult{ActionID: in.ActionID, Kind: view.KindApply, State: store.ActionAnswered}, nil
	}
	return nil, actionResult(view.ActionOf(e.Action)), nil
}

// addResources offers bundles and schemas by their addresses.
func (d *desk) addResources(s *mcp.Server) {
	s.AddResource(&mcp.Resource{URI: "deed://schemas", Name: "schemas", Title: "The ids of deed's schemas", MIMEType: "text/plain"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return text(r.Params.URI, "text/plain", strings.Join(schema.IDs(), "\n")), nil
		})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "deed://schema/{+id}", Name: "schema", Title: "A JSON Schema of deed", MIMEType: "application/schema+json"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			doc, ok := schema.Get(strings.TrimPrefix(r.Params.URI, "deed://schema/"))
			if !ok {
				return nil, mcp.ResourceNotFoundError(r.Params.URI)
			}
			return text(r.Params.URI, "application/schema+json", string(doc)), nil
		})
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: "deed://bundle/{attempt_id}/{+path}", Name: "bundle-file", Title: "A file of an evidence bundle",
		Description: "The first 256 KiB of a file in the bundle of an attempt, such as manifest.json. " + notice,
	}, d.bundleFile)
}

func (d *desk) bundleFile(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	id, path, ok := strings.Cut(strings.TrimPrefix(r.Params.URI, "deed://bundle/"), "/")
	if !ok {
		return nil, mcp.ResourceNotFoundError(r.Params.URI)
	}
	f, err := d.Views.BundleFile(ctx, id, path, 0, 0)
	if err != nil {
		return nil, callerError(err)
	}
	return text(r.Params.URI, "text/plain", f.Text), nil
}

func text(uri, kind, s string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: kind, Text: s}}}
}
