// Package task owns admission: the only way in which a task can enter the queue. It resolves an intent against its
// task type, fills what the intent leaves open, and hands the result to the store in one transaction. It runs
// nothing.
package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/skill"
	"github.com/deedrun/deed/internal/agent/usage"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/store"
)

// DefaultPriority is what a task gets that does not ask for one.
const DefaultPriority = 5

// Limits of what a task may say about itself: every attempt's evidence repeats it.
const (
	maxName    = 4 << 10
	maxText    = 1 << 20
	maxPayload = 8 << 20
)

// An Admission takes tasks in.
type Admission struct {
	Store   *store.Store
	Config  *config.Config
	Clock   clock.Clock
	Drivers driver.Set
	Skills  *skill.Catalog // nil: there is none
}

// A Caller says who hands in the intent, and how far it is trusted.
type Caller struct {
	// Trusted callers (an operator at the command line, deed itself) may give an absolute available_at and an
	// adapter of their own. A sensor, a follow-up task of an agent or a remote caller may not.
	Trusted bool
	// Isolation is what contains the caller itself. What it asks for is contained at least as well: a task must be no way
	// out of the sandbox that it was written in.
	Isolation string
	// Depth is how many follow-up tasks are between this task and the person who asked for the first.
	Depth int
}

// WorkflowKeys begins the dedupe keys under which workflows make their tasks. Nothing else may take such a key: its task would
// be taken for the workflow's own.
const WorkflowKeys = "workflow/"

// maxFollowUps bounds a chain of tasks that ask for the next.
const maxFollowUps = 16

// DefaultIsolation isolates tasks of an adapter's kind where neither they nor the configuration say how. A script does what
// its author wrote. An agent does what a model says, so it is isolated unless the operator says otherwise. A model that
// only answers can do nothing.
func DefaultIsolation(kind string) string {
	switch kind {
	case agentruntime.KindScript, agentruntime.KindOllamaGenerate, "":
		return "process"
	}
	return "namespace"
}

// stronger returns the one of two kinds of containment that holds more.
func stronger(a, b string) string {
	if slices.Index(deed.Isolations, b) > slices.Index(deed.Isolations, a) {
		return b
	}
	return a
}

// refuseRights refuses what would let an agent give itself, or the next one, more than it has: secrets, directories of
// the machine, commands that run outside an agent, less containment, a gate that asks for less than the task type does.
func refuseRights(faults *fault.List, s *deed.TaskSpec) {
	if s == nil {
		return
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"secret_env", len(s.SecretEnv) > 0},
		{"allow_secrets", len(s.AllowSecrets) > 0},
		{"workspace", s.Workspace != nil},
		{"workspaces", len(s.Workspaces) > 0},
		{"sandbox", s.Sandbox != nil},
		{"checks", len(s.Checks) > 0},
		{"isolation", s.Isolation != ""},
		{"budget", s.Budget != nil},
		{"depth", s.Depth != 0},
		{"require_changes", s.RequireChanges != nil && !*s.RequireChanges},
		{"allow_broken_base", s.AllowBrokenBase},
		{"accept_empty_output", s.AcceptEmptyOutput != nil && *s.AcceptEmptyOutput},
	} {
		if f.set {
			faults.Add("$.deed."+f.name, fault.NotAllowed, "it is accepted from operators only", "leave it out, or put it into the task type")
		}
	}
}

// Decode reads one intent strictly.
func Decode(data []byte) (agentruntime.TaskIntent, error) {
	return schema.Decode[agentruntime.TaskIntent](agentruntime.SchemaTaskIntent, data)
}

// Add admits intents, all or none, in one durable transaction.
func (a *Admission) Add(ctx context.Context, by Caller, intents ...agentruntime.TaskIntent) ([]store.Enqueued, error) {
	rows := make([]store.NewTask, len(intents))
	for i, in := range intents {
		row, err := a.Prepare(in, by)
		if err != nil {
			if len(intents) > 1 {
				return nil, fmt.Errorf("intent %d of %d: %w", i+1, len(intents), err)
			}
			return nil, err
		}
		rows[i] = row
	}
	crashpoint.Hit(crashpoint.EnqueueBefore)
	out, err := a.Store.Enqueue(ctx, rows...)
	if err != nil {
		return nil, err
	}
	crashpoint.Hit(crashpoint.EnqueueCommitted)
	return out, nil
}

// Prepare resolves an intent without storing it. All faults are reported together.
func (a *Admission) Prepare(in agentruntime.TaskIntent, by Caller) (store.NewTask, error) {
	if err := in.Validate(); err != nil {
		return store.NewTask{}, err
	}
	var faults fault.List
	for _, l := range []struct {
		path string
		size int
		most int
	}{
		{"$.source", len(in.Source), maxName},
		{"$.subject", len(in.Subject), maxName},
		{"$.description", len(in.Description), maxText},
		{"$.payload", len(in.Payload), maxPayload},
	} {
		if l.size > l.most {
			faults.Add(l.path, fault.OutOfRange, fmt.Sprintf("%d bytes are more than %d", l.size, l.most), "put it into a file of the workspace")
		}
	}
	if err := faults.Err(); err != nil {
		return store.NewTask{}, err
	}
	typ, err := a.Config.Type(in.TaskType)
	if err != nil {
		faults.Add("$.task_type", fault.Dangling, err.Error(), "")
		return store.NewTask{}, faults.Err()
	}
	if len(in.Payload) == 0 {
		in.Payload = json.RawMessage("{}")
	}
	checkPayload(&faults, typ, in.Payload)
	if !by.Trusted {
		refuseRights(&faults, in.Deed)
	}
	profileID := firstOf(in.RequestedProfileID, typ.DefaultProfileID, a.Config.ProfileID)
	profile, err := a.Config.Profile(profileID)
	if err != nil {
		faults.Add("$.requested_profile_id", fault.Dangling, err.Error(), "")
	}
	spec := Effective(in.Deed, typ)
	if spec.Depth = by.Depth; by.Depth > maxFollowUps {
		faults.Add("$.deed.depth", fault.OutOfRange, fmt.Sprintf("a chain of more than %d follow-up tasks", maxFollowUps), "ask for the task yourself")
	}
	if strings.HasPrefix(spec.DedupeKey, WorkflowKeys) {
		faults.Add("$.deed.dedupe_key", fault.NotAllowed, fmt.Sprintf("keys that begin with %s belong to workflows", WorkflowKeys), "give it another name")
	}
	for name, text := range spec.ArtifactSchemas {
		if _, err := schema.CompilePayload(text); err != nil {
			faults.Within(fault.Field("$.deed.artifact_schemas", name), err)
		}
	}
	a.policy(&faults, &spec)
	pinFiles(&faults, &spec)
	in.EvidenceRequirements = evidence(in.EvidenceRequirements, typ.SuccessPolicy)
	a.skills(&faults, &in, &spec, typ, profile)
	adapter, err := a.adapter(&in, &spec, typ, profile, by)
	if err != nil {
		faults.Add("$.requested_adapter_id", fault.Dangling, err.Error(), "")
	}
	model := firstOf(in.RequestedModel, typ.DefaultModel, profile.DefaultModel)
	if err == nil {
		a.budget(&faults, adapter, spec.Budget, model)
	}
	at := a.availableAt(&faults, in, by)
	spec.RequireGrade = deed.StrongestGrade(spec.RequireGrade, a.Config.RequireGrade)
	refuseUnreachableGrade(&faults, spec)
	spec.Isolation = stronger(firstOf(spec.Isolation, a.Config.Isolation, DefaultIsolation(adapter.Kind())), by.Isolation)
	in.Deed = &spec
	in.Schedule, in.AvailableAt = nil, "" // folded into the row's own available_at
	if err := faults.Err(); err != nil {
		return store.NewTask{}, err
	}
	row := store.NewTask{
		Intent: in, ProfileID: profileID, AdapterID: adapter.ID(),
		Model:    model,
		Priority: DefaultPriority, MaxAttempts: spec.MaxAttempts, AvailableAt: at,
		DedupeKey: spec.DedupeKey, DedupeWindow: time.Duration(spec.DedupeWindowSeconds) * time.Second,
	}
	if in.Priority != nil {
		row.Priority = *in.Priority
	}
	if row.MaxAttempts == 0 {
		row.MaxAttempts = a.Config.MaxAttempts
	}
	return row, nil
}

// refuseUnreachableGrade refuses a task that no work could fulfil: its agent would be paid for nothing.
func refuseUnreachableGrade(faults *fault.List, spec deed.TaskSpec) {
	if spec.RequireGrade != "" && !slices.ContainsFunc(spec.Checks, func(c deed.Check) bool { return !c.Advisory }) {
		faults.Add("$.deed.require_grade", fault.NotAllowed, fmt.Sprintf("the grade %s is required, and the task has no check that could prove it", spec.RequireGrade), "give a check (--check)")
	}
}

// policy adds the rules of the project's file, which the process that runs the task may not see, and checks that the lists
// exist which the task names.
func (a *Admission) policy(faults *fault.List, spec *deed.TaskSpec) {
	if spec.Policy == nil && len(a.Config.Project) == 0 {
		return
	}
	var p deed.TaskPolicy
	if spec.Policy != nil {
		p = *spec.Policy
	}
	for i, name := range p.Use {
		if _, err := a.Config.Rules(name); err != nil {
			faults.Add(fault.Index("$.deed.policy.use", i), fault.Dangling, err.Error(), "")
		}
	}
	if len(a.Config.Project) > 0 {
		p.Project = a.Config.Project
	}
	spec.Policy = &p
}

// adapter resolves who runs the task: the task's own adapter, the one it requests, the type's, the profile's, the
// configured default. An adapter from a project's file, or one that came with the task, is stored with the task.
func (a *Admission) adapter(in *agentruntime.TaskIntent, spec *deed.TaskSpec, typ agentruntime.TaskTypeSpec, p agentruntime.SubagentProfile, by Caller) (agentruntime.AdapterConfig, error) {
	var none agentruntime.AdapterConfig
	if len(spec.Adapter) > 0 {
		if !by.Trusted {
			return none, fmt.Errorf("deed.adapter is accepted from operators only; name a configured adapter instead")
		}
		cfg, err := schema.Decode[agentruntime.AdapterConfig](agentruntime.SchemaAdapterConfig, spec.Adapter)
		if err != nil {
			return none, fmt.Errorf("deed.adapter: %w", err)
		}
		if in.RequestedAdapterID != "" && in.RequestedAdapterID != cfg.ID() {
			return none, fmt.Errorf("requested_adapter_id is %q and deed.adapter is %q", in.RequestedAdapterID, cfg.ID())
		}
		if _, err := a.Drivers.For(cfg.Kind()); err != nil {
			return none, err
		}
		return cfg, nil
	}
	id := firstOf(in.RequestedAdapterID, typ.DefaultAdapterID, p.DefaultAdapterID, a.Config.AdapterID)
	if id == "" {
		return none, fmt.Errorf("no adapter: neither the task, its type, its profile nor defaults.adapter_id names one (`deed run` takes --agent or --script, `deed task add` --adapter; `deed doctor` lists what there is)")
	}
	cfg, err := a.Config.Adapter(id)
	if err != nil {
		return none, err
	}
	if _, err := a.Drivers.For(cfg.Kind()); err != nil {
		return none, err
	}
	if cfg.FromProject {
		text, err := json.Marshal(cfg.AdapterConfig)
		if err != nil {
			return none, fmt.Errorf("adapter %s: %w", id, err)
		}
		spec.Adapter = text
	}
	return cfg.AdapterConfig, nil
}

// budget refuses a budget of money that could not be held.
func (a *Admission) budget(faults *fault.List, adapter agentruntime.AdapterConfig, own *deed.Budget, model string) {
	var f *failure.Error
	if errors.As(usage.CheckAdmission(a.Config, own, adapter, model), &f) {
		faults.Add("$.deed.budget.cost_usd", fault.NotAllowed, f.Err.Error(), f.Remedy)
	}
}

// maxDelay keeps an instant inside what every engine can store.
const maxDelay = 10 * 365 * 24 * time.Hour

func (a *Admission) availableAt(faults *fault.List, in agentruntime.TaskIntent, by Caller) time.Time {
	now := a.Clock()
	switch {
	case in.AvailableAt != "":
		if !by.Trusted {
			faults.Add("$.available_at", fault.NotAllowed, "an absolute available_at is accepted from operators only", "use schedule.delay_minutes")
			return now
		}
		t, err := in.AvailableAt.Time()
		if err != nil {
			faults.Add("$.available_at", fault.BadFormat, err.Error(), "")
			return now
		}
		if t.Sub(now) > maxDelay {
			faults.Add("$.available_at", fault.OutOfRange, fmt.Sprintf("%s is more than ten years away", in.AvailableAt), "")
		}
		return t
	case in.Schedule != nil:
		m := in.Schedule.DelayMinutes
		if math.IsNaN(m) || m < 0 || m > maxDelay.Minutes() {
			faults.Add("$.schedule.delay_minutes", fault.OutOfRange, fmt.Sprintf("%v is not between 0 and %v", m, maxDelay.Minutes()), "")
			return now
		}
		return now.Add(time.Duration(m * float64(time.Minute))).Truncate(time.Microsecond)
	}
	return now
}

func checkPayload(faults *fault.List, typ agentruntime.TaskTypeSpec, payload json.RawMessage) {
	if typ.Deed == nil || len(typ.Deed.PayloadSchema) == 0 {
		if _, ok := schema.Get(typ.PayloadSchemaID); ok {
			faults.Within("$.payload", schema.Validate(typ.PayloadSchemaID, payload))
		}
		return
	}
	p, err := schema.CompilePayload(typ.Deed.PayloadSchema)
	if err != nil {
		faults.Add("$.task_type", fault.BadFormat, fmt.Sprintf("the payload schema of task type %s: %v", typ.TaskType, err), "")
		return
	}
	if err := p.Check(payload); err != nil {
		faults.Within("$.payload", err)
	}
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
