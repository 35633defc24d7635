package agentruntime

import (
	"fmt"
	"math"

	"github.com/deedrun/deed/contract/fault"
)

// MaxDelayMinutes is the longest relative delay: ten years.
const MaxDelayMinutes = 10 * 365 * 24 * 60

// Validate returns every fault of the record.
func (t TaskIntent) Validate() error {
	var l fault.List
	schemaIs(&l, t.Schema, SchemaTaskIntent)
	l.Name("$.task_type", t.TaskType)
	l.Name("$.source", t.Source)
	l.Text("$.subject", t.Subject)
	l.Text("$.description", t.Description)
	l.OptionalName("$.requested_profile_id", t.RequestedProfileID)
	l.OptionalName("$.requested_adapter_id", t.RequestedAdapterID)
	l.OptionalName("$.requested_model", t.RequestedModel)
	l.Names("$.skill_ids", t.SkillIDs)
	if w := t.WorkflowRef; w != nil {
		l.Name("$.workflow_ref.workflow_id", w.WorkflowID)
		l.Name("$.workflow_ref.state_id", w.StateID)
		l.Name("$.workflow_ref.instance_key", w.InstanceKey)
	}
	if s := t.Schedule; s != nil {
		delay(&l, "$.schedule.delay_minutes", s.DelayMinutes)
		if t.AvailableAt != "" {
			l.Add("$.available_at", fault.Conflict, "is set beside schedule.delay_minutes", "use the instant or the delay, not both")
		}
	}
	optionalInstant(&l, "$.available_at", t.AvailableAt)
	l.Object("$.payload", t.Payload)
	if e := t.EvidenceRequirements; e != nil {
		for i, p := range e.RequiredArtifacts {
			l.RelativePath(fault.Index("$.evidence_requirements.required_artifacts", i), p)
		}
	}
	if t.Deed != nil {
		l.Within("$.deed", t.Deed.Validate())
		if fault.IsObject(t.Deed.Adapter) {
			var a AdapterConfig
			if err := a.UnmarshalJSON(t.Deed.Adapter); err != nil {
				l.Add("$.deed.adapter", fault.BadFormat, err.Error(), "write an "+SchemaAdapterConfig)
			} else {
				l.Within("$.deed.adapter", a.Validate())
			}
		}
	}
	return l.Err()
}

func delay(l *fault.List, at string, minutes float64) {
	switch {
	case math.IsNaN(minutes), math.IsInf(minutes, 0):
		l.Add(at, fault.OutOfRange, "is not a finite number", "use 0 or more minutes")
	case minutes < 0:
		l.Add(at, fault.OutOfRange, fmt.Sprintf("%g is negative", minutes), "use 0 or more minutes")
	case minutes > MaxDelayMinutes:
		l.Add(at, fault.OutOfRange, fmt.Sprintf("%g is more than ten years", minutes), fmt.Sprintf("use at most %d minutes", MaxDelayMinutes))
	}
}

// Validate returns every fault of the record: what its status says must agree with its outcome, its times and its
// counts.
func (t TaskRecord) Validate() error {
	var l fault.List
	schemaIs(&l, t.Schema, SchemaTaskRecord)
	l.Name("$.task_id", t.TaskID)
	l.Name("$.task_type", t.TaskType)
	l.Name("$.source", t.Source)
	for _, m := range []struct {
		at string
		v  *string
	}{{"$.subject", t.Subject}, {"$.description", t.Description}, {"$.last_error", t.LastError}} {
		if m.v != nil {
			l.Text(m.at, *m.v)
		}
	}
	l.Object("$.payload", t.Payload)
	l.Name("$.requested_profile_id", t.RequestedProfileID)
	for _, m := range []struct {
		at string
		v  *string
	}{{"$.requested_adapter_id", t.RequestedAdapterID}, {"$.requested_model", t.RequestedModel}} {
		if m.v != nil {
			l.Name(m.at, *m.v)
		}
	}
	fault.OneOf(&l, "$.status", t.Status, TaskStatuses...)
	if t.MaxAttempts < 1 {
		l.Add("$.max_attempts", fault.OutOfRange, fmt.Sprintf("%d is less than 1", t.MaxAttempts), "allow at least one attempt")
	}
	if t.AttemptCount < 0 {
		l.Add("$.attempt_count", fault.OutOfRange, fmt.Sprintf("%d is negative", t.AttemptCount), "count from 0")
	}
	if t.AttemptCount > t.MaxAttempts {
		l.Add("$.attempt_count", fault.Conflict, fmt.Sprintf("%d is more than max_attempts %d", t.AttemptCount, t.MaxAttempts), "no task runs more often than it may")
	}
	instant(&l, "$.available_at", t.AvailableAt)
	instant(&l, "$.created_at", t.CreatedAt)
	instant(&l, "$.updated_at", t.UpdatedAt)
	nullableInstant(&l, "$.started_at", t.StartedAt)
	nullableInstant(&l, "$.finished_at", t.FinishedAt)
	if t.Outcome != nil {
		l.Within("$.outcome", t.Outcome.Validate())
	}
	t.coherent(&l)
	return l.Err()
}

// Terminal reports whether a task in this state never changes by itself again.
func (s TaskStatus) Terminal() bool {
	return s == TaskCompleted || s == TaskPermanentFailure || s == TaskOperatorCanceled
}

func (t TaskRecord) coherent(l *fault.List) {
	status := clip(string(t.Status))
	if t.Status.Terminal() {
		if t.FinishedAt == nil {
			l.Add("$.finished_at", fault.Conflict, "is null and the status is "+status, "a finished task says when")
		}
		if t.Outcome == nil {
			l.Add("$.outcome", fault.Conflict, "is null and the status is "+status, "a finished task has an outcome")
		}
	} else if t.FinishedAt != nil && t.Status != TaskBlocked {
		l.Add("$.finished_at", fault.Conflict, "is set and the status is "+status, "only a finished task has it")
	}
	switch t.Status {
	case TaskPending, TaskRunning:
		if t.Outcome != nil {
			l.Add("$.outcome", fault.Conflict, "is set and the status is "+status, "a task that is not settled has none")
		}
	default:
		if t.Outcome != nil && t.Outcome.Status != t.Status {
			l.Add("$.outcome.status", fault.Conflict, fmt.Sprintf("is %q and the task is %q", clip(string(t.Outcome.Status)), status), "task and outcome say the same")
		}
	}
	if t.Status == TaskRunning || t.Status == TaskCompleted {
		if t.StartedAt == nil {
			l.Add("$.started_at", fault.Conflict, "is null and the status is "+status, "a task that ran says when it started")
		}
		if t.AttemptCount == 0 {
			l.Add("$.attempt_count", fault.Conflict, "is 0 and the status is "+status, "a task that ran has an attempt")
		}
	}
}

// Validate returns every fault of the record.
func (t TaskAttempt) Validate() error {
	var l fault.List
	schemaIs(&l, t.Schema, SchemaTaskAttempt)
	l.Name("$.attempt_id", t.AttemptID)
	l.Name("$.task_id", t.TaskID)
	l.Name("$.adapter_id", t.AdapterID)
	l.Name("$.adapter_kind", t.AdapterKind)
	if t.Model != nil {
		l.Name("$.model", *t.Model)
	}
	l.Name("$.runner_id", t.RunnerID)
	instant(&l, "$.started_at", t.StartedAt)
	nullableInstant(&l, "$.ended_at", t.EndedAt)
	fault.OneOf(&l, "$.exit_status", t.ExitStatus, ExitStatuses...)
	fault.OneOf(&l, "$.retry_class", t.RetryClass, RetryClasses...)
	l.OptionalRelativePath("$.prompt_path", t.PromptPath)
	l.OptionalRelativePath("$.stdout_path", t.StdoutPath)
	l.OptionalRelativePath("$.stderr_path", t.StderrPath)
	l.OptionalRelativePath("$.result_path", t.ResultPath)
	l.OptionalRelativePath("$.last_message_path", t.LastMessagePath)
	l.OptionalObject("$.diagnostics", t.Diagnostics)
	return l.Err()
}

// OutcomeStatuses lists the states that an outcome can have.
var OutcomeStatuses = []TaskStatus{TaskCompleted, TaskRetryableFailure, TaskPermanentFailure, TaskBlocked, TaskOperatorCanceled}

// Machine returns the machine status that goes with an outcome's status, or "" for a state that no outcome has.
func (s TaskStatus) Machine() MachineStatus {
	switch s {
	case TaskCompleted:
		return MachineOK
	case TaskRetryableFailure:
		return MachineNeedsRetry
	case TaskPermanentFailure:
		return MachineFailed
	case TaskBlocked:
		return MachineBlocked
	case TaskOperatorCanceled:
		return MachineCanceled
	}
	return ""
}

// Validate returns every fault of the record: each status has its one machine status, so that completed without ok
// cannot be written down.
func (o TaskOutcome) Validate() error {
	var l fault.List
	schemaIs(&l, o.Schema, SchemaTaskOutcome)
	fault.OneOf(&l, "$.status", o.Status, OutcomeStatuses...)
	fault.OneOf(&l, "$.machine_status", o.MachineStatus, MachineStatuses...)
	if want := o.Status.Machine(); want != "" && o.MachineStatus != want {
		l.Add("$.machine_status", fault.Conflict, fmt.Sprintf("is %q and the status is %s", clip(string(o.MachineStatus)), o.Status), fmt.Sprintf("%s goes with %q", o.Status, want))
	}
	l.Text("$.operator_summary", o.OperatorSummary)
	for i, p := range o.FileChanges {
		l.Path(fault.Index("$.file_changes", i), p)
	}
	for i, p := range o.ArtifactPaths {
		l.Path(fault.Index("$.artifact_paths", i), p)
	}
	l.OptionalName("$.workflow_signal", o.WorkflowSignal)
	for i, t := range o.FollowUpTasks {
		if err := t.Validate(); err != nil {
			l.Within(fault.Index("$.follow_up_tasks", i), err)
		}
	}
	for i, m := range o.ExternalMessages {
		l.Object(fault.Index("$.external_messages", i), m)
	}
	return l.Err()
}
