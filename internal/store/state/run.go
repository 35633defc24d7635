package state

import "github.com/deedrun/deed/contract/codebox"

// A RunTransition is one row of the run table.
type RunTransition struct {
	From, To codebox.RunStatus
	When     string
}

// RunNew is the state before a run exists. It is never stored.
const RunNew codebox.RunStatus = ""

// RunTransitions is the whole table. What is not here is refused.
//
// A run that has ended goes nowhere, but stays open to what is only known later: its clean-up, the references to what
// it left behind, and how long that is kept.
var RunTransitions = []RunTransition{
	{RunNew, codebox.RunQueued, "it was asked for and waits"},
	{RunNew, codebox.RunBooting, "it was asked for and starts at once"},
	{codebox.RunQueued, codebox.RunQueued, "its record is updated"},
	{codebox.RunQueued, codebox.RunBooting, "its turn came"},
	{codebox.RunQueued, codebox.RunRunning, "it needs no preparation"},
	{codebox.RunQueued, codebox.RunCollecting, "there is nothing to run, only evidence to write"},
	{codebox.RunQueued, codebox.RunCancelled, "it was cancelled before it started"},
	{codebox.RunQueued, codebox.RunFailed, "it could not be started, or its runner was lost"},
	{codebox.RunQueued, codebox.RunTimedOut, "its time was over before it started"},
	{codebox.RunBooting, codebox.RunBooting, "its record is updated"},
	{codebox.RunBooting, codebox.RunRunning, "the agent's process runs"},
	{codebox.RunBooting, codebox.RunCollecting, "it failed while starting, and evidence is written"},
	{codebox.RunBooting, codebox.RunCancelled, "it was cancelled while it started"},
	{codebox.RunBooting, codebox.RunFailed, "it could not be started, or its runner was lost"},
	{codebox.RunBooting, codebox.RunTimedOut, "its time was over while it started"},
	{codebox.RunRunning, codebox.RunRunning, "its record is updated"},
	{codebox.RunRunning, codebox.RunCollecting, "the agent ended, and evidence is written"},
	{codebox.RunRunning, codebox.RunSucceeded, "the work is done"},
	{codebox.RunRunning, codebox.RunCancelled, "the cancel request was obeyed"},
	{codebox.RunRunning, codebox.RunFailed, "it failed, or its runner was lost"},
	{codebox.RunRunning, codebox.RunTimedOut, "its time was over"},
	{codebox.RunCollecting, codebox.RunCollecting, "its record is updated"},
	{codebox.RunCollecting, codebox.RunSucceeded, "the work is done and its evidence is whole"},
	{codebox.RunCollecting, codebox.RunCancelled, "the cancel request was obeyed"},
	{codebox.RunCollecting, codebox.RunFailed, "it failed, or its runner was lost"},
	{codebox.RunCollecting, codebox.RunTimedOut, "its time was over"},
	{codebox.RunSucceeded, codebox.RunSucceeded, "clean-up, references and retention are recorded"},
	{codebox.RunFailed, codebox.RunFailed, "clean-up, references and retention are recorded"},
	{codebox.RunTimedOut, codebox.RunTimedOut, "clean-up, references and retention are recorded"},
	{codebox.RunCancelled, codebox.RunCancelled, "clean-up, references and retention are recorded"},
}

// RunNext returns nil when the run may go from one state to the other, and an *IllegalError otherwise.
func RunNext(from, to codebox.RunStatus) error {
	for _, t := range RunTransitions {
		if t.From == from && t.To == to {
			return nil
		}
	}
	if from == RunNew {
		return &IllegalError{Kind: "run", From: "new", To: string(to)}
	}
	return &IllegalError{Kind: "run", From: string(from), To: string(to)}
}
