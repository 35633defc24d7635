package homeboy

import (
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// An Outcome is what a provider command writes to its standard output: how the task ended, as the provider sees it.
type Outcome struct {
	Schema                string           `json:"schema" jsonschema:"minLength=1"`
	TaskID                string           `json:"task_id" jsonschema:"minLength=1,maxLength=512"`
	Status                OutcomeStatus    `json:"status"`
	Summary               string           `json:"summary,omitempty"`
	FailureClassification FailureClass     `json:"failure_classification,omitempty"`
	FailureCode           string           `json:"failure_code,omitempty"`
	FailureCategory       string           `json:"failure_category,omitempty"`
	Retryable             *bool            `json:"retryable,omitempty"` // a provider's opinion; absent: none
	Artifacts             []Artifact       `json:"artifacts,omitempty"`
	TypedArtifacts        []TypedArtifact  `json:"typed_artifacts,omitempty"`
	EvidenceRefs          []EvidenceRef    `json:"evidence_refs,omitempty"`
	Diagnostics           []Diagnostic     `json:"diagnostics,omitempty"`
	Outputs               map[string]Value `json:"outputs,omitempty"`
	Workflow              *Workflow        `json:"workflow,omitempty"`
	FollowUp              *FollowUp        `json:"follow_up,omitempty"`
	Metadata              Value            `json:"metadata,omitempty"`
	Extra                 Extra            `json:"-"`
}

// The categories of a failure, finer than its class.
const (
	CategoryAuth              = "provider.auth"
	CategoryRateLimit         = "provider.rate_limit"
	CategoryQuota             = "provider.quota"
	CategoryModel             = "provider.model"
	CategoryProviderError     = "provider.error"
	CategoryTimeout           = "runtime.timeout"
	CategoryTransient         = "runtime.transient"
	CategoryCapabilityMissing = "runtime.capability_missing"
	CategoryExecutionFailed   = "runtime.execution_failed"
	CategoryInvalidInput      = "task.invalid_input"
	CategoryPolicyDenied      = "task.policy_denied"
)

// FailureCategories lists every category of a failure.
var FailureCategories = []string{
	CategoryAuth, CategoryRateLimit, CategoryQuota, CategoryModel, CategoryProviderError, CategoryTimeout, CategoryTransient,
	CategoryCapabilityMissing, CategoryExecutionFailed, CategoryInvalidInput, CategoryPolicyDenied,
}

// retryableCategory says of each category whether trying again can help.
var retryableCategory = map[string]bool{
	CategoryRateLimit: true, CategoryProviderError: true, CategoryTimeout: true, CategoryTransient: true,
	CategoryAuth: false, CategoryQuota: false, CategoryModel: false, CategoryCapabilityMissing: false,
	CategoryExecutionFailed: false, CategoryInvalidInput: false, CategoryPolicyDenied: false,
}

// CategoryRetryable reports whether trying again can help with a category of failure, and whether the category is one.
func CategoryRetryable(category string) (retryable, known bool) {
	retryable, known = retryableCategory[category]
	return retryable, known
}

// An Artifact is one file, or one address, that a task left.
type Artifact struct {
	Schema      string `json:"schema,omitempty" jsonschema:"enum=homeboy/agent-task-artifact/v1"`
	ID          string `json:"id" jsonschema:"minLength=1,maxLength=512"`
	Kind        string `json:"kind" jsonschema:"minLength=1,maxLength=512"`
	Name        string `json:"name,omitempty"`
	Label       string `json:"label,omitempty"`
	Role        string `json:"role,omitempty"`
	SemanticKey string `json:"semantic_key,omitempty"`
	Path        string `json:"path,omitempty"` // relative to the working directory, or absolute
	URL         string `json:"url,omitempty"`
	Mime        string `json:"mime,omitempty"`
	SizeBytes   *int64 `json:"size_bytes,omitempty" jsonschema:"minimum=0"` // a claim; the host measures
	SHA256      string `json:"sha256,omitempty"`                            // a claim; the host hashes
	Metadata    Value  `json:"metadata,omitempty"`
	Extra       Extra  `json:"-"`
}

// KindPatch is the role of a change that can be applied.
const KindPatch = "patch"

// A TypedArtifact is an artifact whose content is in the outcome itself.
type TypedArtifact struct {
	Name           string `json:"name" jsonschema:"minLength=1,maxLength=512"`
	Type           string `json:"type,omitempty"`
	ArtifactSchema string `json:"artifact_schema,omitempty"`
	Payload        Value  `json:"payload,omitempty"`
	Artifact       Value  `json:"artifact,omitempty"`
	Metadata       Value  `json:"metadata,omitempty"`
	Extra          Extra  `json:"-"`
}

// An EvidenceRef points at something that shows what happened.
type EvidenceRef struct {
	Schema string `json:"schema,omitempty" jsonschema:"enum=homeboy/agent-task-evidence-ref/v1"`
	Kind   string `json:"kind" jsonschema:"minLength=1"`
	URI    string `json:"uri" jsonschema:"minLength=1"`
	Label  string `json:"label,omitempty"`
	Extra  Extra  `json:"-"`
}

// A Diagnostic is one thing that a provider or the host has to say about a run.
type Diagnostic struct {
	Class   string `json:"class" jsonschema:"minLength=1"`
	Message string `json:"message" jsonschema:"minLength=1"`
	Data    Value  `json:"data,omitempty"`
	Extra   Extra  `json:"-"`
}

// Classes of diagnostics that other rules look for.
const (
	DiagnosticDependencyMissing = "output_dependency_missing"     // the task never ran: what it needs was not made
	DiagnosticBackpressure      = "backpressure"                  // the task never ran: the queue was full
	DiagnosticImmediateFailure  = "agent_task.immediate_failure"  // the provider's package has a name for the failure
	DiagnosticDependencyFailure = "agent_task.dependency_failure" // the provider's package knows what it lacked
	DiagnosticProviderSetup     = "provider_setup"                // the provider cannot run here
	DiagnosticRepair            = "agent_task.outcome_repaired"
)

// The statuses of a step of a workflow.
const (
	StepPending   = "pending"
	StepRunning   = "running"
	StepSucceeded = "succeeded"
	StepFailed    = "failed"
	StepSkipped   = "skipped"
	StepCancelled = "cancelled"
)

// StepStatuses lists every status of a step.
var StepStatuses = []string{StepPending, StepRunning, StepSucceeded, StepFailed, StepSkipped, StepCancelled}

// A Workflow tells the steps that a provider took.
type Workflow struct {
	Schema   string         `json:"schema,omitempty" jsonschema:"enum=homeboy/agent-task-workflow/v1"`
	ID       string         `json:"id" jsonschema:"minLength=1,maxLength=512"`
	Label    string         `json:"label,omitempty"`
	Steps    []WorkflowStep `json:"steps,omitempty"`
	Metadata Value          `json:"metadata,omitempty"`
	Extra    Extra          `json:"-"`
}

// A WorkflowStep is one step of a workflow.
type WorkflowStep struct {
	ID           string       `json:"id" jsonschema:"minLength=1,maxLength=512"`
	Label        string       `json:"label,omitempty"`
	Status       string       `json:"status" jsonschema:"enum=pending,enum=running,enum=succeeded,enum=failed,enum=skipped,enum=cancelled"`
	DependsOn    []string     `json:"depends_on,omitempty"`
	StartedAt    string       `json:"started_at,omitempty"`
	FinishedAt   string       `json:"finished_at,omitempty"`
	DurationMS   *int64       `json:"duration_ms,omitempty" jsonschema:"minimum=0"`
	Metrics      Value        `json:"metrics,omitempty"`
	ArtifactRefs []string     `json:"artifact_refs,omitempty"`
	Diagnostics  []Diagnostic `json:"diagnostics,omitempty"`
	Suggestions  []FollowUp   `json:"suggestions,omitempty"`
	Metadata     Value        `json:"metadata,omitempty"`
	Extra        Extra        `json:"-"`
}

// A FollowUp is something that should be done next, by somebody.
type FollowUp struct {
	Kind  string `json:"kind" jsonschema:"minLength=1"`
	Title string `json:"title" jsonschema:"minLength=1"`
	Body  string `json:"body,omitempty"`
	URI   string `json:"uri,omitempty"`
	Extra Extra  `json:"-"`
}

// IsSuccess reports whether a status says that what was asked for is done.
func IsSuccess(s OutcomeStatus) bool { return s == Succeeded || s == NoOp }

// Validate returns every fault of the outcome.
func (o Outcome) Validate() error {
	var l fault.List
	ownSchema(&l, o.Schema, SchemaOutcome)
	l.Name("$.task_id", o.TaskID)
	fault.OneOf(&l, "$.status", o.Status, OutcomeStatuses...)
	l.Text("$.summary", o.Summary)
	if o.FailureClassification != "" {
		fault.OneOf(&l, "$.failure_classification", o.FailureClassification, FailureClasses...)
		if IsSuccess(o.Status) {
			l.Add("$.failure_classification", fault.Conflict, "is set and the status is "+string(o.Status), "only a failure has a class")
		}
	}
	for i, a := range o.Artifacts {
		l.Within(fault.Index("$.artifacts", i), a.Validate())
	}
	for i, a := range o.TypedArtifacts {
		l.Name(fault.Index("$.typed_artifacts", i)+".name", a.Name)
	}
	for i, e := range o.EvidenceRefs {
		evidenceRef(&l, fault.Index("$.evidence_refs", i), e)
	}
	diagnostics(&l, "$.diagnostics", o.Diagnostics)
	if o.Workflow != nil {
		l.Within("$.workflow", o.Workflow.Validate())
	}
	if f := o.FollowUp; f != nil {
		l.Say("$.follow_up.kind", f.Kind)
		l.Say("$.follow_up.title", f.Title)
	}
	return l.Err()
}

// Validate returns every fault of the artifact.
func (a Artifact) Validate() error {
	var l fault.List
	optionalSchema(&l, "$", a.Schema, SchemaArtifact)
	l.Name("$.id", a.ID)
	l.Name("$.kind", a.Kind)
	l.OptionalPath("$.path", a.Path)
	if a.SizeBytes != nil {
		l.Between("$.size_bytes", *a.SizeBytes, 0, 1<<53)
	}
	if a.SHA256 != "" && (len(a.SHA256) != 64 || strings.Trim(a.SHA256, "0123456789abcdef") != "") {
		l.Add("$.sha256", fault.BadFormat, "is not a SHA-256 in lower-case hexadecimal", "write 64 digits, or leave it out")
	}
	return l.Err()
}

func diagnostics(l *fault.List, at string, all []Diagnostic) {
	for i, d := range all {
		in := fault.Index(at, i)
		l.Say(in+".class", d.Class)
		l.Say(in+".message", d.Message)
	}
}

// Validate returns every fault of the workflow.
func (w Workflow) Validate() error {
	var l fault.List
	optionalSchema(&l, "$", w.Schema, SchemaWorkflow)
	l.Name("$.id", w.ID)
	ids := make([]string, len(w.Steps))
	for i, s := range w.Steps {
		ids[i] = s.ID
	}
	for i, s := range w.Steps {
		at := fault.Index("$.steps", i)
		l.Name(at+".id", s.ID)
		if s.ID != "" && slices.Contains(ids[:i], s.ID) {
			l.Add(at+".id", fault.Duplicate, "is there twice", "give every step its own id")
		}
		fault.OneOf(&l, at+".status", s.Status, StepStatuses...)
		for j, on := range s.DependsOn {
			if !slices.Contains(ids, on) {
				l.Add(fault.Index(at+".depends_on", j), fault.Dangling, "is not a step of this workflow", "name one of the steps")
			}
		}
		if s.DurationMS != nil {
			l.Between(at+".duration_ms", *s.DurationMS, 0, 1<<53)
		}
		diagnostics(&l, at+".diagnostics", s.Diagnostics)
		for j, f := range s.Suggestions {
			l.Say(fault.Index(at+".suggestions", j)+".kind", f.Kind)
			l.Say(fault.Index(at+".suggestions", j)+".title", f.Title)
		}
	}
	return l.Err()
}
