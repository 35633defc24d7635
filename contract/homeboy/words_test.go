package homeboy

import (
	"slices"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/evidence"
)

// The expectation is written out apart from the table, so that a slip in one shows.
func TestEveryStatusHasAMeaning(t *testing.T) {
	t.Parallel()
	want := map[OutcomeStatus][5]string{
		"succeeded":             {"completed", "ok", "", "succeeded", "completed"},
		"no_op":                 {"completed", "ok", "no_op", "no_op", "completed"},
		"unable_to_remediate":   {"permanent_failure", "failed", "unable", "unable_to_remediate", "failed"},
		"provider_error":        {"retryable_failure", "needs_retry", "provider_error", "provider_error", "failed"},
		"timeout":               {"retryable_failure", "needs_retry", "timeout", "timeout", "failed"},
		"failed":                {"permanent_failure", "failed", "", "failed", "failed"},
		"follow_up_issue":       {"blocked", "blocked", "", "failed", "failed"},
		"candidate_recoverable": {"blocked", "blocked", "candidate", "failed", "failed"},
		"cancelled":             {"operator_canceled", "canceled", "", "failed", "failed"},
	}
	if len(want) != len(OutcomeStatuses) || len(meanings) != len(OutcomeStatuses) {
		t.Fatalf("%d statuses, %d meanings, %d expected", len(OutcomeStatuses), len(meanings), len(want))
	}
	for _, s := range OutcomeStatuses {
		m, ok := s.Meaning()
		if got := [5]string{string(m.Task), string(m.Task.Machine()), m.Cause, m.Sandbox, string(m.Record)}; !ok || got != want[s] {
			t.Errorf("%s: %v, want %v", s, got, want[s])
		}
		if !slices.Contains(agentruntime.TaskStatuses, m.Task) || !slices.Contains(evidence.TerminalStatuses, m.Sandbox) || !slices.Contains(RecordStatuses, m.Record) {
			t.Errorf("%s: a word of no vocabulary in %+v", s, m)
		}
		if (m.Record == RecordCompleted) != IsSuccess(s) {
			t.Errorf("%s: a record is completed for the successes alone", s)
		}
	}
	for _, s := range []OutcomeStatus{"", "success", "Succeeded"} {
		if m, ok := s.Meaning(); ok {
			t.Errorf("%q: %+v", s, m)
		}
	}
}
