package state

import "github.com/deedrun/deed/contract/agentruntime"

// Attempt is the state of one attempt.
type Attempt = agentruntime.AgentState

// The nine states of an attempt.
const (
	Idle                 = agentruntime.StateIdle
	Running              = agentruntime.StateRunning
	Streaming            = agentruntime.StateStreaming
	WaitingForPermission = agentruntime.StateWaitingForPermission
	WaitingForInput      = agentruntime.StateWaitingForInput
	Compacting           = agentruntime.StateCompacting
	Resumable            = agentruntime.StateResumable
	Completed            = agentruntime.StateCompleted
	FailedTerminal       = agentruntime.StateFailedTerminal
)

// Attempts lists every state in the order of the contract.
var Attempts = agentruntime.AgentStates

// An AttemptTransition is one row of the attempt table.
type AttemptTransition struct {
	From, To Attempt
	When     string
}

// AttemptTransitions is the whole table. What is not here is refused.
//
// Resumable ends an attempt: the conversation goes on in the next attempt of the same task, which starts idle.
var AttemptTransitions = []AttemptTransition{
	{Idle, Running, "the brief is compiled and the driver is about to start"},
	{Idle, Resumable, "it was interrupted before it started"},
	{Idle, FailedTerminal, "it could not be started, or its runner was lost"},
	{Running, Streaming, "the agent's output arrives"},
	{Running, WaitingForPermission, "the agent asked for a permission"},
	{Running, WaitingForInput, "the agent asked a question"},
	{Running, Compacting, "the conversation is being shortened"},
	{Running, Resumable, "it was checkpointed: interrupted, or waiting for a person"},
	{Running, Completed, "the gate accepted the work"},
	{Running, FailedTerminal, "it failed, was cancelled, or its runner was lost"},
	{Streaming, Running, "the turn ended"},
	{Streaming, WaitingForPermission, "the agent asked for a permission"},
	{Streaming, WaitingForInput, "the agent asked a question"},
	{Streaming, Compacting, "the conversation is being shortened"},
	{Streaming, Resumable, "it was checkpointed"},
	{Streaming, Completed, "the gate accepted the work"},
	{Streaming, FailedTerminal, "it failed, was cancelled, or its runner was lost"},
	{WaitingForPermission, Running, "the permission was decided"},
	{WaitingForPermission, Resumable, "the live wait ended; the task is blocked on the action"},
	{WaitingForPermission, FailedTerminal, "it was cancelled, timed out, or its runner was lost"},
	{WaitingForInput, Running, "the input arrived"},
	{WaitingForInput, Resumable, "the live wait ended; the task is blocked on the action"},
	{WaitingForInput, FailedTerminal, "it was cancelled, timed out, or its runner was lost"},
	{Compacting, Running, "the conversation was shortened"},
	{Compacting, Resumable, "it was checkpointed"},
	{Compacting, FailedTerminal, "it failed, was cancelled, or its runner was lost"},
}

// AttemptNext returns nil when the attempt may go from one state to the other, and an *IllegalError otherwise.
func AttemptNext(from, to Attempt) error {
	for _, t := range AttemptTransitions {
		if t.From == from && t.To == to {
			return nil
		}
	}
	return &IllegalError{Kind: "attempt", From: string(from), To: string(to)}
}

// AttemptEnded reports whether the attempt is over: nothing more can be written under its fence.
func AttemptEnded(s Attempt) bool {
	return s == Resumable || s == Completed || s == FailedTerminal
}
