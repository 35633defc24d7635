package state

import "github.com/deedrun/deed/contract/agentruntime"

// A TaskTransition is one row of the task table.
type TaskTransition struct {
	From, To agentruntime.TaskStatus
	By       string // who makes it: enqueue, claim, settle, operator or answer
	When     string
}

// New is the state before a task exists. It is never stored.
const New agentruntime.TaskStatus = ""

// TaskTransitions is the whole table. What is not here is refused.
var TaskTransitions = []TaskTransition{
	{New, agentruntime.TaskPending, "enqueue", "the intent was admitted"},
	{agentruntime.TaskPending, agentruntime.TaskRunning, "claim", "it is due and its turn came"},
	{agentruntime.TaskPending, agentruntime.TaskPending, "operator", "a retry makes it due now"},
	{agentruntime.TaskPending, agentruntime.TaskOperatorCanceled, "operator", "it was cancelled before it ran"},
	{agentruntime.TaskRunning, agentruntime.TaskCompleted, "settle", "the gate accepted the work"},
	{agentruntime.TaskRunning, agentruntime.TaskRetryableFailure, "settle", "the attempt failed and another one is left"},
	{agentruntime.TaskRunning, agentruntime.TaskPermanentFailure, "settle", "the failure is final or the attempts are used up"},
	{agentruntime.TaskRunning, agentruntime.TaskBlocked, "settle", "a required action was opened"},
	{agentruntime.TaskRunning, agentruntime.TaskOperatorCanceled, "settle", "the cancel request was obeyed"},
	{agentruntime.TaskRetryableFailure, agentruntime.TaskRunning, "claim", "its wait is over and its turn came"},
	{agentruntime.TaskRetryableFailure, agentruntime.TaskPending, "operator", "a retry makes it due now"},
	{agentruntime.TaskRetryableFailure, agentruntime.TaskOperatorCanceled, "operator", "it was cancelled while it waited"},
	{agentruntime.TaskBlocked, agentruntime.TaskPending, "answer", "its required actions were answered, or an operator retried it"},
	{agentruntime.TaskBlocked, agentruntime.TaskOperatorCanceled, "operator", "it was cancelled while it was blocked"},
	{agentruntime.TaskPermanentFailure, agentruntime.TaskPending, "operator", "a retry gives it another attempt"},
	{agentruntime.TaskOperatorCanceled, agentruntime.TaskPending, "operator", "a retry gives it another attempt"},
}

// Wakeups names, for every state that is not terminal, what ends it. A state without an entry is terminal: only an
// operator's retry leaves it, and completed is never left.
var Wakeups = map[agentruntime.TaskStatus]string{
	agentruntime.TaskPending:          "available_at: a claim takes it when it is due",
	agentruntime.TaskRunning:          "the lease: it is renewed, settled, or it runs out and the sweep settles it",
	agentruntime.TaskRetryableFailure: "available_at: a claim takes it when it is due",
	agentruntime.TaskBlocked:          "a required action that is open: its answer makes the task due",
}

// TaskNext returns nil when the task may go from one state to the other, and an *IllegalError otherwise.
func TaskNext(from, to agentruntime.TaskStatus) error {
	for _, t := range TaskTransitions {
		if t.From == from && t.To == to {
			return nil
		}
	}
	if from == New {
		return &IllegalError{Kind: "task", From: "new", To: string(to)}
	}
	return &IllegalError{Kind: "task", From: string(from), To: string(to)}
}

// TaskTerminal reports whether nothing but an operator's retry can move the task again.
func TaskTerminal(s agentruntime.TaskStatus) bool {
	_, waits := Wakeups[s]
	return !waits && TaskKnown(s)
}

// TaskClaimable reports whether a claim may take a task in this state once it is due.
func TaskClaimable(s agentruntime.TaskStatus) bool {
	return TaskNext(s, agentruntime.TaskRunning) == nil
}

// TaskKnown reports whether the word is one of the seven states.
func TaskKnown(s agentruntime.TaskStatus) bool {
	for _, k := range agentruntime.TaskStatuses {
		if k == s {
			return true
		}
	}
	return false
}
