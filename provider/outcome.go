package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
)

// An Outcome is what a provider hands back. Schema, task and what the Run collected are filled in; a provider sets the status,
// a summary and whatever else it knows.
type Outcome = homeboy.Outcome

// Classes of diagnostics that this package writes.
const (
	DiagnosticRequest   = "request_validation"
	DiagnosticSetup     = homeboy.DiagnosticProviderSetup
	DiagnosticExecution = "execution_failed"
	DiagnosticTimeout   = "timeout"
	DiagnosticCancelled = "cancelled"
	DiagnosticPanic     = "provider_panic"
	DiagnosticOutcome   = "outcome_invalid"
	DiagnosticStatus    = "outcome_status_undeclared"
)

// unknownTask names the task of a request that does not say; command-line executors write the same.
const unknownTask = "unknown-task"

// Succeeded is the outcome of a request that was carried out.
func Succeeded(summary string) Outcome {
	return Outcome{Status: homeboy.Succeeded, Summary: summary}
}

// NoOp is the outcome of a request that needed nothing to be done.
func NoOp(summary string) Outcome { return Outcome{Status: homeboy.NoOp, Summary: summary} }

// Unable is the outcome of an agent that concluded that it cannot do what was asked.
func Unable(summary string) Outcome {
	return Outcome{Status: homeboy.UnableToRemediate, FailureClassification: homeboy.ClassExecutionFailed, Summary: summary}
}

// A Failure is an error that says how its outcome reads.
type Failure struct {
	Status     homeboy.OutcomeStatus // empty: failed
	Class      homeboy.FailureClass  // empty: execution_failed
	Diagnostic string                // the class of the diagnostic; empty: the class
	Retryable  *bool                 // empty: no opinion
	Data       any                   // for the diagnostic
	Err        error
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// Invalid says that the request cannot be carried out by anybody: trying again does not help.
func Invalid(err error) error {
	f := &Failure{Status: homeboy.ProviderError, Class: homeboy.ClassInvalidInput, Diagnostic: DiagnosticRequest, Retryable: new(bool), Err: err}
	if faults := fault.Of(err); faults != nil {
		f.Data = map[string]any{"faults": faults}
	}
	return f
}

// Setup says that the provider cannot run here: a program or a secret is missing. Trying again does not help.
func Setup(err error) error {
	return &Failure{Status: homeboy.ProviderError, Class: homeboy.ClassProvider, Diagnostic: DiagnosticSetup, Retryable: new(bool), Err: err}
}

// settle makes the one outcome of what the handler handed back and of what the run collected.
func (r *Run) settle(ctx context.Context, got result) Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := got.outcome
	if got.err != nil {
		o = failed(ctx, o, got.err)
	}
	r.complete(&o)
	r.declare(&o)
	if err := o.Validate(); err != nil {
		o = r.broken(err)
	}
	return o
}

// failed tells an error in an outcome. What the handler said besides stays.
func failed(ctx context.Context, o Outcome, err error) Outcome {
	f := &Failure{}
	switch known := ctx.Err(); {
	case errors.As(err, &f) && !stopped(ctx, f):
	case errors.Is(known, context.DeadlineExceeded):
		f = &Failure{Status: homeboy.Timeout, Class: homeboy.ClassTimeout, Diagnostic: DiagnosticTimeout, Err: fmt.Errorf("the time limit passed: %w", err)}
	case known != nil:
		f = &Failure{Status: homeboy.Cancelled, Class: homeboy.ClassUnknown, Diagnostic: DiagnosticCancelled, Err: fmt.Errorf("the host asked to stop: %w", err)}
	default:
		f = &Failure{Err: err}
	}
	o.Status, o.FailureClassification = f.Status, f.Class
	if o.Status == "" {
		o.Status = homeboy.Failed
	}
	if o.FailureClassification == "" {
		o.FailureClassification = homeboy.ClassExecutionFailed
	}
	if o.Summary == "" {
		o.Summary = err.Error()
	}
	if o.Retryable == nil {
		o.Retryable = f.Retryable
	}
	d := homeboy.Diagnostic{Class: f.Diagnostic, Message: err.Error(), Data: encoded(f.Data)}
	if d.Class == "" {
		d.Class = string(o.FailureClassification)
	}
	o.Diagnostics = append([]homeboy.Diagnostic{d}, o.Diagnostics...) // the first is the cause
	return o
}

// stopped says that a failure is only that the request came to its end: what was begun then did not fail for a reason
// of its own, whatever the handler makes of it.
func stopped(ctx context.Context, f *Failure) bool {
	return f.Diagnostic == DiagnosticSetup && ctx.Err() != nil && (errors.Is(f.Err, ctx.Err()) || errors.Is(f.Err, context.Cause(ctx)))
}

// complete adds what the run knows.
func (r *Run) complete(o *Outcome) {
	o.Schema, o.TaskID = homeboy.SchemaOutcome, r.taskID()
	o.Artifacts = append(o.Artifacts, r.artifacts...)
	o.Diagnostics = append(o.Diagnostics, r.diagnostics...)
	if len(r.outputs) > 0 {
		all := maps.Clone(r.outputs)
		maps.Copy(all, o.Outputs)
		o.Outputs = all
	}
	if len(r.metadata) > 0 {
		all := map[string]json.RawMessage{}
		if !o.Metadata.Null() && json.Unmarshal(o.Metadata, &all) != nil {
			all["metadata"] = json.RawMessage(o.Metadata) // not an object
		}
		for name, value := range r.metadata {
			if _, there := all[name]; !there {
				all[name] = json.RawMessage(value)
			}
		}
		o.Metadata = encoded(all)
	}
	if o.FailureClassification == "" && o.Status != "" && !homeboy.IsSuccess(o.Status) {
		o.FailureClassification = classOf(o.Status)
	}
}

func classOf(s homeboy.OutcomeStatus) homeboy.FailureClass {
	switch s {
	case homeboy.Timeout:
		return homeboy.ClassTimeout
	case homeboy.ProviderError:
		return homeboy.ClassProvider
	case homeboy.Failed, homeboy.UnableToRemediate:
		return homeboy.ClassExecutionFailed
	}
	return homeboy.ClassUnknown
}

// declare holds the status to those that the manifest lists. A success that was not declared is not made another one.
func (r *Run) declare(o *Outcome) {
	words := r.declared.OutcomeStatuses
	if len(words) == 0 || o.Status == "" || slices.Contains(words, string(o.Status)) {
		return
	}
	said := o.Status
	o.Status = homeboy.ProviderError
	for _, near := range []homeboy.OutcomeStatus{homeboy.Failed, homeboy.ProviderError} {
		if slices.Contains(words, string(near)) {
			o.Status = near
			break
		}
	}
	if o.FailureClassification == "" {
		o.FailureClassification = classOf(o.Status)
	}
	o.Diagnostics = append(o.Diagnostics, homeboy.Diagnostic{
		Class: DiagnosticStatus, Message: fmt.Sprintf("the status is %q, which the manifest does not declare", said), Data: encoded(map[string]any{"status": said}),
	})
}

// broken is the outcome in place of one that nobody could read.
func (r *Run) broken(err error) Outcome {
	o := Outcome{
		Schema: homeboy.SchemaOutcome, TaskID: r.taskID(), Status: homeboy.ProviderError, FailureClassification: homeboy.ClassProvider,
		Summary: "the provider made an outcome that breaks the contract", Retryable: new(bool), Artifacts: r.artifacts,
		Diagnostics: []homeboy.Diagnostic{{Class: DiagnosticOutcome, Message: err.Error(), Data: encoded(map[string]any{"faults": fault.Of(err)})}},
	}
	r.declare(&o)
	return o
}

func (r *Run) taskID() string {
	var l fault.List
	if l.Name("$.task_id", r.request.TaskID); l.Len() > 0 {
		return unknownTask
	}
	return r.request.TaskID
}

// encoded writes a value as JSON; nil, and what cannot be written, is absent.
func encoded(v any) homeboy.Value {
	if v == nil {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return text
}
