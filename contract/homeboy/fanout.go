package homeboy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// Schema ids of the records of a fanout.
const (
	SchemaFanoutConfig         = "homeboy/generic-fanout-reconcile-config/v1"
	SchemaFanoutPlan           = "homeboy/fanout-reconcile-plan/v1"
	SchemaFanoutRun            = "homeboy/fanout-reconcile-run/v1"
	SchemaFanoutResult         = "homeboy/generic-fanout-reconcile-result/v1"
	SchemaFanoutReconciliation = "homeboy/generic-fanout-reconcile-reconciliation/v1"
	SchemaFindingFanoutConfig  = "homeboy/generic-finding-packet-fanout-config/v1"
	SchemaFanoutProgress       = "homeboy/fanout-reconcile-progress/v1"
)

// A RecordStatus is the host's view of one task of a fanout; what the provider said stays in the outcome.
type RecordStatus string

// The statuses of a record.
const (
	RecordCompleted RecordStatus = "completed"
	RecordFailed    RecordStatus = "failed"
	RecordMissing   RecordStatus = "missing_record" // a planned task for which no record came back
)

// RecordStatuses lists every status of a record.
var RecordStatuses = []RecordStatus{RecordCompleted, RecordFailed, RecordMissing}

// A FanoutStatus is the status of a fanout as a whole.
type FanoutStatus string

// The statuses of a fanout.
const (
	FanoutIncomplete FanoutStatus = "incomplete"
	FanoutCompleted  FanoutStatus = "completed"
	FanoutFailed     FanoutStatus = "failed"
)

// FanoutStatuses lists every status of a fanout.
var FanoutStatuses = []FanoutStatus{FanoutIncomplete, FanoutCompleted, FanoutFailed}

// FanoutSuccessStatuses are the record statuses that count as success when a configuration names none.
var FanoutSuccessStatuses = []string{"completed", "success", "passed"}

// successWords are the words by which records in the wild say that a task is done.
var successWords = []string{"accepted", "completed", "passed", "success", "succeeded", "no_op"}

// The bounds of how many tasks of a fanout run at a time.
const (
	DefaultConcurrency = 3
	MaxConcurrency     = 16
)

// Defaults of a configuration.
const (
	DefaultGroupKeyPath = "group_key"
	DefaultOutcomePath  = "outcome"
	DefaultGroupKey     = "default"
)

// A FanoutConfig says how items become tasks, and how what comes back is read.
type FanoutConfig struct {
	Schema               string           `json:"schema" jsonschema:"minLength=1"`
	Orchestrator         map[string]Value `json:"orchestrator,omitempty"`
	Items                []Value          `json:"items,omitempty"`
	Groups               []FanoutGroup    `json:"groups,omitempty"` // used in place of items when it is not empty
	GroupKeyPath         string           `json:"group_key_path,omitempty"`
	TaskRequestTemplate  map[string]Value `json:"task_request_template,omitempty"`
	RuntimeExecution     map[string]Value `json:"runtime_execution,omitempty"`
	PlanSchema           string           `json:"plan_schema,omitempty"`
	ResultSchema         string           `json:"result_schema,omitempty"`
	ReconciliationSchema string           `json:"reconciliation_schema,omitempty"`
	Summary              map[string]Value `json:"summary,omitempty"`
	BaseRun              map[string]Value `json:"base_run,omitempty"`
	IncludeSummary       *bool            `json:"include_summary,omitempty"` // absent is true
	SuccessStatuses      []string         `json:"success_statuses,omitempty"`
	OutcomePath          string           `json:"outcome_path,omitempty"`
	Concurrency          int64            `json:"concurrency,omitempty" jsonschema:"minimum=1,maximum=16"`
	Extra                Extra            `json:"-"`
}

// A FanoutGroup is a group that a configuration names.
type FanoutGroup struct {
	Key   string  `json:"key" jsonschema:"minLength=1"`
	Items []Value `json:"items,omitempty"`
	Extra Extra   `json:"-"`
}

// A FindingFanoutConfig is a FanoutConfig whose items are the findings of packets.
type FindingFanoutConfig struct {
	Schema               string             `json:"schema" jsonschema:"minLength=1"`
	Packets              []map[string]Value `json:"packets"`
	FindingPolicy        *FindingPolicy     `json:"finding_policy,omitempty"`
	Orchestrator         map[string]Value   `json:"orchestrator,omitempty"`
	TaskRequestTemplate  map[string]Value   `json:"task_request_template,omitempty"`
	RuntimeExecution     map[string]Value   `json:"runtime_execution,omitempty"`
	PlanSchema           string             `json:"plan_schema,omitempty"`
	ResultSchema         string             `json:"result_schema,omitempty"`
	ReconciliationSchema string             `json:"reconciliation_schema,omitempty"`
	Summary              map[string]Value   `json:"summary,omitempty"`
	BaseRun              map[string]Value   `json:"base_run,omitempty"`
	IncludeSummary       *bool              `json:"include_summary,omitempty"`
	SuccessStatuses      []string           `json:"success_statuses,omitempty"`
	OutcomePath          string             `json:"outcome_path,omitempty"`
	Concurrency          int64              `json:"concurrency,omitempty" jsonschema:"minimum=1,maximum=16"`
	Extra                Extra              `json:"-"`
}

// Base returns the configuration of the fanout of the findings, once they are items.
func (c FindingFanoutConfig) Base(items []Value) FanoutConfig {
	return FanoutConfig{
		Schema: SchemaFanoutConfig, Orchestrator: c.Orchestrator, Items: items, TaskRequestTemplate: c.TaskRequestTemplate,
		RuntimeExecution: c.RuntimeExecution, PlanSchema: c.PlanSchema, ResultSchema: c.ResultSchema,
		ReconciliationSchema: c.ReconciliationSchema, Summary: c.Summary, BaseRun: c.BaseRun, IncludeSummary: c.IncludeSummary,
		SuccessStatuses: c.SuccessStatuses, OutcomePath: c.OutcomePath, Concurrency: c.Concurrency, Extra: c.Extra,
	}
}

// A FindingPolicy says where in a packet its findings are and how they are grouped. Paths are dotted.
type FindingPolicy struct {
	PacketIDPath     string `json:"packet_id_path,omitempty"`     // absent: id
	FindingsPath     string `json:"findings_path,omitempty"`      // absent: findings
	FindingIDPath    string `json:"finding_id_path,omitempty"`    // absent: id
	GroupBy          Texts  `json:"group_by,omitempty"`           // absent: DefaultGroupBy
	GroupKeyTemplate string `json:"group_key_template,omitempty"` // wins over GroupBy
	FallbackGroupKey string `json:"fallback_group_key,omitempty"` // absent: default
	IncludePacket    *bool  `json:"include_packet,omitempty"`     // absent is true
	Extra            Extra  `json:"-"`
}

// DefaultGroupBy is how findings are grouped when a policy does not say.
var DefaultGroupBy = []string{"finding.type", "finding.severity"}

// A FanoutPlan is the tasks of a fanout, before anything runs.
type FanoutPlan struct {
	Schema         string                `json:"schema" jsonschema:"minLength=1"`
	Orchestrator   map[string]Value      `json:"orchestrator"`
	Summary        map[string]Value      `json:"summary,omitempty"`
	Groups         []PlannedGroup        `json:"groups"`
	TaskRequests   []FanoutTask          `json:"task_requests"`
	Reconciliation *FanoutReconciliation `json:"reconciliation,omitempty"`
	Extra          Extra                 `json:"-"`
}

// A PlannedGroup is one group of a plan.
type PlannedGroup struct {
	Key       string `json:"key"`
	Index     int64  `json:"index" jsonschema:"minimum=0"`
	ItemCount int64  `json:"item_count" jsonschema:"minimum=0"`
	Extra     Extra  `json:"-"`
}

// A FanoutTask is one task of a plan. What the template rendered beside these members is in Extra.
type FanoutTask struct {
	ID               string           `json:"id,omitempty"`
	TaskID           string           `json:"task_id,omitempty"`
	GroupKey         string           `json:"group_key,omitempty"`
	Orchestrator     map[string]Value `json:"orchestrator,omitempty"`
	RuntimeExecution map[string]Value `json:"runtime_execution,omitempty"`
	Extra            Extra            `json:"-"`
}

// Name returns what identifies the task: task_id, id or group_key, in this order; "" for none.
func (t FanoutTask) Name() string { return firstText(t.TaskID, t.ID, t.GroupKey) }

func firstText(texts ...string) string {
	for _, s := range texts {
		if s = strings.TrimSpace(s); s != "" {
			return s
		}
	}
	return ""
}

// A FanoutRecord is what came back for one task.
type FanoutRecord struct {
	ID           string       `json:"id,omitempty"`
	TaskID       string       `json:"task_id,omitempty"`
	GroupKey     string       `json:"group_key,omitempty"`
	Status       RecordStatus `json:"status"`
	Success      *bool        `json:"success,omitempty"`
	Outcome      Value        `json:"outcome,omitempty"`
	ErrorMessage string       `json:"error_message,omitempty"`
	Extra        Extra        `json:"-"`
}

// Name returns the task that the record is of, as FanoutTask.Name does.
func (r FanoutRecord) Name() string { return firstText(r.TaskID, r.ID, r.GroupKey) }

// Normalised returns the status of a record in the vocabulary. A status that is one stays, whatever else the record
// says; otherwise the record is completed if a member says so in any word of the wild, and failed if none does.
func (r FanoutRecord) Normalised() RecordStatus {
	if slices.Contains(RecordStatuses, r.Status) {
		return r.Status
	}
	said := []string{string(r.Status), text(r.Extra["outcome_status"]), text(r.Extra["provider_status"])}
	if outcome, err := split(r.Outcome); err == nil {
		said = append(said, text(outcome["status"]))
	}
	// The record's own words count before a flag: a status that is none of the success words is a failure.
	if r.Status == "" && isTrue(r.Success) {
		return RecordCompleted
	}
	for _, word := range said {
		if word != "" {
			if slices.Contains(successWords, word) {
				return RecordCompleted
			}
			return RecordFailed
		}
	}
	return RecordFailed
}

// Succeeded reports whether a record counts as success under the statuses that a configuration names.
func (r FanoutRecord) Succeeded(statuses []string) bool {
	if len(statuses) == 0 {
		statuses = FanoutSuccessStatuses
	}
	return slices.Contains(statuses, string(r.Status)) || slices.Contains(statuses, string(r.Normalised()))
}

func text(v Value) string {
	s, _ := v.Text()
	return strings.TrimSpace(s)
}

// A FanoutRun is a fanout while it runs and when it is over, with a record for each task, in the order of the plan.
type FanoutRun struct {
	Schema         string                `json:"schema" jsonschema:"minLength=1"`
	PlanSchema     string                `json:"plan_schema,omitempty"`
	Orchestrator   map[string]Value      `json:"orchestrator,omitempty"`
	Summary        map[string]Value      `json:"summary,omitempty"`
	Status         FanoutStatus          `json:"status"`
	CurrentGroup   Value                 `json:"current_group,omitempty"` // the first that runs, or null
	CurrentGroups  []Value               `json:"current_groups,omitempty"`
	Records        []FanoutRecord        `json:"records"`
	Outcomes       []Value               `json:"outcomes"`
	Reconciliation *FanoutReconciliation `json:"reconciliation,omitempty"`
	Extra          Extra                 `json:"-"`
}

// A FanoutResult is made of a plan and of records that were collected elsewhere. Records that belong to no task, and
// further records of one task, count for nothing and are reported.
type FanoutResult struct {
	Schema           string                `json:"schema" jsonschema:"minLength=1"`
	PlanSchema       string                `json:"plan_schema,omitempty"`
	Orchestrator     map[string]Value      `json:"orchestrator,omitempty"`
	Summary          map[string]Value      `json:"summary,omitempty"`
	Status           FanoutStatus          `json:"status"`
	Records          []FanoutRecord        `json:"records"`
	UnknownRecords   []Value               `json:"unknown_records,omitempty"`
	DuplicateRecords []Value               `json:"duplicate_records,omitempty"`
	Outcomes         []Value               `json:"outcomes"`
	Reconciliation   *FanoutReconciliation `json:"reconciliation,omitempty"`
	Extra            Extra                 `json:"-"`
}

// A FanoutReconciliation counts a fanout.
type FanoutReconciliation struct {
	Schema        string   `json:"schema" jsonschema:"minLength=1"`
	GroupCount    int64    `json:"group_count" jsonschema:"minimum=0"`
	TaskCount     int64    `json:"task_count" jsonschema:"minimum=0"`
	RecordCount   int64    `json:"record_count" jsonschema:"minimum=0"`
	SuccessCount  int64    `json:"success_count" jsonschema:"minimum=0"`
	FailureCount  int64    `json:"failure_count" jsonschema:"minimum=0"`
	OutcomeCount  int64    `json:"outcome_count" jsonschema:"minimum=0"`
	FailedTaskIDs []string `json:"failed_task_ids"`

	// What the counts above do not tell apart, or leave out.
	MissingCount   int64 `json:"missing_count,omitempty" jsonschema:"minimum=0"` // of the failures: tasks without a record
	UnknownCount   int64 `json:"unknown_record_count,omitempty" jsonschema:"minimum=0"`
	DuplicateCount int64 `json:"duplicate_record_count,omitempty" jsonschema:"minimum=0"`
	Extra          Extra `json:"-"`
}

// A FanoutProgress is told when a task of a fanout starts and ends.
type FanoutProgress struct {
	Schema      string `json:"schema" jsonschema:"minLength=1"`
	Status      string `json:"status" jsonschema:"enum=started,enum=completed,enum=failed,enum=missing_record"`
	ID          string `json:"id" jsonschema:"minLength=1"`
	GroupKey    string `json:"group_key,omitempty"`
	GroupIndex  int64  `json:"group_index" jsonschema:"minimum=1"` // the first is 1
	GroupCount  int64  `json:"group_count" jsonschema:"minimum=1"`
	OutcomeKind string `json:"outcome_kind,omitempty"`
	Extra       Extra  `json:"-"`
}

// ProgressStarted is the status of a task that starts; at the end it is that of its record.
const ProgressStarted = "started"

// Workers returns how many tasks run at a time: 3 when the configuration does not say, at most 16.
func (c FanoutConfig) Workers() int {
	switch {
	case c.Concurrency < 1:
		return DefaultConcurrency
	case c.Concurrency > MaxConcurrency:
		return MaxConcurrency
	}
	return int(c.Concurrency)
}

// mendConfig knows the camel-case names of both configurations.
func mendConfig(m *members) {
	m.alias("task_request_template", "taskRequestTemplate")
	m.alias("plan_schema", "planSchema")
	m.alias("result_schema", "resultSchema")
	m.alias("reconciliation_schema", "reconciliationSchema")
	m.alias("outcome_path", "outcomePath")
	m.alias("base_run", "baseRun")
	m.alias("include_summary", "includeSummary")
	m.alias("success_statuses", "successStatuses")
	m.runtime()
	m.concurrency()
}

// runtime finds the execution: the first of four names that says something wins, and it is not the canonical one that
// is first.
func (m *members) runtime() {
	for _, name := range []string{"runtime", "runtime_execution", "runtimeExecution", "executor"} {
		raw := m.raw[name]
		if !isObject(raw) {
			continue
		}
		if name == "runtime_execution" {
			return
		}
		m.r.warn(fault.Field(m.at, name), WarnAlias, "is called runtime_execution in the contract", raw)
		if !m.raw["runtime_execution"].Null() {
			m.r.warn(fault.Field(m.at, "runtime_execution"), WarnDropped, "stands beside "+name+", which counts", m.raw["runtime_execution"])
		}
		m.raw["runtime_execution"] = raw
		delete(m.raw, name)
		return
	}
}

// concurrency takes a number that is written as a text, and leaves out what is no number: the default counts then.
func (m *members) concurrency() {
	raw := m.raw["concurrency"]
	var n int64
	if s, ok := raw.Text(); ok {
		m.r.warn(m.at+".concurrency", WarnForm, "is a string", raw)
		if _, err := fmt.Sscanf(s, "%d", &n); err != nil {
			n = 0
		}
		if n = min(n, MaxConcurrency); n < 1 {
			delete(m.raw, "concurrency")
			return
		}
		m.raw["concurrency"] = Value(fmt.Sprint(n))
	}
}

func (c *FanoutConfig) mend(m *members) {
	m.alias("group_key_path", "groupKeyPath", "group_by", "groupBy")
	mendConfig(m)
}

func (c *FindingFanoutConfig) mend(m *members) {
	m.alias("packets", "finding_packets", "findingPackets")
	m.alias("finding_policy", "findingPolicy")
	mendConfig(m)
}

func (p *FindingPolicy) mend(m *members) {
	m.alias("group_by", "groupBy", "group_key_paths", "groupKeyPaths")
	m.alias("packet_id_path", "packetIdPath")
	m.alias("findings_path", "findingsPath")
	m.alias("finding_id_path", "findingIdPath")
	m.alias("group_key_template", "groupKeyTemplate")
	m.alias("fallback_group_key", "fallbackGroupKey")
	m.alias("include_packet", "includePacket")
}

func (g *FanoutGroup) mend(m *members) { m.alias("key", "group_key", "id") }
