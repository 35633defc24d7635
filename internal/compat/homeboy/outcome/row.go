package outcome

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/homeboy"
)

// A ReplyKind is the kind of reply that standard output held.
type ReplyKind string

// What standard output can hold. Only the first three count as an answer.
const (
	ReplySuccess   ReplyKind = "success"   // an outcome that says succeeded or no_op
	ReplyFailure   ReplyKind = "failure"   // an outcome with any other status
	ReplyRecovered ReplyKind = "recovered" // one outcome of this task among other text

	ReplyNothing          ReplyKind = "nothing"      // nothing but white space
	ReplyGarbage          ReplyKind = "garbage"      // text that is not one JSON value, without one outcome in it
	ReplyNotObject        ReplyKind = "not_object"   // a list, a string, a number
	ReplyNoStatus         ReplyKind = "no_status"    // an object that does not say how it ended
	ReplySeveral          ReplyKind = "several"      // more than one outcome
	ReplyTooLarge         ReplyKind = "too_large"    // more than MaxDocument
	ReplyTooDeep          ReplyKind = "too_deep"     // nested deeper than MaxDepth
	ReplyCut              ReplyKind = "cut"          // the rest was not kept
	ReplyOtherSchema      ReplyKind = "other_schema" // a success that names another schema
	ReplyOtherTask        ReplyKind = "other_task"   // a success of another task, or next to another status
	ReplyUndeclaredStatus ReplyKind = "undeclared"   // a status that the provider's manifest does not declare
)

// The table distinguishes two ends more than Facts does: an exit with another code than 0, and a command that is missing
// or cannot be executed.
const (
	exitedBadly        End = "exited_nonzero"
	commandUnavailable End = "command_unavailable"
)

// The classes of the diagnostics that deed adds about a provider's answer.
const (
	CodeCancelled          = "agent_task.provider_cancelled"
	CodeDeadline           = "agent_task.execution_deadline_exceeded"
	CodeTimeout            = "agent_task.provider_timeout"
	CodeStalled            = "agent_task.provider_liveness_timeout"
	CodeOutputCap          = "agent_task.provider_output_limit"
	CodeLimit              = "agent_task.provider_resource_limit"
	CodeContainment        = "agent_task.provider_containment_failed"
	CodeCommandUnavailable = "agent_task.provider_command_unavailable"
	CodeSpawn              = "agent_task.provider_spawn_failed"
	CodeNotStarted         = "agent_task.provider_not_started"
	CodeIO                 = "agent_task.provider_io_failed"
	CodeSignal             = "agent_task.provider_signal_terminated"
	CodeProcess            = "agent_task.provider_process_failed"
	CodeEmpty              = "agent_task.provider_empty_stdout"
	CodeMalformed          = "agent_task.provider_malformed_json"
	CodeContract           = "agent_task.provider_contract_violation"
	CodeRecovered          = "agent_task.outcome_recovered"
	CodeSurvivors          = "agent_task.provider_process_group_survivors"
)

// A Row says what becomes of one kind of end.
type Row struct {
	ID      string
	Ends    []End                 // nil: any
	Replies []ReplyKind           // nil: any
	Status  homeboy.OutcomeStatus // empty: what the provider said
	Class   homeboy.FailureClass  // empty: what the provider said, or none
	Keeps   bool                  // a failure that the provider reported keeps its status and class
	Code    string                // class of the diagnostic; empty: none
	Phase   Phase
	Text    string // what happened, for people
}

// answers are the kinds of reply in which the provider said how it ended.
var answers = []ReplyKind{ReplySuccess, ReplyFailure, ReplyRecovered, ReplyOtherSchema, ReplyOtherTask, ReplyUndeclaredStatus}

// Rows is the table of ends. The first row that fits decides; the last two fit everything that is left.
var Rows = []Row{
	{"cancelled", []End{Cancelled}, nil, homeboy.Cancelled, "", false, CodeCancelled, PhaseCancel, "somebody cancelled it"},
	{"deadline_past", []End{DeadlinePast}, nil, homeboy.Timeout, homeboy.ClassTimeout, true, CodeDeadline, PhaseTimeout, "the deadline of the request passed"},
	{"wall_timeout", []End{WallTimeout}, nil, homeboy.Timeout, homeboy.ClassTimeout, true, CodeTimeout, PhaseTimeout, "it ran for longer than it may"},
	{"stalled", []End{Stalled}, nil, homeboy.Timeout, homeboy.ClassStalled, true, CodeStalled, PhaseTimeout, "it printed nothing for longer than it may"},
	{"output_cap", []End{OutputCap}, nil, homeboy.ProviderError, homeboy.ClassProvider, true, CodeOutputCap, PhaseRun, "it printed more than it may"},
	{"limit_reached", []End{LimitReached}, nil, homeboy.ProviderError, homeboy.ClassProvider, true, CodeLimit, PhaseRun, "it used more memory, processor time or files than it may"},
	{"containment_failed", []End{ContainmentFailed}, nil, homeboy.ProviderError, homeboy.ClassProvider, false, CodeContainment, PhaseSetup, "it could not be held by its sandbox"},
	{"command_unavailable", []End{commandUnavailable}, nil, homeboy.ProviderError, homeboy.ClassProvider, false, CodeCommandUnavailable, PhaseSetup, "its command is not there, or cannot be executed"},
	{"spawn_failed", []End{SpawnFailed}, nil, homeboy.ProviderError, homeboy.ClassProvider, false, CodeSpawn, PhaseSetup, "its command could not be started"},
	{"not_started", []End{NotStarted}, nil, homeboy.ProviderError, homeboy.ClassProvider, false, CodeNotStarted, PhaseSetup, "it was not started"},
	{"io_failed", []End{IOFailed}, nil, homeboy.ProviderError, homeboy.ClassProvider, true, CodeIO, PhaseRun, "the request could not be written to it, or its answer not be read"},
	{"output_cut", nil, []ReplyKind{ReplyCut}, homeboy.ProviderError, homeboy.ClassProvider, false, CodeOutputCap, PhaseRun, "it printed more than is kept"},
	{"signal_with_outcome", []End{Signalled}, answers, homeboy.ProviderError, homeboy.ClassProvider, true, CodeProcess, PhaseRun, "a signal ended it after it had answered"},
	{"signal", []End{Signalled}, nil, homeboy.ProviderError, homeboy.ClassProvider, false, CodeSignal, PhaseRun, "a signal from elsewhere ended it"},
	{"exit_with_outcome", []End{exitedBadly}, answers, homeboy.ProviderError, homeboy.ClassProvider, true, CodeProcess, PhaseRun, "it answered and then ended with an error"},
	{"empty", nil, []ReplyKind{ReplyNothing}, homeboy.ProviderError, homeboy.ClassProvider, false, CodeEmpty, PhaseRun, "it printed no outcome"},
	{"not_object", nil, []ReplyKind{ReplyNotObject}, homeboy.ProviderError, homeboy.ClassProvider, false, CodeMalformed, PhaseRun, "it printed JSON that is no object"},
	{"no_status", nil, []ReplyKind{ReplyNoStatus}, homeboy.ProviderError, homeboy.ClassProvider, false, CodeMalformed, PhaseRun, "it printed an object that does not say how it ended"},
	{"several", nil, []ReplyKind{ReplySeveral}, homeboy.ProviderError, homeboy.ClassProvider, false, CodeMalformed, PhaseRun, "it printed more than one outcome"},
	{"too_large", nil, []ReplyKind{ReplyTooLarge}, homeboy.ProviderError, homeboy.ClassProvider, false, CodeMalformed, PhaseRun, "it printed more than an outcome may have"},
	{"too_deep", nil, []ReplyKind{ReplyTooDeep}, homeboy.ProviderError, homeboy.ClassProvider, false, CodeMalformed, PhaseRun, "its outcome is nested too deeply"},
	{"other_schema", nil, []ReplyKind{ReplyOtherSchema}, homeboy.ProviderError, homeboy.ClassProvider, false, CodeContract, PhaseRun, "it tells a success by another schema"},
	{"other_task", nil, []ReplyKind{ReplyOtherTask}, homeboy.ProviderError, homeboy.ClassProvider, false, CodeContract, PhaseRun, "it tells the success of another task, or two statuses at once"},
	{"undeclared_status", nil, []ReplyKind{ReplyUndeclaredStatus}, homeboy.ProviderError, homeboy.ClassProvider, false, CodeContract, PhaseRun, "it ended with a status that its manifest does not declare"},
	{"malformed", nil, []ReplyKind{ReplyGarbage}, homeboy.ProviderError, homeboy.ClassProvider, false, CodeMalformed, PhaseRun, "what it printed is not one JSON document"},
	{"recovered", nil, []ReplyKind{ReplyRecovered}, "", "", true, CodeRecovered, PhaseRun, "its outcome stood among other text"},
	{"valid", nil, []ReplyKind{ReplySuccess, ReplyFailure}, "", "", true, "", PhaseRun, "it printed one outcome and ended by itself"},
}

// rowOf returns the row that decides on an end.
func rowOf(end End, reply ReplyKind) Row {
	for _, r := range Rows {
		if (r.Ends == nil || slices.Contains(r.Ends, end)) && (r.Replies == nil || slices.Contains(r.Replies, reply)) {
			return r
		}
	}
	panic(fmt.Sprintf("outcome: no row for %s with %s", end, reply)) // a test goes through all of them
}

// Table returns the table of ends as Markdown.
func Table() string {
	var b strings.Builder
	b.WriteString("| row | when | status, class | a failure that it told | diagnostic | phase |\n|---|---|---|---|---|---|\n")
	for _, r := range Rows {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", r.ID, r.Text, r.result(), r.failure(), code(r.Code), code(string(r.Phase)))
	}
	return b.String()
}

func (row Row) result() string {
	if row.Status == "" {
		return "as it said"
	}
	if row.Class == "" {
		return code(string(row.Status))
	}
	return code(string(row.Status)) + ", " + code(string(row.Class))
}

// failure says what becomes of a failure that the provider itself reported, in the rows where it can have reported
// one.
func (row Row) failure() string {
	switch {
	case row.Keeps:
		return "stays"
	case len(row.Replies) == 0:
		return "is replaced"
	}
	return "–"
}

func code(s string) string {
	if s == "" {
		return "–"
	}
	return "`" + s + "`"
}
