// Package catalog owns the table of published records: which Go type stands for which schema id, which of them
// people author, and what reflection cannot see of them. Reading and generating both work from this table; adding
// a record is adding a line.
package catalog

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/contract/settings"
)

// A Record is one published record.
type Record struct {
	ID   string
	Type reflect.Type
}

// Records lists every published record.
var Records = []Record{
	{agentruntime.SchemaAgentIdentity, reflect.TypeFor[agentruntime.AgentIdentity]()},
	{agentruntime.SchemaAgentConstitution, reflect.TypeFor[agentruntime.AgentConstitution]()},
	{agentruntime.SchemaWalletIdentity, reflect.TypeFor[agentruntime.WalletIdentity]()},
	{agentruntime.SchemaAdapterConfig, reflect.TypeFor[agentruntime.AdapterConfig]()},
	{agentruntime.SchemaAgentProfile, reflect.TypeFor[agentruntime.SubagentProfile]()},
	{agentruntime.SchemaSkillManifest, reflect.TypeFor[agentruntime.SkillManifest]()},
	{agentruntime.SchemaSensorEvent, reflect.TypeFor[agentruntime.SensorEvent]()},
	{agentruntime.SchemaTaskIntent, reflect.TypeFor[agentruntime.TaskIntent]()},
	{agentruntime.SchemaTaskRecord, reflect.TypeFor[agentruntime.TaskRecord]()},
	{agentruntime.SchemaTaskAttempt, reflect.TypeFor[agentruntime.TaskAttempt]()},
	{agentruntime.SchemaTaskOutcome, reflect.TypeFor[agentruntime.TaskOutcome]()},
	{agentruntime.SchemaWorkflowDefinition, reflect.TypeFor[agentruntime.WorkflowDefinition]()},
	{agentruntime.SchemaWorkflowRecord, reflect.TypeFor[agentruntime.WorkflowRecord]()},
	{agentruntime.SchemaRecurringSchedule, reflect.TypeFor[agentruntime.RecurringScheduleRecord]()},
	{agentruntime.SchemaArtifactRecord, reflect.TypeFor[agentruntime.ArtifactRecord]()},
	{agentruntime.SchemaTaskTypeSpec, reflect.TypeFor[agentruntime.TaskTypeSpec]()},
	{agentruntime.SchemaRuntimeEvent, reflect.TypeFor[agentruntime.RuntimeEventRecord]()},

	{agentruntime.SchemaTurn, reflect.TypeFor[agentruntime.Turn]()},
	{agentruntime.SchemaToolCall, reflect.TypeFor[agentruntime.ToolCall]()},
	{agentruntime.SchemaToolResult, reflect.TypeFor[agentruntime.ToolResult]()},
	{agentruntime.SchemaCompletionAttempt, reflect.TypeFor[agentruntime.CompletionAttempt]()},
	{agentruntime.SchemaCompletionDecision, reflect.TypeFor[agentruntime.CompletionDecision]()},
	{agentruntime.SchemaRecoveryAttempt, reflect.TypeFor[agentruntime.RecoveryAttempt]()},
	{agentruntime.SchemaRequiredAction, reflect.TypeFor[agentruntime.RequiredAction]()},
	{agentruntime.SchemaContextCompaction, reflect.TypeFor[agentruntime.ContextCompaction]()},
	{agentruntime.SchemaSubagentRun, reflect.TypeFor[agentruntime.SubagentRun]()},
	{agentruntime.SchemaPolicyDecision, reflect.TypeFor[agentruntime.PolicyDecision]()},
	{agentruntime.SchemaJournalEvent, reflect.TypeFor[agentruntime.JournalEvent]()},
	{agentruntime.SchemaUsage, reflect.TypeFor[agentruntime.Usage]()},
	{agentruntime.SchemaAgentState, reflect.TypeFor[agentruntime.AgentStateChange]()},
	{agentruntime.SchemaRuntimeTask, reflect.TypeFor[agentruntime.RuntimeTask]()},

	{deed.SchemaTaskSpec, reflect.TypeFor[deed.TaskSpec]()},
	{deed.SchemaTypeSpec, reflect.TypeFor[deed.TypeSpec]()},
	{deed.SchemaWorkflowSpec, reflect.TypeFor[deed.WorkflowSpec]()},
	{deed.SchemaStateSpec, reflect.TypeFor[deed.StateSpec]()},
	{deed.SchemaGoalPayload, reflect.TypeFor[deed.GoalPayload]()},
	{deed.SchemaVerdict, reflect.TypeFor[deed.Verdict]()},
	{deed.SchemaAdapterAudit, reflect.TypeFor[deed.AdapterAudit]()},
	{deed.SchemaProgress, reflect.TypeFor[deed.Progress]()},
	{deed.SchemaError, reflect.TypeFor[deed.Error]()},
	{deed.SchemaMessage, reflect.TypeFor[deed.Message]()},
	{deed.SchemaNotification, reflect.TypeFor[deed.Notification]()},
	{deed.SchemaAbilities, reflect.TypeFor[deed.Abilities]()},
	{deed.SchemaConformReport, reflect.TypeFor[deed.ConformReport]()},
	{deed.SchemaReport, reflect.TypeFor[deed.Report]()},
	{deed.SchemaSnapshot, reflect.TypeFor[deed.Snapshot]()},
	{runner.SchemaReport, reflect.TypeFor[runner.Report]()},
	{runner.SchemaVerification, reflect.TypeFor[runner.Verification]()},
	{runner.SchemaAudit, reflect.TypeFor[runner.AuditReport]()},
	{settings.Schema, reflect.TypeFor[settings.Config]()},

	{evidence.SchemaManifest, reflect.TypeFor[evidence.Manifest]()},
	{evidence.SchemaMetadata, reflect.TypeFor[evidence.Metadata]()},
	{evidence.SchemaChangedFiles, reflect.TypeFor[evidence.ChangedFiles]()},
	{evidence.SchemaTestResults, reflect.TypeFor[evidence.TestResults]()},
	{evidence.SchemaReview, reflect.TypeFor[evidence.Review]()},
	{evidence.SchemaCompletionOutcome, reflect.TypeFor[evidence.CompletionOutcome]()},
	{evidence.SchemaAgentResult, reflect.TypeFor[evidence.AgentResult]()},
	{evidence.SchemaAgentTranscript, reflect.TypeFor[evidence.AgentTranscript]()},
	{evidence.SchemaToolCallTranscript, reflect.TypeFor[evidence.ToolCallTranscript]()},
	{evidence.SchemaRuntimeReferenceManifest, reflect.TypeFor[evidence.RuntimeReferenceManifest]()},
	{evidence.SchemaRedaction, reflect.TypeFor[evidence.RedactionSummary]()},
	{codebox.SchemaRuntimeStack, reflect.TypeFor[codebox.RuntimeStack]()},
	{evidence.SchemaVerification, reflect.TypeFor[evidence.BundleVerification]()},

	{evidence.SchemaApplyPreflight, reflect.TypeFor[evidence.ApplyPreflight]()},
	{evidence.SchemaApplyResult, reflect.TypeFor[evidence.ApplyResult]()},
	{evidence.SchemaApplyAudit, reflect.TypeFor[evidence.ApplyAudit]()},
	{evidence.SchemaArtifactApply, reflect.TypeFor[evidence.ArtifactApply]()},
	{evidence.SchemaPendingApplyPreview, reflect.TypeFor[evidence.PendingApplyPreview]()},
	{evidence.SchemaEvidenceEnvelope, reflect.TypeFor[evidence.EvidenceEnvelope]()},
	{codebox.SchemaCaptureRequest, reflect.TypeFor[codebox.CaptureRequest]()},
	{codebox.SchemaCaptureResult, reflect.TypeFor[codebox.CaptureResult]()},
	{codebox.SchemaCommandRequest, reflect.TypeFor[codebox.CommandRequest]()},
	{codebox.SchemaCommandResult, reflect.TypeFor[codebox.CommandResult]()},
	{codebox.SchemaPublicationRequest, reflect.TypeFor[codebox.PublicationRequest]()},
	{codebox.SchemaPublicationResult, reflect.TypeFor[codebox.PublicationResult]()},
	{codebox.SchemaProviderRuntime, reflect.TypeFor[codebox.ProviderRuntimeContract]()},
	{codebox.SchemaAbilityRunRequest, reflect.TypeFor[codebox.AbilityRunRequest]()},
	{codebox.SchemaAbilityRunResult, reflect.TypeFor[codebox.AbilityRunResult]()},
	{codebox.SchemaComponentContractResult, reflect.TypeFor[codebox.ComponentContractResult]()},

	{evidence.SchemaRunRegistryEntry, reflect.TypeFor[evidence.RunRegistryEntry]()},
	{evidence.SchemaRunLifecycle, reflect.TypeFor[evidence.RunLifecycle]()},
	{evidence.SchemaRunResourceEvidence, reflect.TypeFor[evidence.RunResourceEvidence]()},
	{evidence.SchemaRecipePhaseEvidence, reflect.TypeFor[evidence.RunPhaseEvidence]()},
	{evidence.SchemaRunCancellationRequest, reflect.TypeFor[evidence.RunCancellationRequest]()},

	{codebox.SchemaRequest, reflect.TypeFor[codebox.Request]()},
	{codebox.SchemaTaskInput, reflect.TypeFor[codebox.TaskInput]()},
	{evidence.SchemaStructuredArtifact, reflect.TypeFor[evidence.StructuredArtifact]()},
	{codebox.SchemaSandboxToolPolicy, reflect.TypeFor[codebox.SandboxToolPolicy]()},
	{codebox.SchemaAgentTaskRun, reflect.TypeFor[codebox.AgentTaskRun]()},
	{codebox.SchemaSandboxSession, reflect.TypeFor[codebox.SandboxSession]()},
	{evidence.SchemaAgentTaskResult, reflect.TypeFor[evidence.AgentTaskResult]()},
	{codebox.SchemaAgentTaskRunResult, reflect.TypeFor[codebox.AgentTaskRunResult]()},
	{evidence.SchemaTerminalResult, reflect.TypeFor[evidence.TerminalResult]()},
	{codebox.SchemaFailureEvidence, reflect.TypeFor[codebox.FailureEvidence]()},
	{codebox.SchemaCLIFailure, reflect.TypeFor[codebox.CLIFailure]()},

	{homeboy.SchemaRequest, reflect.TypeFor[homeboy.Request]()},
	{homeboy.SchemaRuntimeCommand, reflect.TypeFor[homeboy.RuntimeCommandRequest]()},
	{homeboy.SchemaOutcome, reflect.TypeFor[homeboy.Outcome]()},
	{homeboy.SchemaAggregate, reflect.TypeFor[homeboy.Aggregate]()},
	{homeboy.SchemaManifest, reflect.TypeFor[homeboy.RuntimeManifest]()},
	{homeboy.SchemaProvider, reflect.TypeFor[homeboy.ExecutorProvider]()},
	{homeboy.SchemaRunnerSpec, reflect.TypeFor[homeboy.RunnerSpec]()},
	{homeboy.SchemaFanoutConfig, reflect.TypeFor[homeboy.FanoutConfig]()},
	{homeboy.SchemaFanoutPlan, reflect.TypeFor[homeboy.FanoutPlan]()},
	{homeboy.SchemaFanoutRun, reflect.TypeFor[homeboy.FanoutRun]()},
	{homeboy.SchemaFanoutResult, reflect.TypeFor[homeboy.FanoutResult]()},
	{homeboy.SchemaFanoutReconciliation, reflect.TypeFor[homeboy.FanoutReconciliation]()},
	{homeboy.SchemaFindingFanoutConfig, reflect.TypeFor[homeboy.FindingFanoutConfig]()},
	{homeboy.SchemaFanoutProgress, reflect.TypeFor[homeboy.FanoutProgress]()},
	{homeboy.SchemaPromotionReport, reflect.TypeFor[homeboy.PromotionReport]()},
	{homeboy.SchemaMatrixPlan, reflect.TypeFor[homeboy.MatrixPlan]()},
	{homeboy.SchemaMatrixAggregate, reflect.TypeFor[homeboy.MatrixAggregate]()},
}

// SchemaID returns the id that a type's own `schema` member must hold, or "".
func SchemaID(t reflect.Type) string {
	for _, u := range Unions {
		for _, m := range u.Members {
			if m.Type != t {
				continue
			}
			if u.Key == "schema" {
				return m.Word // the schema itself tells the members apart
			}
			t = u.Type
			break
		}
	}
	for _, r := range Records {
		if r.Type == t {
			return r.ID
		}
	}
	return ""
}

// open holds the records that deed writes. A reader tolerates members it does not know in them, because a newer
// deed may have written them; in everything else, which people author, an unknown member is a fault.
var open = []reflect.Type{
	reflect.TypeFor[agentruntime.TaskRecord](),
	reflect.TypeFor[agentruntime.TaskAttempt](),
	reflect.TypeFor[agentruntime.TaskOutcome](),
	reflect.TypeFor[agentruntime.WorkflowRecord](),
	reflect.TypeFor[agentruntime.ArtifactRecord](),
	reflect.TypeFor[agentruntime.RuntimeEventRecord](),
	reflect.TypeFor[agentruntime.Turn](),
	reflect.TypeFor[agentruntime.ToolCall](),
	reflect.TypeFor[agentruntime.ToolResult](),
	reflect.TypeFor[agentruntime.CompletionAttempt](),
	reflect.TypeFor[agentruntime.CompletionDecision](),
	reflect.TypeFor[agentruntime.RecoveryAttempt](),
	reflect.TypeFor[agentruntime.RequiredAction](),
	reflect.TypeFor[agentruntime.ContextCompaction](),
	reflect.TypeFor[agentruntime.SubagentRun](),
	reflect.TypeFor[agentruntime.PolicyDecision](),
	reflect.TypeFor[agentruntime.JournalEvent](),
	reflect.TypeFor[agentruntime.Usage](),
	reflect.TypeFor[agentruntime.AgentStateChange](),
	reflect.TypeFor[agentruntime.RuntimeTask](),
	reflect.TypeFor[agentruntime.Budget](),
	reflect.TypeFor[deed.Verdict](),
	reflect.TypeFor[deed.Reason](),
	reflect.TypeFor[deed.CheckResult](),
	reflect.TypeFor[deed.ChangedInput](),
	reflect.TypeFor[deed.CheckComparison](),
	reflect.TypeFor[deed.AdapterAudit](),
	reflect.TypeFor[deed.AuditCommand](),
	reflect.TypeFor[deed.Progress](),
	reflect.TypeFor[deed.Error](),
	reflect.TypeFor[deed.ErrorReason](),
	reflect.TypeFor[fault.Fault](),
	reflect.TypeFor[deed.GoalPayload](),
	reflect.TypeFor[deed.ConformReport](),
	reflect.TypeFor[deed.ConformTotals](),
	reflect.TypeFor[deed.ConformCheck](),
}

// requests holds the records of the sandbox contract that people author; all others of it are written by programs.
var requests = []reflect.Type{
	reflect.TypeFor[codebox.CaptureRequest](),
	reflect.TypeFor[codebox.CommandRequest](),
	reflect.TypeFor[codebox.PublicationRequest](),
	reflect.TypeFor[codebox.RunnerWorkspaceRef](),
	reflect.TypeFor[codebox.AbilityRunRequest](),
}

// Open reports whether unknown members of a struct are tolerated. The records of an evidence bundle and of an envelope
// are written by programs; what a caller authors of that vocabulary is not open, with all that it consists of.
func Open(t reflect.Type) bool {
	if p := t.PkgPath(); strings.HasSuffix(p, "/contract/codebox") || strings.HasSuffix(p, "/contract/evidence") {
		return !authored()[t]
	}
	if Extra(t) >= 0 {
		return true // it keeps what it does not know
	}
	return slices.Contains(open, t) || strings.HasSuffix(t.PkgPath(), "/contract/runner") // programs write all of it
}

// authored holds every struct that a request for a run consists of, and the other requests.
var authored = sync.OnceValue(func() map[reflect.Type]bool {
	found := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(t.Elem())
		case reflect.Struct:
			if found[t] {
				return
			}
			found[t] = true
			for i := range t.NumField() {
				visit(t.Field(i).Type)
			}
		}
	}
	visit(Request.Type)
	for _, t := range requests {
		found[t] = true
	}
	return found
})

// A Union is a type whose JSON is one of several members, told apart by the word in one of their fields.
type Union struct {
	Type    reflect.Type
	Key     string
	Members []Member
}

// A Member is one case of a union.
type Member struct {
	Word  string
	Field string // the union's own field that holds it, as a pointer
	Type  reflect.Type
}

// Unions lists every union of the contract.
var Unions = []*Union{&Adapter, &Request}

// UnionOf returns the union that a type is, or nil.
func UnionOf(t reflect.Type) *Union {
	for _, u := range Unions {
		if u.Type == t {
			return u
		}
	}
	return nil
}

// Request is the request for a run of an agent, as it is or wrapped.
var Request = Union{
	Type: reflect.TypeFor[codebox.Request](),
	Key:  "schema",
	Members: []Member{
		{codebox.SchemaTaskInput, "Plain", reflect.TypeFor[codebox.TaskRequest]()},
		{codebox.SchemaRequest, "Wrapped", reflect.TypeFor[codebox.WrappedRequest]()},
	},
}

// Adapter is the configuration of an adapter, by its kind.
var Adapter = Union{
	Type: reflect.TypeFor[agentruntime.AdapterConfig](),
	Key:  "kind",
	Members: []Member{
		{agentruntime.KindClaudeCode, "ClaudeCode", reflect.TypeFor[agentruntime.ClaudeCodeAdapter]()},
		{agentruntime.KindCodex, "Codex", reflect.TypeFor[agentruntime.CodexAdapter]()},
		{agentruntime.KindHermesAgent, "HermesAgent", reflect.TypeFor[agentruntime.HermesAgentAdapter]()},
		{agentruntime.KindOllamaGenerate, "OllamaGenerate", reflect.TypeFor[agentruntime.OllamaGenerateAdapter]()},
		{agentruntime.KindScript, "Script", reflect.TypeFor[agentruntime.ScriptAdapter]()},
		{agentruntime.KindACP, "ACP", reflect.TypeFor[agentruntime.ACPAdapter]()},
		{agentruntime.KindCommand, "Command", reflect.TypeFor[agentruntime.CommandAdapter]()},
		{agentruntime.KindNative, "Native", reflect.TypeFor[agentruntime.NativeAdapter]()},
		{agentruntime.KindOpencode, "Opencode", reflect.TypeFor[agentruntime.OpencodeAdapter]()},
		{agentruntime.KindPackaged, "Packaged", reflect.TypeFor[agentruntime.PackagedAdapter]()},
	},
}

// Raw returns the type that a raw member holds, or nil for a free-form object. Such a member stays raw in Go only
// because its type lives in a package that imports this one's.
func Raw(owner reflect.Type, name string) reflect.Type {
	if owner == reflect.TypeFor[deed.TaskSpec]() && name == "adapter" {
		return Adapter.Type
	}
	return nil
}

// Words returns the closed set of a named string type, or nil.
func Words(t reflect.Type) []string { return words[t] }

var words = map[reflect.Type][]string{
	reflect.TypeFor[agentruntime.TaskStatus]():         texts(agentruntime.TaskStatuses),
	reflect.TypeFor[agentruntime.MachineStatus]():      texts(agentruntime.MachineStatuses),
	reflect.TypeFor[agentruntime.ExitStatus]():         texts(agentruntime.ExitStatuses),
	reflect.TypeFor[agentruntime.RetryClass]():         texts(agentruntime.RetryClasses),
	reflect.TypeFor[agentruntime.ArtifactRole]():       texts(agentruntime.ArtifactRoles),
	reflect.TypeFor[agentruntime.WorkflowStatus]():     texts(agentruntime.WorkflowStatuses),
	reflect.TypeFor[agentruntime.ProfileStyle]():       texts(agentruntime.ProfileStyles),
	reflect.TypeFor[agentruntime.ExternalNameSource](): texts(agentruntime.ExternalNameSources),
	reflect.TypeFor[agentruntime.AgentState]():         texts(agentruntime.AgentStates),
	reflect.TypeFor[agentruntime.ToolStatus]():         texts(agentruntime.ToolStatuses),
	reflect.TypeFor[agentruntime.PolicyEffect]():       texts(agentruntime.PolicyEffects),
	reflect.TypeFor[evidence.RunStatus]():              texts(evidence.RunStatuses),
	reflect.TypeFor[homeboy.OutcomeStatus]():           texts(homeboy.OutcomeStatuses),
	reflect.TypeFor[homeboy.FailureClass]():            texts(homeboy.FailureClasses),
	reflect.TypeFor[homeboy.AggregateStatus]():         texts(homeboy.AggregateStatuses),
	reflect.TypeFor[homeboy.RecordStatus]():            texts(homeboy.RecordStatuses),
	reflect.TypeFor[homeboy.FanoutStatus]():            texts(homeboy.FanoutStatuses),
	reflect.TypeFor[homeboy.PromotionStatus]():         texts(homeboy.PromotionStatuses),
	reflect.TypeFor[homeboy.MatrixVerdict]():           texts(homeboy.MatrixVerdicts),
}

func texts[S ~string](in []S) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return out
}
