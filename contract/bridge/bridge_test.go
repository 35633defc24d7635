package bridge

import (
	"slices"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
)

// The expectation is written out apart from the table, so that a slip in one shows.
func TestOutcomeMapsToEveryVocabulary(t *testing.T) {
	t.Parallel()
	want := []struct {
		status   agentruntime.TaskStatus
		cause    Cause
		machine  agentruntime.MachineStatus
		provider Provider
		sandbox  Sandbox
		fanout   Fanout
	}{
		{"completed", "", "ok", "succeeded", "succeeded", "completed"},
		{"completed", "no_op", "ok", "no_op", "no_op", "completed"},
		{"retryable_failure", "", "needs_retry", "provider_error", "provider_error", "failed"},
		{"retryable_failure", "timeout", "needs_retry", "timeout", "timeout", "failed"},
		{"retryable_failure", "provider_error", "needs_retry", "provider_error", "provider_error", "failed"},
		{"permanent_failure", "", "failed", "failed", "failed", "failed"},
		{"permanent_failure", "unable", "failed", "unable_to_remediate", "unable_to_remediate", "failed"},
		{"permanent_failure", "timeout", "failed", "timeout", "timeout", "failed"},
		{"permanent_failure", "provider_error", "failed", "provider_error", "provider_error", "failed"},
		{"blocked", "", "blocked", "follow_up_issue", "failed", "failed"},
		{"blocked", "candidate", "blocked", "candidate_recoverable", "failed", "failed"},
		{"operator_canceled", "", "canceled", "cancelled", "failed", "failed"},
	}
	if len(want) != len(table) {
		t.Fatalf("the table has %d rows and the test %d", len(table), len(want))
	}
	known := map[Outcome]bool{}
	for _, w := range want {
		o := Outcome{w.status, w.cause}
		known[o] = true
		p, perr := o.Provider()
		s, serr := o.Sandbox()
		f, ferr := o.Fanout()
		if perr != nil || serr != nil || ferr != nil {
			t.Errorf("%v: %v, %v, %v", o, perr, serr, ferr)
		}
		if p != w.provider || s != w.sandbox || f != w.fanout || o.Machine() != w.machine {
			t.Errorf("%v = %s, %s, %s, %s", o, o.Machine(), p, s, f)
		}
		if viaProvider, err := ProviderToFanout(p); err != nil || viaProvider != f {
			t.Errorf("%v: by way of the provider %s, %v; directly %s", o, viaProvider, err, f)
		}
	}
	// Everything else is refused: every status with every cause is decided here, one way or the other.
	for _, status := range append(slices.Clone(agentruntime.TaskStatuses), "", "success") {
		for _, cause := range append(slices.Clone(Causes), "nonsense") {
			o := Outcome{status, cause}
			if _, err := o.Provider(); (err == nil) != known[o] {
				t.Errorf("%v: %v", o, err)
			}
			if _, err := o.Sandbox(); (err == nil) != known[o] {
				t.Errorf("%v: %v", o, err)
			}
			if _, err := o.Fanout(); (err == nil) != known[o] {
				t.Errorf("%v: %v", o, err)
			}
		}
	}
}

func TestWordsComeBack(t *testing.T) {
	t.Parallel()
	for _, p := range Providers {
		o, err := FromProvider(p)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := o.Provider(); back != p || err != nil {
			t.Errorf("%s became %s, %v", p, back, err)
		}
	}
	for _, s := range Sandboxes {
		o, err := FromSandbox(s)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := o.Sandbox(); back != s || err != nil {
			t.Errorf("%s became %s, %v", s, back, err)
		}
	}
	// Every word of the table is one of the lists.
	for o, r := range table {
		if !slices.Contains(Providers, r.provider) || !slices.Contains(Sandboxes, r.sandbox) {
			t.Errorf("%v maps to unlisted words %v", o, r)
		}
	}
}

func TestUnknownWordsAreRefused(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"", "success", "Succeeded", "canceled", "missing_record"} {
		if o, err := FromProvider(Provider(word)); err == nil {
			t.Errorf("provider %q became %v", word, o)
		}
		if _, err := ProviderToFanout(Provider(word)); err == nil {
			t.Errorf("provider %q became a fanout record", word)
		}
	}
	for _, word := range []string{"", "cancelled", "follow_up_issue", "timed_out"} {
		if o, err := FromSandbox(Sandbox(word)); err == nil {
			t.Errorf("sandbox %q became %v", word, o)
		}
	}
}

// The fanout record of every provider status, written out as the contract has it; a status that is new has no row here
// and fails the test.
func TestFanoutRecordOfEveryProviderStatus(t *testing.T) {
	t.Parallel()
	want := map[Provider]Fanout{ // case 113
		"succeeded": "completed", "no_op": "completed",
		"unable_to_remediate": "failed", "provider_error": "failed", "timeout": "failed", "failed": "failed",
		"follow_up_issue": "failed", "cancelled": "failed", "candidate_recoverable": "failed",
	}
	if len(want) != len(Providers) {
		t.Errorf("there are %d statuses and the test knows %d", len(Providers), len(want))
	}
	for _, p := range Providers {
		if got, err := ProviderToFanout(p); err != nil || got != want[p] {
			t.Errorf("%s is recorded as %q, %v; want %q", p, got, err, want[p])
		}
	}
}
