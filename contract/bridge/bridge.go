package bridge

import (
	"fmt"

	"github.com/deedrun/deed/contract/agentruntime"
)

// A Provider is the outcome status of an agent-task provider.
type Provider string

// The provider outcome statuses.
const (
	ProviderSucceeded         Provider = "succeeded"
	ProviderNoOp              Provider = "no_op"
	ProviderUnableToRemediate Provider = "unable_to_remediate"
	ProviderError             Provider = "provider_error"
	ProviderTimeout           Provider = "timeout"
	ProviderFailed            Provider = "failed"
	ProviderFollowUpIssue     Provider = "follow_up_issue"
	ProviderCancelled         Provider = "cancelled"
	// ProviderCandidateRecoverable is the newest: there is work, and it does not meet all that was asked.
	ProviderCandidateRecoverable Provider = "candidate_recoverable"
)

// Providers lists every provider outcome status.
var Providers = []Provider{
	ProviderSucceeded, ProviderNoOp, ProviderUnableToRemediate, ProviderError, ProviderTimeout,
	ProviderCandidateRecoverable, ProviderFailed,
	ProviderFollowUpIssue, ProviderCancelled,
}

// A Sandbox is the terminal status of a sandbox run.
type Sandbox string

// The sandbox terminal statuses.
const (
	SandboxSucceeded         Sandbox = "succeeded"
	SandboxNoOp              Sandbox = "no_op"
	SandboxUnableToRemediate Sandbox = "unable_to_remediate"
	SandboxProviderError     Sandbox = "provider_error"
	SandboxTimeout           Sandbox = "timeout"
	SandboxFailed            Sandbox = "failed"
)

// Sandboxes lists every sandbox terminal status.
var Sandboxes = []Sandbox{
	SandboxSucceeded, SandboxNoOp, SandboxUnableToRemediate, SandboxProviderError, SandboxTimeout, SandboxFailed,
}

// A Fanout is the status of one record of a fanout, which is the host's view and not the provider's.
type Fanout string

// The fanout record statuses. A planned task for which no record came back is missing; no outcome maps to that.
const (
	FanoutCompleted Fanout = "completed"
	FanoutFailed    Fanout = "failed"
	FanoutMissing   Fanout = "missing_record"
)

// Fanouts lists every fanout record status.
var Fanouts = []Fanout{FanoutCompleted, FanoutFailed, FanoutMissing}

// A Cause tells apart what one task status covers.
type Cause string

// The causes.
const (
	CauseNone          Cause = ""               // the plain case of the status
	CauseNoOp          Cause = "no_op"          // completed: the gate accepted an empty change set
	CauseTimeout       Cause = "timeout"        // a failure: the time limit passed
	CauseProviderError Cause = "provider_error" // a failure: the agent, its service or its model failed
	CauseUnable        Cause = "unable"         // permanent_failure: the agent concluded that it cannot
	CauseCandidate     Cause = "candidate"      // blocked: there is work, and a person must say what it is worth
)

// Causes lists every cause.
var Causes = []Cause{CauseNone, CauseNoOp, CauseTimeout, CauseProviderError, CauseUnable, CauseCandidate}

// An Outcome is how a task ended, as far as other vocabularies tell it apart.
type Outcome struct {
	Status agentruntime.TaskStatus
	Cause  Cause
}

// Machine returns the machine status that goes with the outcome.
func (o Outcome) Machine() agentruntime.MachineStatus { return o.Status.Machine() }

type row struct {
	provider Provider
	sandbox  Sandbox
	fanout   Fanout
}

// table is every outcome that exists. The plain case of retryable_failure reads as a provider error: nothing that
// may be tried again is the task's own failure.
var table = map[Outcome]row{
	{agentruntime.TaskCompleted, CauseNone}:                 {ProviderSucceeded, SandboxSucceeded, FanoutCompleted},
	{agentruntime.TaskCompleted, CauseNoOp}:                 {ProviderNoOp, SandboxNoOp, FanoutCompleted},
	{agentruntime.TaskRetryableFailure, CauseNone}:          {ProviderError, SandboxProviderError, FanoutFailed},
	{agentruntime.TaskRetryableFailure, CauseTimeout}:       {ProviderTimeout, SandboxTimeout, FanoutFailed},
	{agentruntime.TaskRetryableFailure, CauseProviderError}: {ProviderError, SandboxProviderError, FanoutFailed},
	{agentruntime.TaskPermanentFailure, CauseNone}:          {ProviderFailed, SandboxFailed, FanoutFailed},
	{agentruntime.TaskPermanentFailure, CauseUnable}:        {ProviderUnableToRemediate, SandboxUnableToRemediate, FanoutFailed},
	{agentruntime.TaskPermanentFailure, CauseTimeout}:       {ProviderTimeout, SandboxTimeout, FanoutFailed},
	{agentruntime.TaskPermanentFailure, CauseProviderError}: {ProviderError, SandboxProviderError, FanoutFailed},
	{agentruntime.TaskBlocked, CauseNone}:                   {ProviderFollowUpIssue, SandboxFailed, FanoutFailed},
	{agentruntime.TaskBlocked, CauseCandidate}:              {ProviderCandidateRecoverable, SandboxFailed, FanoutFailed},
	{agentruntime.TaskOperatorCanceled, CauseNone}:          {ProviderCancelled, SandboxFailed, FanoutFailed},
}

func (o Outcome) row() (row, error) {
	r, ok := table[o]
	if !ok {
		return row{}, fmt.Errorf("map outcome: status %q with cause %q is not how a task ends", o.Status, o.Cause)
	}
	return r, nil
}

// Provider returns the outcome as a provider reports it. A status that no outcome has, or a cause that does not go
// with the status, is an error.
func (o Outcome) Provider() (Provider, error) {
	r, err := o.row()
	return r.provider, err
}

// Sandbox returns the outcome as a sandbox run ends. A blocked and a cancelled task both read as failed there: the
// way back is lossy.
func (o Outcome) Sandbox() (Sandbox, error) {
	r, err := o.row()
	return r.sandbox, err
}

// Fanout returns the outcome as a host's fanout records it.
func (o Outcome) Fanout() (Fanout, error) {
	r, err := o.row()
	return r.fanout, err
}

// FromProvider returns the outcome that a provider's status stands for. Provider gives the same word back.
func FromProvider(p Provider) (Outcome, error) {
	switch p {
	case ProviderSucceeded:
		return Outcome{agentruntime.TaskCompleted, CauseNone}, nil
	case ProviderNoOp:
		return Outcome{agentruntime.TaskCompleted, CauseNoOp}, nil
	case ProviderUnableToRemediate:
		return Outcome{agentruntime.TaskPermanentFailure, CauseUnable}, nil
	case ProviderError:
		return Outcome{agentruntime.TaskRetryableFailure, CauseProviderError}, nil
	case ProviderTimeout:
		return Outcome{agentruntime.TaskRetryableFailure, CauseTimeout}, nil
	case ProviderFailed:
		return Outcome{agentruntime.TaskPermanentFailure, CauseNone}, nil
	case ProviderFollowUpIssue:
		return Outcome{agentruntime.TaskBlocked, CauseNone}, nil
	case ProviderCandidateRecoverable:
		return Outcome{agentruntime.TaskBlocked, CauseCandidate}, nil
	case ProviderCancelled:
		return Outcome{agentruntime.TaskOperatorCanceled, CauseNone}, nil
	}
	return Outcome{}, fmt.Errorf("map provider status: %q is not one of %v", p, Providers)
}

// FromSandbox returns the outcome that a sandbox's terminal status stands for. Sandbox gives the same word back.
func FromSandbox(s Sandbox) (Outcome, error) {
	switch s {
	case SandboxSucceeded, SandboxNoOp, SandboxUnableToRemediate, SandboxProviderError, SandboxTimeout, SandboxFailed:
		return FromProvider(Provider(s)) // the six words are the provider's own
	}
	return Outcome{}, fmt.Errorf("map sandbox status: %q is not one of %v", s, Sandboxes)
}

// ProviderToFanout returns the host's record for a provider's status. There is no way back.
func ProviderToFanout(p Provider) (Fanout, error) {
	o, err := FromProvider(p)
	if err != nil {
		return "", err
	}
	return o.Fanout()
}
