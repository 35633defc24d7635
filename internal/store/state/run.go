package state

import "github.com/deedrun/deed/contract/evidence"

// A RunTransition is one row of the run table.
type RunTransition struct {
	From, To evidence.RunStatus
	When     string
}

// RunNew is the state before a run exists. It is never stored.
const RunNew evidence.RunStatus = ""

// RunTransitions is the whole table. What is not here is refused.
//
// A run that has ended goes nowhere, but stays open to what is only known later: its clean-up, the references to what
// it left behind, and how long that is kept.
var RunTransitions = []RunTransition{
	{RunNew, evidence.RunQueued, "it was asked for and waits"},
	{RunNew, evidence.RunBooting, "it was asked for and starts at once"},
	{evidence.RunQueued, evidence.RunQueued, "its record is updated"},
	{evidence.RunQueued, evidence.RunBooting, "its turn came"},
	{evidence.RunQueued, evidence.RunRunning, "it needs no preparation"},
	{evidence.RunQueued, evidence.RunCollecting, "there is nothing to run, only evidence to write"},
	{evidence.RunQueued, evidence.RunCancelled, "it was cancelled before it started"},
	{evidence.RunQueued, evidence.RunFailed, "it could not be started, or its runner was lost"},
	{evidence.RunQueued, evidence.RunTimedOut, "its time was over before it started"},
	{evidence.RunBooting, evidence.RunBooting, "its record is updated"},
	{evidence.RunBooting, evidence.RunRunning, "the agent's process runs"},
	{evidence.RunBooting, evidence.RunCollecting, "it failed while starting, and evidence is written"},
	{evidence.RunBooting, evidence.RunCancelled, "it was cancelled while it started"},
	{evidence.RunBooting, evidence.RunFailed, "it could not be started, or its runner was lost"},
	{evidence.RunBooting, evidence.RunTimedOut, "its time was over while it started"},
	{evidence.RunRunning, evidence.RunRunning, "its record is updated"},
	{evidence.RunRunning, evidence.RunCollecting, "the agent ended, and evidence is written"},
	{evidence.RunRunning, evidence.RunSucceeded, "the work is done"},
	{evidence.RunRunning, evidence.RunCancelled, "the cancel request was obeyed"},
	{evidence.RunRunning, evidence.RunFailed, "it failed, or its runner was lost"},
	{evidence.RunRunning, evidence.RunTimedOut, "its time was over"},
	{evidence.RunCollecting, evidence.RunCollecting, "its record is updated"},
	{evidence.RunCollecting, evidence.RunSucceeded, "the work is done and its evidence is whole"},
	{evidence.RunCollecting, evidence.RunCancelled, "the cancel request was obeyed"},
	{evidence.RunCollecting, evidence.RunFailed, "it failed, or its runner was lost"},
	{evidence.RunCollecting, evidence.RunTimedOut, "its time was over"},
	{evidence.RunSucceeded, evidence.RunSucceeded, "clean-up, references and retention are recorded"},
	{evidence.RunFailed, evidence.RunFailed, "clean-up, references and retention are recorded"},
	{evidence.RunTimedOut, evidence.RunTimedOut, "clean-up, references and retention are recorded"},
	{evidence.RunCancelled, evidence.RunCancelled, "clean-up, references and retention are recorded"},
}

// RunNext returns nil when the run may go from one state to the other, and an *IllegalError otherwise.
func RunNext(from, to evidence.RunStatus) error {
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
