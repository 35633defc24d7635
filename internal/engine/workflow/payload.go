package workflow

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/store"
)

// payloadKey is the member of a task's payload that describes the visit of the workflow. A context may not use it.
const payloadKey = "workflow"

// A Note is that member.
type Note struct {
	WorkflowID      string    `json:"workflow_id"`
	WorkflowType    string    `json:"workflow_type"`
	InstanceKey     string    `json:"instance_key"`
	StateID         string    `json:"state_id"`
	Visit           int       `json:"visit"`
	Iteration       int       `json:"iteration"`
	AcceptedSignals []string  `json:"accepted_signals"`
	SignalRequired  bool      `json:"signal_required"` // without one of them the task's completion leads nowhere
	Earlier         []Earlier `json:"earlier,omitempty"`
}

// An Earlier is a visit that came before, with what it left.
type Earlier struct {
	Visit     int                     `json:"visit"`
	StateID   string                  `json:"state_id"`
	Iteration int                     `json:"iteration"`
	TaskID    string                  `json:"task_id"`
	Status    agentruntime.TaskStatus `json:"status"`
	Signal    string                  `json:"workflow_signal,omitempty"`
	Summary   string                  `json:"operator_summary,omitempty"`
	Bundle    string                  `json:"bundle,omitempty"` // a directory
	Artifacts []string                `json:"artifacts,omitempty"`
}

// maxEarlier bounds how many visits a payload lists, the newest ones.
const maxEarlier = 24

// options are what a workflow's tasks are made with. They are the starter's, and kept with the instance.
type options struct {
	Spec      *deed.TaskSpec `json:"spec,omitempty"`
	AdapterID string         `json:"adapter_id,omitempty"`
	ProfileID string         `json:"profile_id,omitempty"`
	Model     string         `json:"model,omitempty"`
	Priority  *int64         `json:"priority,omitempty"`
}

// A visit is one stay in a state that is about to begin.
type visit struct {
	id, key string // the instance's
	seq     int
	state   agentruntime.WorkflowState
	place   place
	context json.RawMessage
	options json.RawMessage
	earlier []store.Visit
}

// dedupeKey is the key under which a visit makes its task: each visit makes its own, once.
func dedupeKey(id string, seq int) string { return fmt.Sprintf("%s%s/%d", task.WorkflowKeys, id, seq) }

// task makes the task of a visit: the definition's defaults, the starter's options, the context, and what came before.
func (e *Engine) task(d Definition, v visit) (store.NewTask, error) {
	var opts options
	if len(v.options) > 0 {
		if err := json.Unmarshal(v.options, &opts); err != nil {
			return store.NewTask{}, fmt.Errorf("options of workflow %s: %w", v.id, err)
		}
	}
	fields, err := object(v.context)
	if err != nil {
		return store.NewTask{}, fmt.Errorf("context of workflow %s: %w", v.id, err)
	}
	o := own(v.state)
	payload, err := e.payload(d, v, fields)
	if err != nil {
		return store.NewTask{}, err
	}
	in := agentruntime.TaskIntent{
		TaskType: v.state.TaskType, Source: clipName("workflow:" + v.id + ":" + v.state.StateID),
		Subject: clipName(fill(o.Subject, fields)), Description: fill(o.Description, fields), Priority: opts.Priority,
		RequestedProfileID: v.state.DefaultProfileID, RequestedAdapterID: opts.AdapterID, RequestedModel: opts.Model,
		SkillIDs:    v.state.DefaultSkillIDs,
		WorkflowRef: &agentruntime.WorkflowRef{WorkflowID: v.id, StateID: v.state.StateID, InstanceKey: v.key},
		Payload:     payload, Deed: e.spec(opts.Spec, v),
	}
	if in.Subject == "" {
		in.Subject = clipName(d.WorkflowType + ": " + v.state.StateID)
	}
	if in.RequestedProfileID == "" {
		in.RequestedProfileID = opts.ProfileID
	}
	if in.Priority == nil && d.Deed != nil {
		in.Priority = d.Deed.Priority
	}
	// What the starter may ask for was checked at the start; the rest is deed's own.
	row, err := e.Admission.Prepare(in, task.Caller{Trusted: true})
	if err != nil {
		return store.NewTask{}, err
	}
	row.DedupeKey, row.DedupeWindow = dedupeKey(v.id, v.seq), 0
	row.Intent.Deed.DedupeKey = row.DedupeKey
	return row, nil
}

// payload lays the state's payload over the context and adds the workflow's note.
func (e *Engine) payload(d Definition, v visit, fields map[string]json.RawMessage) (json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for k, raw := range fields {
		out[k] = raw
	}
	over, err := object(own(v.state).Payload)
	if err != nil {
		return nil, fmt.Errorf("payload of state %s: %w", v.state.StateID, err)
	}
	for k, raw := range over {
		out[k] = raw
	}
	note := Note{
		WorkflowID: v.id, WorkflowType: d.WorkflowType, InstanceKey: v.key, StateID: v.state.StateID, Visit: v.seq, Iteration: v.place.iteration,
		AcceptedSignals: signals(v.state), SignalRequired: own(v.state).OnCompleted == "",
	}
	list := v.earlier
	if len(list) > maxEarlier {
		list = list[len(list)-maxEarlier:]
	}
	for _, b := range list {
		note.Earlier = append(note.Earlier, e.earlier(b))
	}
	if out[payloadKey], err = json.Marshal(note); err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

func (e *Engine) earlier(b store.Visit) Earlier {
	x := Earlier{Visit: b.Seq, StateID: b.State, Iteration: b.Iteration, TaskID: b.TaskID, Status: b.Status}
	if b.BundleDir != "" {
		x.Bundle = filepath.Join(e.Root, b.BundleDir)
	}
	if b.Outcome != nil {
		x.Signal, x.Summary = b.Outcome.WorkflowSignal, clip(b.Outcome.OperatorSummary)
		for _, p := range b.Outcome.ArtifactPaths {
			x.Artifacts = append(x.Artifacts, filepath.Join(e.Root, filepath.FromSlash(p)))
		}
	}
	return x
}

// spec is what the starter asked of every task. It adds the work of earlier visits to the workspace, and puts their
// artifacts within reach of an isolated agent.
func (e *Engine) spec(asked *deed.TaskSpec, v visit) *deed.TaskSpec {
	var s deed.TaskSpec
	if asked != nil {
		s = *asked
	}
	if w := s.Workspace; w != nil && (w.Kind() == deed.SeedDirectory || w.Kind() == deed.SeedGit) {
		var done []string
		for _, b := range v.earlier {
			if b.Status == agentruntime.TaskCompleted && b.BundleDir != "" && b.Outcome != nil && len(b.Outcome.FileChanges) > 0 {
				done = append(done, filepath.Join(e.Root, b.BundleDir))
			}
		}
		if n := len(done); n > 0 {
			carried := *w
			carried.Type, carried.Bundle, carried.Earlier = deed.SeedBundle, done[n-1], done[:n-1]
			s.Workspace = &carried
		}
	}
	var box deed.Sandbox
	if s.Sandbox != nil {
		box = *s.Sandbox
	}
	seen := map[string]bool{}
	for _, m := range box.Mounts {
		seen[m.Inside()] = true
	}
	mounts := box.Mounts[:len(box.Mounts):len(box.Mounts)]
	list := v.earlier
	if len(list) > maxEarlier {
		list = list[len(list)-maxEarlier:]
	}
	for _, b := range list {
		dir := filepath.Join(e.Root, b.BundleDir, "files", "artifacts")
		if b.BundleDir == "" || b.Outcome == nil || len(b.Outcome.ArtifactPaths) == 0 || seen[dir] {
			continue
		}
		if fi, err := os.Stat(dir); err == nil && fi.IsDir() { // else it is no longer kept
			mounts, seen[dir] = append(mounts, deed.Mount{Source: dir}), true
		}
	}
	if len(mounts) > len(box.Mounts) {
		box.Mounts = mounts
		s.Sandbox = &box
	}
	return &s
}

// object reads a JSON object member by member; nothing and null are empty.
func object(raw json.RawMessage) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	if len(raw) == 0 || string(raw) == "null" {
		return out, nil
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, err
	}
	return out, nil
}

// fill replaces {name} by the member of that name. What is no text is written as JSON, and what is not there stays.
func fill(text string, fields map[string]json.RawMessage) string {
	if !strings.Contains(text, "{") {
		return text
	}
	var pairs []string
	for name, raw := range fields {
		value := string(raw)
		var s string
		if json.Unmarshal(raw, &s) == nil {
			value = s
		}
		pairs = append(pairs, "{"+name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// clipName bounds a one-line text to what a record takes, on a boundary of characters.
func clipName(s string) string {
	const most = 500
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-3], "") + "…"
}
