package codebox

import (
	"fmt"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
)

// Validate returns every contradiction of the envelope: its parts tell one story. Success, status, session, completion
// outcome, task result, terminal result and run status all follow from how the run ended.
func (r AgentTaskRun) Validate() error {
	var l fault.List
	want := r.AgentTaskRunResult.Status
	if want == evidence.StatusSucceeded {
		want = evidence.StatusCompleted
	}
	agree(&l, "$.status", r.Status, want)
	success := evidence.Success(r.AgentTaskRunResult.Status)
	cancelled := r.RunMetadata.RunStatus == evidence.RunCancelled
	for _, m := range []struct {
		at  string
		got bool
	}{
		{"$.success", r.Success},
		{"$.agent_task_run_result.success", r.AgentTaskRunResult.Success},
		{"$.agent_task_result.success", r.AgentTaskResult.Success},
		{"$.terminal_result.success", r.TerminalResult.Success},
		{"$.session.status", r.Session.Status == evidence.SessionCompleted},
		{"$.agent_task_result.status", r.AgentTaskResult.Status == evidence.SessionCompleted},
		{"$.completion_outcome.status", r.CompletionOutcome.Status == evidence.OutcomeSucceeded},
		{"$.run_metadata.run_status", r.RunMetadata.RunStatus == evidence.RunSucceeded},
	} {
		if m.got != success {
			l.Add(m.at, fault.Conflict, "contradicts agent_task_run_result.status "+quote(r.AgentTaskRunResult.Status), "write what the run's one outcome says")
		}
	}
	if cancelled != (r.Session.Status == evidence.SessionCancelled) {
		l.Add("$.session.status", fault.Conflict, fmt.Sprintf("is %q and the run is %q", r.Session.Status, r.RunMetadata.RunStatus), "a cancelled run has a cancelled session")
	}
	if success == (r.FailureEvidence != nil) {
		l.Add("$.failure_evidence", fault.Conflict, "is there for exactly the runs that do not succeed", "")
	}
	if success && r.AgentResult.Status != evidence.AgentCompleted {
		l.Add("$.agent_result.status", fault.Conflict, fmt.Sprintf("is %q and the run succeeded", r.AgentResult.Status), "write completed")
	}
	if want := r.AgentTaskRunResult.Status == evidence.StatusSucceeded; r.AgentResult.Actionable != want {
		l.Add("$.agent_result.actionable", fault.Conflict, "does not go with the status", "only a change that was accepted is to be acted on")
	}
	l.Within("$.agent_task_run_result", r.AgentTaskRunResult.Validate())
	l.Within("$.terminal_result", r.TerminalResult.Validate())
	if r.FailureEvidence != nil {
		l.Within("$.failure_evidence", r.FailureEvidence.Validate())
	}
	return l.Err()
}

// Validate returns every contradiction of the result.
func (r AgentTaskRunResult) Validate() error {
	var l fault.List
	if r.Success != evidence.Success(r.Status) {
		l.Add("$.success", fault.Conflict, fmt.Sprintf("is %v and the status is %q", r.Success, r.Status), "succeeded and no_op are the successes")
	}
	if r.Success && r.FailureClassification != "" {
		l.Add("$.failure_classification", fault.Conflict, "is set and the run succeeded", "leave it out")
	}
	if r.NoOp.Detected != (r.Status == evidence.StatusNoOp) {
		l.Add("$.no_op.detected", fault.Conflict, fmt.Sprintf("is %v and the status is %q", r.NoOp.Detected, r.Status), "they say the same")
	}
	return l.Err()
}

// Validate demands that evidence of a failure does not read like a success.
func (e FailureEvidence) Validate() error {
	var l fault.List
	if e.ExitCode == 0 {
		l.Add("$.exit_code", fault.Conflict, "is 0, which says that nothing failed", "write the code of what failed, or the command's own")
	}
	return l.Err()
}

func agree(l *fault.List, at, got, want string) {
	if got != want {
		l.Add(at, fault.Conflict, "is "+quote(got)+" where the outcome says "+quote(want), "")
	}
}
