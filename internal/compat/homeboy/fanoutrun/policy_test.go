package fanoutrun

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
)

func ptr(n int64) *int64 { return &n }

var everything = Policy{
	Retry:    &Retry{MaxAttempts: 5},
	Rotation: &Rotation{Entries: []Entry{{Backend: "two"}, {Backend: "three"}}},
}

// A policy that matches everything meets each status and class. Edge cases 89 and 91.
func TestWhatIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, status := range homeboy.OutcomeStatuses {
		for _, class := range append([]homeboy.FailureClass{""}, homeboy.FailureClasses...) {
			d := everything.decide([]Try{{Try: 1}}, end(status, class), time.Now())
			want := ThenRetry
			switch {
			case status == homeboy.Succeeded, status == homeboy.NoOp, status == homeboy.Cancelled, status == homeboy.CandidateRecoverable, class == homeboy.ClassPolicyDenied:
				want = ""
			case status == homeboy.Timeout:
				want = ThenRotate
			}
			if d.then != want {
				t.Errorf("%s/%s: then %q, want %q", status, class, d.then, want)
			}
			only := Policy{Rotation: everything.Rotation}
			rotates := want != "" && (status == homeboy.Timeout || slices.Contains([]homeboy.FailureClass{"provider", "transient", "timeout", "stalled", "rate_limited"}, class))
			if d := only.decide([]Try{{Try: 1}}, end(status, class), time.Now()); (d.then == ThenRotate) != rotates {
				t.Errorf("rotation alone, %s/%s: then %q, want rotation %v", status, class, d.then, rotates)
			}
			if d := (Policy{}).decide([]Try{{Try: 1}}, end(status, class), time.Now()); d.then != "" || d.spent != "" {
				t.Errorf("without a policy, %s/%s: %+v", status, class, d)
			}
		}
	}
}

func TestATimeoutThatLeftAPatchDoesNotRotate(t *testing.T) {
	t.Parallel()
	o := end(homeboy.Timeout, homeboy.ClassTimeout)
	size := int64(12)
	o.Artifacts = []homeboy.Artifact{{ID: "p", Kind: homeboy.KindPatch, Path: "p.diff", SizeBytes: &size, SHA256: strings.Repeat("a", 64)}}
	if d := everything.decide([]Try{{Try: 1}}, o, time.Now()); d.then != "" {
		t.Errorf("it goes on with %q", d.then)
	}
}

// The lower of all bounds wins, and a budget is named only where it was the cause. Edge case 90.
func TestBounds(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000)
	fails := end(homeboy.ProviderError, homeboy.ClassProvider)
	one := []Try{{Try: 1}}
	two := []Try{{Try: 1, Then: ThenRetry}, {Try: 2}}
	second := []Try{{Try: 1, Then: ThenRotate}, {Try: 2, Entry: 1}}
	last := []Try{{Try: 1, Then: ThenRotate}, {Try: 2, Entry: 1, Then: ThenRotate}, {Try: 3, Entry: 2}}
	lost := []Try{{Try: 1, Then: ThenLost}, {Try: 2, Then: ThenLost}, {Try: 3}}
	with := func(b Budget) Policy { p := everything; p.Budget = &b; return p }
	for name, c := range map[string]struct {
		p     Policy
		tries []Try
		want  decision
	}{
		"retry before rotation":           {everything, one, decision{then: ThenRetry}},
		"attempts used up, so it rotates": {Policy{Retry: &Retry{MaxAttempts: 2}, Rotation: everything.Rotation}, two, decision{then: ThenRotate, entry: 1}},
		"one attempt is no retry":         {Policy{Retry: &Retry{MaxAttempts: 1}}, one, decision{}},
		"none is no retry either":         {Policy{Retry: &Retry{}}, one, decision{}},
		"a class that is not listed":      {Policy{Retry: &Retry{MaxAttempts: 9, Classes: []homeboy.FailureClass{homeboy.ClassTransient}}}, one, decision{}},
		"each provider has its attempts":  {Policy{Retry: &Retry{MaxAttempts: 2}, Rotation: everything.Rotation}, second, decision{then: ThenRetry, entry: 1}},
		"the rotation has an end":         {Policy{Rotation: everything.Rotation}, last, decision{}},
		"rotation attempts":               {Policy{Rotation: &Rotation{Entries: everything.Rotation.Entries, MaxAttempts: 2}}, second, decision{}},
		"a budget of one never rotates":   {with(Budget{MaxProviderExecutions: 1}), one, decision{spent: "max_provider_executions"}},
		"executions count both":           {with(Budget{MaxProviderExecutions: 2}), second, decision{spent: "max_provider_executions"}},
		"no same-provider retry":          {with(Budget{MaxSameProviderRetries: ptr(0)}), one, decision{then: ThenRotate, entry: 1}},
		"one same-provider retry":         {with(Budget{MaxSameProviderRetries: ptr(1)}), two, decision{then: ThenRotate, entry: 1}},
		"no rotation":                     {Policy{Rotation: everything.Rotation, Budget: &Budget{MaxProviderRotations: ptr(0)}}, one, decision{spent: "max_provider_rotations"}},
		"the deadline is past":            {with(Budget{DeadlineUnixMS: 1_000_000}), one, decision{spent: "deadline_unix_ms"}},
		"the deadline is to come":         {with(Budget{DeadlineUnixMS: 1_000_001}), one, decision{then: ThenRetry}},
		"what was lost does not count":    {Policy{Retry: &Retry{MaxAttempts: 2}, Budget: &Budget{MaxProviderExecutions: 2}}, lost, decision{then: ThenRetry}},
		"a refusal is not repeated":       {everything, []Try{{Try: 1, Refused: true}}, decision{then: ThenRotate, entry: 1}},
		"no policy, so no budget's fault": {Policy{Budget: &Budget{MaxProviderExecutions: 1}}, one, decision{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.p.decide(c.tries, fails, now); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// The request of a rotation is that of its entry. Edge case 91: model override per entry.
func TestEntriesOfARotation(t *testing.T) {
	t.Parallel()
	q := homeboy.Request{Executor: homeboy.Executor{Backend: "one", Selector: "one.a", Runtime: "one", Model: "m", Config: map[string]homeboy.Value{"a": homeboy.Value("1"), "b": homeboy.Value("2")}}}
	p := Policy{Rotation: &Rotation{Entries: []Entry{
		{Model: "big"}, {Backend: "two", Model: "other"}, {Selector: "one.b", ProviderConfig: map[string]homeboy.Value{"b": homeboy.Value("3")}},
	}}}
	want := []homeboy.Executor{
		q.Executor,
		{Backend: "one", Selector: "one.a", Runtime: "one", Model: "big", Config: q.Executor.Config},
		{Backend: "two", Model: "other", Config: q.Executor.Config},
		{Backend: "one", Selector: "one.b", Runtime: "one", Model: "m", Config: map[string]homeboy.Value{"a": homeboy.Value("1"), "b": homeboy.Value("3")}},
	}
	for i := range want {
		if d := cmp.Diff(want[i], p.apply(q, i).Executor); d != "" {
			t.Errorf("entry %d differs (-want +got):\n%s", i, d)
		}
	}
	if q.Executor.Config["b"][0] != '2' {
		t.Error("the request itself was changed")
	}
}

func TestPoliciesAreReadWithAllTheirFaults(t *testing.T) {
	t.Parallel()
	p, ignored, err := ReadPolicy("$.options", homeboy.Value(`{"max_concurrency": 4, "retry": {"max_attempts": 2, "max_retries_total": 0,
		"retryable_failure_classifications": ["provider"]}, "rotation": {"entries": [{"backend": "b", "adoption": {}}]},
		"execution_budget": {"max_provider_executions": 3}, "per_executor_concurrency": {"a": 1}, "candidate_completion": "first_green",
		"adaptive_concurrency": true, "fast_lane": false, "notes": null}`))
	if err != nil {
		t.Fatal(err)
	}
	want := Policy{
		MaxConcurrency: 4, PerExecutor: map[string]int64{"a": 1}, Rotation: &Rotation{Entries: []Entry{{Backend: "b"}}},
		Retry:  &Retry{MaxAttempts: 2, MaxRetriesTotal: ptr(0), Classes: []homeboy.FailureClass{homeboy.ClassProvider}},
		Budget: &Budget{MaxProviderExecutions: 3}, Completion: FirstGreen,
	}
	if d := cmp.Diff(want, p); d != "" || !slices.Equal(ignored, []string{"adaptive_concurrency"}) {
		t.Errorf("ignored %v, differs (-want +got):\n%s", ignored, d)
	}
	_, _, err = ReadPolicy("$.options", homeboy.Value(`{"retry": {"max_attempts": 1000, "max_retries_total": -1, "retryable_failure_classifications": ["nope"]},
		"rotation": {"entries": [{}], "max_attempts": -1}, "execution_budget": {"max_provider_executions": -3, "max_provider_rotations": -1}, "per_executor_concurrency": {"a": 0, " ": 1},
		"candidate_completion": "first"}`))
	var faults fault.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("not refused: %v", err)
	}
	var paths []string
	for _, f := range faults {
		paths = append(paths, f.Path)
	}
	for _, want := range []string{
		"$.options.retry.max_attempts", "$.options.retry.max_retries_total", "$.options.retry.retryable_failure_classifications[0]",
		"$.options.rotation.entries[0]", "$.options.rotation.max_attempts", "$.options.execution_budget.max_provider_executions",
		"$.options.execution_budget.max_provider_rotations", "$.options.per_executor_concurrency.a", "$.options.candidate_completion",
	} {
		if !slices.Contains(paths, want) {
			t.Errorf("no fault at %s in %v", want, paths)
		}
	}
	for _, bad := range []string{`[]`, `{"retry": 3}`, `{"max_concurrency": "many"}`} {
		if _, _, err := ReadPolicy("$.options", homeboy.Value(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
