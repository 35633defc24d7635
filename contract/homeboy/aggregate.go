package homeboy

import (
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// An AggregateStatus is how a plan as a whole ended.
type AggregateStatus string

// The aggregate statuses.
const (
	AggregateSucceeded AggregateStatus = "succeeded"
	// AggregateCandidateRecoverable is read from others; deed says partial_recoverable.
	AggregateCandidateRecoverable AggregateStatus = "candidate_recoverable"
	AggregatePartialFailure       AggregateStatus = "partial_failure"
	AggregatePartialRecoverable   AggregateStatus = "partial_recoverable"
	AggregateFailed               AggregateStatus = "failed"
	AggregateCancelled            AggregateStatus = "cancelled"
)

// AggregateStatuses lists every aggregate status.
var AggregateStatuses = []AggregateStatus{
	AggregateSucceeded, AggregateCandidateRecoverable, AggregatePartialRecoverable, AggregatePartialFailure, AggregateFailed, AggregateCancelled,
}

// An Aggregate is what became of the tasks of a plan.
type Aggregate struct {
	Schema           string          `json:"schema" jsonschema:"minLength=1"`
	PlanID           string          `json:"plan_id" jsonschema:"minLength=1,maxLength=512"`
	Status           AggregateStatus `json:"status"`
	Totals           Totals          `json:"totals"`
	Outcomes         []Outcome       `json:"outcomes"`
	Events           []TaskEvent     `json:"events,omitempty"`
	ArtifactLineage  []Value         `json:"artifact_lineage,omitempty"`
	ChildRuns        []Value         `json:"child_runs,omitempty"`
	ArtifactBindings []Value         `json:"artifact_bindings,omitempty"`
	Queue            *Queue          `json:"queue,omitempty"`
	Extra            Extra           `json:"-"`
}

// Totals counts the tasks of a plan. Each is in one of the counts; RecoverableCandidates repeats CandidateRecoverable
// under its older name.
type Totals struct {
	Queued                int64 `json:"queued" jsonschema:"minimum=0"`
	Running               int64 `json:"running" jsonschema:"minimum=0"`
	Blocked               int64 `json:"blocked" jsonschema:"minimum=0"`
	Skipped               int64 `json:"skipped" jsonschema:"minimum=0"`
	Succeeded             int64 `json:"succeeded" jsonschema:"minimum=0"` // no_op included
	CandidateRecoverable  int64 `json:"candidate_recoverable" jsonschema:"minimum=0"`
	RecoverableCandidates int64 `json:"recoverable_candidates" jsonschema:"minimum=0"`
	Failed                int64 `json:"failed" jsonschema:"minimum=0"`
	Cancelled             int64 `json:"cancelled" jsonschema:"minimum=0"`
	TimedOut              int64 `json:"timed_out" jsonschema:"minimum=0"`
	Extra                 Extra `json:"-"`
}

// A TaskEvent is one change of state of a task of a plan.
type TaskEvent struct {
	TaskID  string `json:"task_id" jsonschema:"minLength=1"`
	State   string `json:"state" jsonschema:"minLength=1"`
	Attempt int64  `json:"attempt" jsonschema:"minimum=0"`
	Message string `json:"message,omitempty"`
	Extra   Extra  `json:"-"`
}

// A Queue says how a plan was scheduled.
type Queue struct {
	MaxConcurrency         int64            `json:"max_concurrency" jsonschema:"minimum=0"`
	AdaptiveConcurrency    Value            `json:"adaptive_concurrency,omitempty"`
	MaxTasks               int64            `json:"max_tasks,omitempty" jsonschema:"minimum=0"`
	MaxQueueDepth          int64            `json:"max_queue_depth,omitempty" jsonschema:"minimum=0"`
	Queued                 int64            `json:"queued" jsonschema:"minimum=0"`
	Running                int64            `json:"running" jsonschema:"minimum=0"`
	Blocked                int64            `json:"blocked" jsonschema:"minimum=0"`
	Completed              int64            `json:"completed" jsonschema:"minimum=0"`
	PerExecutorConcurrency map[string]int64 `json:"per_executor_concurrency,omitempty"`
	Extra                  Extra            `json:"-"`
}

// Aggregated returns the aggregate of the outcomes of a plan. This is the one place where the rule stands:
//
//  1. no outcome at all: failed, since nothing was done
//  2. any cancelled: cancelled
//  3. no failure: succeeded, or partial_recoverable when some of it is a candidate that somebody must review
//  4. failures beside successes: partial_failure
//  5. else failed
//
// A failure is what is neither a success nor a candidate.
func Aggregated(planID string, outcomes []Outcome) Aggregate {
	a := Aggregate{Schema: SchemaAggregate, PlanID: planID, Outcomes: outcomes}
	var successes, candidates, failures, cancelled int
	for _, o := range outcomes {
		a.Totals.add(o)
		switch {
		case IsSuccess(o.Status):
			successes++
		case o.Status == CandidateRecoverable:
			candidates++
		default:
			failures++
		}
		if o.Status == Cancelled {
			cancelled++
		}
	}
	switch {
	case len(outcomes) == 0:
		a.Status = AggregateFailed
	case cancelled > 0:
		a.Status = AggregateCancelled
	case failures == 0 && candidates == 0:
		a.Status = AggregateSucceeded
	case failures == 0:
		a.Status = AggregatePartialRecoverable
	case successes > 0:
		a.Status = AggregatePartialFailure
	default:
		a.Status = AggregateFailed
	}
	return a
}

func (t *Totals) add(o Outcome) {
	says := func(class string) bool {
		return slices.ContainsFunc(o.Diagnostics, func(d Diagnostic) bool { return d.Class == class })
	}
	switch {
	case says(DiagnosticDependencyMissing):
		t.Skipped++
	case o.Status == Failed && o.FailureClassification == ClassPolicyDenied && says(DiagnosticBackpressure):
		t.Blocked++
	case IsSuccess(o.Status):
		t.Succeeded++
	case o.Status == CandidateRecoverable:
		t.CandidateRecoverable++
		t.RecoverableCandidates++
	case o.Status == Cancelled:
		t.Cancelled++
	case o.Status == Timeout:
		t.TimedOut++
	default:
		t.Failed++
	}
}

// Validate returns every fault of the aggregate, those of its outcomes included.
func (a Aggregate) Validate() error {
	var l fault.List
	ownSchema(&l, a.Schema, SchemaAggregate)
	l.Name("$.plan_id", a.PlanID)
	fault.OneOf(&l, "$.status", a.Status, AggregateStatuses...)
	for i, o := range a.Outcomes {
		l.Within(fault.Index("$.outcomes", i), o.Validate())
	}
	for i, e := range a.Events {
		at := fault.Index("$.events", i)
		l.Name(at+".task_id", e.TaskID)
		l.Name(at+".state", e.State)
	}
	return l.Err()
}

// A Decision is what follows from an outcome.
type Decision string

// The decisions.
const (
	DecideNoOp   Decision = "no_op"
	DecideApply  Decision = "apply_candidate"
	DecideIssue  Decision = "issue_report_candidate"
	DecideRetry  Decision = "retry_candidate"
	DecideReview Decision = "review_candidate"
)

// Decisions lists every decision.
var Decisions = []Decision{DecideNoOp, DecideApply, DecideIssue, DecideRetry, DecideReview}

// Decide returns what follows from an outcome. A candidate is only that: the gate and promotion judge it.
func (o Outcome) Decide() Decision {
	switch {
	case o.Status == NoOp:
		return DecideNoOp
	case slices.ContainsFunc(o.Artifacts, actionablePatch):
		return DecideApply
	case o.Status == FollowUpIssue || slices.ContainsFunc(o.Artifacts, rejectedFinding):
		return DecideIssue
	case o.Status == ProviderError || o.Status == Timeout:
		return DecideRetry
	}
	switch o.FailureClassification {
	case ClassProvider, ClassTransient, ClassTimeout, ClassStalled, ClassRateLimited:
		return DecideRetry
	}
	return DecideReview
}

// actionablePatch reports whether an artifact is a patch that is not known to be empty, and that nobody has something
// against.
func actionablePatch(a Artifact) bool {
	return (a.Kind == KindPatch || a.Role == KindPatch) && (a.SizeBytes == nil || *a.SizeBytes > 0) && !flagged(a, MetadataReviewOnly)
}

// MetadataReviewOnly is the flag in an artifact's metadata that keeps it from being applied: it was not verified, or
// something is wrong with it.
const MetadataReviewOnly = "review_only"

// rejectedFinding reports whether an artifact says that what the task was about is no fault.
func rejectedFinding(a Artifact) bool { return flagged(a, "rejected", "false_positive") }

// flagged reports whether one of some members of an artifact's metadata is true.
func flagged(a Artifact, names ...string) bool {
	members, err := split(a.Metadata)
	if err != nil {
		return false
	}
	for _, name := range names {
		if strings.TrimSpace(string(members[name])) == "true" {
			return true
		}
	}
	return false
}
