package state

import "github.com/deedrun/deed/contract/agentruntime"

// A WorkflowTransition is one row of the table of workflows.
type WorkflowTransition struct {
	From, To agentruntime.WorkflowStatus
	By       string // who makes it: start, engine, answer or operator
	When     string
}

// WorkflowNew is the status before a workflow exists. It is never stored.
const WorkflowNew agentruntime.WorkflowStatus = ""

// WorkflowTransitions is the whole table. What is not here is refused.
var WorkflowTransitions = []WorkflowTransition{
	{WorkflowNew, agentruntime.WorkflowActive, "start", "its first task or question is there"},
	{agentruntime.WorkflowActive, agentruntime.WorkflowActive, "engine", "a signal led to the next state, and its task or question is there"},
	{agentruntime.WorkflowActive, agentruntime.WorkflowBlocked, "engine", "a task failed, gave no signal or a bound was reached; a required action is open"},
	{agentruntime.WorkflowActive, agentruntime.WorkflowCompleted, "engine", "a signal led to a state without a way out, or an operator cancelled it"},
	{agentruntime.WorkflowBlocked, agentruntime.WorkflowActive, "answer", "a person said how to go on"},
	{agentruntime.WorkflowBlocked, agentruntime.WorkflowBlocked, "answer", "what the person said cannot be done, and is asked again"},
	{agentruntime.WorkflowBlocked, agentruntime.WorkflowCompleted, "answer", "a person ended it"},
}

// WorkflowNext returns nil when the workflow may go from one status to the other, and an *IllegalError otherwise.
func WorkflowNext(from, to agentruntime.WorkflowStatus) error {
	for _, t := range WorkflowTransitions {
		if t.From == from && t.To == to {
			return nil
		}
	}
	if from == WorkflowNew {
		from = "new"
	}
	return &IllegalError{Kind: "workflow", From: string(from), To: string(to)}
}
