package deed

import (
	"fmt"

	"github.com/deedrun/deed/contract/fault"
)

// The ids of Report and Snapshot.
const (
	SchemaReport   = "deed/report/v1"
	SchemaSnapshot = "deed/snapshot/v1"
)

// A Report is what happened in a span of time, and what waits for a person at its end. Lists are bounded; More says what was left out.
type Report struct {
	Schema    string           `json:"schema"`
	From      string           `json:"from" jsonschema:"minLength=1"` // included
	To        string           `json:"to" jsonschema:"minLength=1"`   // not included
	CreatedAt string           `json:"created_at" jsonschema:"minLength=1"`
	Headline  string           `json:"headline" jsonschema:"minLength=1"`
	Totals    ReportTotals     `json:"totals"`
	Done      []ReportTask     `json:"done,omitempty"`
	Failures  []ReportFailure  `json:"failures,omitempty"`
	Refusals  []ReportRefusal  `json:"refusals,omitempty"`
	Waiting   []ReportWaiting  `json:"waiting,omitempty"`
	Retries   []ReportRetry    `json:"retries,omitempty"` // the next first
	Workflows []ReportWorkflow `json:"workflows,omitempty"`
	Schedules []ReportSchedule `json:"schedules,omitempty"`
	Sensors   []ReportSensor   `json:"sensors,omitempty"` // those that fail now
	Cost      ReportCost       `json:"cost"`
	More      map[string]int   `json:"more,omitempty"`      // by list: how many entries it lacks
	Truncated bool             `json:"truncated,omitempty"` // more happened than is read at once: the totals are those of the newest part
}

// ReportTotals are the numbers of a report.
type ReportTotals struct {
	Attempts  int `json:"attempts" jsonschema:"minimum=0"`
	Completed int `json:"completed" jsonschema:"minimum=0"` // tasks
	NoOp      int `json:"no_op" jsonschema:"minimum=0"`     // of the completed that are listed: nothing had to be changed
	Failed    int `json:"failed" jsonschema:"minimum=0"`
	Canceled  int `json:"canceled" jsonschema:"minimum=0"`
	Refused   int `json:"refused" jsonschema:"minimum=0"`            // attempts that the gate did not accept
	Waiting   int `json:"waiting" jsonschema:"minimum=0"`            // things that a person has to answer
	Retrying  int `json:"retrying,omitempty" jsonschema:"minimum=0"` // tasks that failed and are tried again by themselves
	Delivered int `json:"messages_delivered" jsonschema:"minimum=0"`
	Given     int `json:"messages_failed" jsonschema:"minimum=0"` // given up
}

// A ReportTask is a task that was done, with what proves it.
type ReportTask struct {
	TaskID       string   `json:"task_id" jsonschema:"minLength=1"`
	AttemptID    string   `json:"attempt_id,omitempty"`
	Subject      string   `json:"subject,omitempty"`
	TaskType     string   `json:"task_type,omitempty"`
	FinishedAt   string   `json:"finished_at" jsonschema:"minLength=1"`
	ChecksPassed []string `json:"checks_passed,omitempty"`
	Grade        string   `json:"grade,omitempty" jsonschema:"enum=unchecked,enum=passing,enum=fixed"` // what the checks prove; absent before grades were given
	FilesChanged int      `json:"files_changed" jsonschema:"minimum=0"`
	NoOp         bool     `json:"no_op,omitempty"`
	BundleID     string   `json:"bundle_id,omitempty"`
	Command      string   `json:"command,omitempty"` // that shows it
}

// A ReportFailure is why tasks failed for good, by class.
type ReportFailure struct {
	Class     string   `json:"class" jsonschema:"minLength=1"`
	About     string   `json:"about,omitempty"`
	Tasks     int      `json:"tasks" jsonschema:"minimum=1"`
	TaskIDs   []string `json:"task_ids,omitempty"` // the newest ones
	Subject   string   `json:"subject,omitempty"`  // of the newest
	LastError string   `json:"last_error,omitempty"`
	Command   string   `json:"command,omitempty"` // what to do next about the newest
}

// A ReportRefusal is a ground on which the gate did not accept work.
type ReportRefusal struct {
	Code     string `json:"code" jsonschema:"minLength=1"`
	Attempts int    `json:"attempts" jsonschema:"minimum=1"`
	Message  string `json:"message,omitempty"` // of the newest
	TaskID   string `json:"task_id,omitempty"` // of the newest
	Command  string `json:"command,omitempty"`
}

// A ReportWaiting is something that does not go on without a person.
type ReportWaiting struct {
	Kind    string `json:"kind" jsonschema:"minLength=1"` // action, held_message, dead_letter, schedule, workflow
	ID      string `json:"id" jsonschema:"minLength=1"`
	About   string `json:"about,omitempty"`
	Since   string `json:"since,omitempty"`
	Command string `json:"command" jsonschema:"minLength=1"` // that answers it
}

// A ReportRetry is a task that failed and is tried again by itself.
type ReportRetry struct {
	TaskID      string `json:"task_id" jsonschema:"minLength=1"`
	Subject     string `json:"subject,omitempty"`
	TaskType    string `json:"task_type,omitempty"`
	TryAt       string `json:"try_at" jsonschema:"minLength=1"` // not before
	Attempts    int    `json:"attempts" jsonschema:"minimum=0"` // used up
	MaxAttempts int    `json:"max_attempts" jsonschema:"minimum=1"`
	LastError   string `json:"last_error,omitempty"`
	Command     string `json:"command,omitempty"` // that shows it
}

// A ReportWorkflow is a workflow that moved.
type ReportWorkflow struct {
	WorkflowID   string `json:"workflow_id" jsonschema:"minLength=1"`
	WorkflowType string `json:"workflow_type,omitempty"`
	InstanceKey  string `json:"instance_key,omitempty"`
	From         string `json:"from,omitempty"` // empty: it was started
	To           string `json:"to,omitempty"`
	Steps        int    `json:"steps" jsonschema:"minimum=0"`
	Ending       string `json:"ending,omitempty"`
	Blocked      string `json:"blocked,omitempty"` // why, at the end
}

// A ReportSchedule is a schedule that ran, or did not although it was due.
type ReportSchedule struct {
	Name    string `json:"name" jsonschema:"minLength=1"`
	Ran     int    `json:"ran" jsonschema:"minimum=0"`
	Missed  int64  `json:"missed" jsonschema:"minimum=0"`
	Skipped int    `json:"skipped" jsonschema:"minimum=0"`
}

// A ReportSensor is a sensor that fails: what it would see makes no work.
type ReportSensor struct {
	SensorID  string `json:"sensor_id" jsonschema:"minLength=1"`
	Failures  int    `json:"failures" jsonschema:"minimum=1"` // in a row
	Since     string `json:"since,omitempty"`
	LastError string `json:"last_error,omitempty"`
	Command   string `json:"command,omitempty"` // that shows it
}

// ReportCost is what the attempts that ended in the span used.
type ReportCost struct {
	Total     UsageTotals   `json:"total"`
	ByModel   []UsageTotals `json:"by_model,omitempty"`
	ByProfile []UsageTotals `json:"by_profile,omitempty"`
	ByAdapter []UsageTotals `json:"by_adapter,omitempty"`
}

// UsageTotals is what was used, by one key. Money is in millionths of a dollar, the larger of what deed computes and agents tell.
type UsageTotals struct {
	Key            string `json:"key,omitempty"`
	Attempts       int    `json:"attempts" jsonschema:"minimum=0"`
	Turns          int64  `json:"turns" jsonschema:"minimum=0"`
	InputTokens    int64  `json:"input_tokens" jsonschema:"minimum=0"`
	OutputTokens   int64  `json:"output_tokens" jsonschema:"minimum=0"`
	CostMicroUSD   int64  `json:"cost_micro_usd" jsonschema:"minimum=0"`
	UnpricedTokens int64  `json:"unpriced_tokens" jsonschema:"minimum=0"`
	AgentMS        int64  `json:"agent_ms" jsonschema:"minimum=0"`
}

func (u UsageTotals) check(l *fault.List, at string) {
	for _, f := range []struct {
		name string
		n    int64
	}{
		{"attempts", int64(u.Attempts)},
		{"turns", u.Turns},
		{"input_tokens", u.InputTokens},
		{"output_tokens", u.OutputTokens},
		{"cost_micro_usd", u.CostMicroUSD},
		{"unpriced_tokens", u.UnpricedTokens},
		{"agent_ms", u.AgentMS},
	} {
		notNegative(l, at+"."+f.name, f.n)
	}
}

func notNegative(l *fault.List, at string, n int64) {
	if n < 0 {
		l.Add(at, fault.OutOfRange, fmt.Sprintf("%d is below 0", n), "count from 0")
	}
}

func wanted(l *fault.List, at, text string) {
	if text == "" {
		l.Add(at, fault.Blank, "is empty", "say something there")
	}
}

// Validate returns every fault of the report.
func (r Report) Validate() error {
	var l fault.List
	if r.Schema != SchemaReport {
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("%q is not the schema of this record", clip(r.Schema)), fmt.Sprintf("write %q", SchemaReport))
	}
	for _, f := range [][2]string{{"from", r.From}, {"to", r.To}, {"created_at", r.CreatedAt}, {"headline", r.Headline}} {
		wanted(&l, "$."+f[0], f[1])
	}
	t := r.Totals
	for _, f := range []struct {
		name string
		n    int
	}{
		{"attempts", t.Attempts},
		{"completed", t.Completed},
		{"no_op", t.NoOp},
		{"failed", t.Failed},
		{"canceled", t.Canceled},
		{"refused", t.Refused},
		{"waiting", t.Waiting},
		{"retrying", t.Retrying},
		{"messages_delivered", t.Delivered},
		{"messages_failed", t.Given},
	} {
		notNegative(&l, "$.totals."+f.name, int64(f.n))
	}
	r.lists(&l)
	r.Cost.Total.check(&l, "$.cost.total")
	for name, list := range map[string][]UsageTotals{"by_model": r.Cost.ByModel, "by_profile": r.Cost.ByProfile, "by_adapter": r.Cost.ByAdapter} {
		for i, u := range list {
			u.check(&l, fault.Index("$.cost."+name, i))
		}
	}
	return l.Err()
}

func (r Report) lists(l *fault.List) {
	for i, d := range r.Done {
		at := fault.Index("$.done", i)
		wanted(l, at+".task_id", d.TaskID)
		wanted(l, at+".finished_at", d.FinishedAt)
		notNegative(l, at+".files_changed", int64(d.FilesChanged))
	}
	atLeastOne := func(at string, n int) {
		if n < 1 {
			l.Add(at, fault.OutOfRange, fmt.Sprintf("%d is below 1", n), "count from 1")
		}
	}
	for i, f := range r.Failures {
		at := fault.Index("$.failures", i)
		wanted(l, at+".class", f.Class)
		atLeastOne(at+".tasks", f.Tasks)
	}
	for i, f := range r.Refusals {
		at := fault.Index("$.refusals", i)
		wanted(l, at+".code", f.Code)
		atLeastOne(at+".attempts", f.Attempts)
	}
	for i, w := range r.Waiting {
		at := fault.Index("$.waiting", i)
		wanted(l, at+".kind", w.Kind)
		wanted(l, at+".id", w.ID)
		wanted(l, at+".command", w.Command)
	}
	for i, t := range r.Retries {
		at := fault.Index("$.retries", i)
		wanted(l, at+".task_id", t.TaskID)
		wanted(l, at+".try_at", t.TryAt)
		notNegative(l, at+".attempts", int64(t.Attempts))
		atLeastOne(at+".max_attempts", t.MaxAttempts)
	}
	for i, w := range r.Workflows {
		at := fault.Index("$.workflows", i)
		wanted(l, at+".workflow_id", w.WorkflowID)
		notNegative(l, at+".steps", int64(w.Steps))
	}
	for i, s := range r.Schedules {
		at := fault.Index("$.schedules", i)
		wanted(l, at+".name", s.Name)
		notNegative(l, at+".ran", int64(s.Ran))
		notNegative(l, at+".missed", s.Missed)
		notNegative(l, at+".skipped", int64(s.Skipped))
	}
	for i, s := range r.Sensors {
		at := fault.Index("$.sensors", i)
		wanted(l, at+".sensor_id", s.SensorID)
		atLeastOne(at+".failures", s.Failures)
	}
}
