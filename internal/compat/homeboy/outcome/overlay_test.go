package outcome

import (
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/homeboy"
)

// answered makes an outcome as Read and Gather leave it.
func answered(status homeboy.OutcomeStatus, change func(o *homeboy.Outcome)) homeboy.Outcome {
	o := homeboy.Outcome{Schema: homeboy.SchemaOutcome, TaskID: "t1", Status: status}
	switch {
	case status == homeboy.Cancelled, homeboy.IsSuccess(status):
	default:
		o.FailureClassification = homeboy.ClassTransient
	}
	if change != nil {
		change(&o)
	}
	return o
}

func TestOverlay(t *testing.T) {
	t.Parallel()
	accepted := Verdict{Request: request, Judged: true, Accepted: true, Attempt: "a1", Bundle: "/b", Base: "rev1"}
	changed := accepted
	changed.Changed, changed.Patch = 2, &Patch{Path: "/b/change.patch", SHA256: strings.Repeat("a", 64), Size: 9}
	refused := changed
	refused.Accepted, refused.Reasons = false, []Reason{{Code: "tests_failed", Message: "2 tests fail", Remedy: "fix them"}, {Code: "scope", Message: "x is protected"}}
	ended := func(status homeboy.OutcomeStatus) Verdict {
		v := changed
		v.Judged, v.Accepted, v.Ended = false, false, status
		v.Reasons = []Reason{{Code: "why", Message: "because"}}
		return v
	}
	asking := func(v Verdict, names ...string) Verdict {
		v.Request.ExpectedArtifacts = names
		return v
	}
	report := func(o *homeboy.Outcome) {
		o.TypedArtifacts = []homeboy.TypedArtifact{{Name: "report", Payload: homeboy.Value(`"long"`)}}
	}
	ownPatch := func(size int64) func(o *homeboy.Outcome) {
		return func(o *homeboy.Outcome) {
			o.Artifacts = []homeboy.Artifact{{ID: "p", Kind: "patch", SizeBytes: &size, SHA256: strings.Repeat("b", 64)}}
		}
	}
	intentional := func(revision string) func(o *homeboy.Outcome) {
		return func(o *homeboy.Outcome) {
			report(o)
			o.Outputs = map[string]homeboy.Value{"v": homeboy.Value(`{"schema":"homeboy/intentional-no-change/v1","revision":"` + revision + `"}`)}
		}
	}
	for name, tc := range map[string]struct {
		o      homeboy.Outcome
		v      Verdict
		status homeboy.OutcomeStatus
		class  homeboy.FailureClass
		codes  string // classes of diagnostics
		decide homeboy.Decision
	}{
		"success with a change":            {answered(homeboy.Succeeded, nil), changed, homeboy.Succeeded, "", "", homeboy.DecideApply},
		"refused":                          {answered(homeboy.Succeeded, nil), refused, homeboy.Failed, homeboy.ClassExecutionFailed, CodeGateRefused + " " + CodeGateRefused, homeboy.DecideReview},
		"refused no_op":                    {answered(homeboy.NoOp, nil), refused, homeboy.Failed, homeboy.ClassExecutionFailed, CodeGateRefused + " " + CodeGateRefused, homeboy.DecideReview},
		"nobody judged":                    {answered(homeboy.Succeeded, nil), Verdict{Request: request}, homeboy.Failed, homeboy.ClassExecutionFailed, CodeGateMissing, homeboy.DecideReview},
		"no_op that changed files":         {answered(homeboy.NoOp, nil), changed, homeboy.Succeeded, "", CodeNoOpChanged, homeboy.DecideApply},
		"no_op":                            {answered(homeboy.NoOp, nil), accepted, homeboy.NoOp, "", "", homeboy.DecideNoOp},
		"71 success without a change":      {answered(homeboy.Succeeded, nil), accepted, homeboy.NoOp, "", CodeNothingDone, homeboy.DecideNoOp},
		"71 an empty patch only":           {answered(homeboy.Succeeded, ownPatch(0)), asking(accepted, "patch"), homeboy.NoOp, "", CodeNothingDone, homeboy.DecideNoOp},
		"71 an empty patch and a report":   {answered(homeboy.Succeeded, report), asking(accepted, "patch", "report"), homeboy.CandidateRecoverable, "", CodePatchEmpty, homeboy.DecideReview},
		"71 a claimed patch and a report":  {answered(homeboy.Succeeded, func(o *homeboy.Outcome) { report(o); ownPatch(0)(o) }), asking(accepted, "report"), homeboy.CandidateRecoverable, "", CodePatchEmpty, homeboy.DecideReview},
		"71 only a report was asked for":   {answered(homeboy.Succeeded, report), asking(accepted, "report"), homeboy.Succeeded, "", "", homeboy.DecideReview},
		"71 a report that nobody declared": {answered(homeboy.Succeeded, report), asking(accepted, "patch"), homeboy.NoOp, "", CodeNothingDone, homeboy.DecideNoOp},
		"71 no change is meant":            {answered(homeboy.Succeeded, intentional("rev1")), asking(accepted, "patch", "report"), homeboy.NoOp, "", CodeNothingDone, homeboy.DecideNoOp},
		"71 no change of another revision": {answered(homeboy.Succeeded, intentional("rev0")), asking(accepted, "patch", "report"), homeboy.CandidateRecoverable, "", CodePatchEmpty, homeboy.DecideReview},
		"a failure":                        {answered(homeboy.Failed, nil), changed, homeboy.Failed, homeboy.ClassTransient, "", homeboy.DecideApply},
		"a failure that is refused":        {answered(homeboy.Failed, nil), refused, homeboy.Failed, homeboy.ClassTransient, CodeGateRefused + " " + CodeGateRefused, homeboy.DecideRetry},
		"a candidate":                      {answered(homeboy.CandidateRecoverable, nil), changed, homeboy.CandidateRecoverable, homeboy.ClassTransient, "", homeboy.DecideApply},
		"cancelled by deed":                {answered(homeboy.Succeeded, nil), ended(homeboy.Cancelled), homeboy.Cancelled, "", CodeEnded, homeboy.DecideReview},
		"a failure, cancelled by deed":     {answered(homeboy.Failed, nil), ended(homeboy.Cancelled), homeboy.Cancelled, "", CodeEnded, homeboy.DecideReview},
		"timeout by deed":                  {answered(homeboy.Succeeded, nil), ended(homeboy.Timeout), homeboy.Timeout, homeboy.ClassTimeout, CodeEnded, homeboy.DecideRetry},
		"a failure beside a timeout":       {answered(homeboy.Failed, nil), ended(homeboy.Timeout), homeboy.Failed, homeboy.ClassTransient, CodeEnded, homeboy.DecideRetry},
		"a failure, then this machine's":   {answered(homeboy.Failed, nil), ended(homeboy.ProviderError), homeboy.ProviderError, homeboy.ClassProvider, CodeEnded, homeboy.DecideRetry},
		"a timeout, then this machine's":   {answered(homeboy.Timeout, nil), ended(homeboy.ProviderError), homeboy.Timeout, homeboy.ClassTransient, CodeEnded, homeboy.DecideRetry},
		"this machine's fault":             {answered(homeboy.Succeeded, nil), ended(homeboy.ProviderError), homeboy.ProviderError, homeboy.ClassProvider, CodeEnded, homeboy.DecideRetry},
		"a patch of its own":               {answered(homeboy.Succeeded, ownPatch(4)), changed, homeboy.Succeeded, "", CodePatchReplace, homeboy.DecideApply},
		"only a patch that nobody saw":     {answered(homeboy.Succeeded, ownPatch(4)), accepted, homeboy.NoOp, "", CodeNothingDone, homeboy.DecideNoOp},
		"only a patch of its own": {answered(homeboy.Succeeded, func(o *homeboy.Outcome) {
			ownPatch(4)(o)
			o.Artifacts[0].Metadata = homeboy.Value(`{"artifact_provenance":{"verified":true}}`)
		}), accepted, homeboy.CandidateRecoverable, "", CodePatchEmpty, homeboy.DecideApply},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := string(value(tc.o))
			o := Overlay(tc.o, tc.v)
			if string(value(tc.o)) != before {
				t.Error("what was laid over is changed")
			}
			if err := o.Validate(); err != nil {
				t.Error(err)
			}
			var got []string
			for _, d := range o.Diagnostics {
				got = append(got, d.Class)
			}
			if o.Status != tc.status || o.FailureClassification != tc.class || strings.Join(got, " ") != tc.codes || o.Decide() != tc.decide {
				t.Errorf("%s %s %s %s", o.Status, o.FailureClassification, got, o.Decide())
			}
			if want := string(tc.o.Status); o.Status != tc.o.Status && member(t, o.Metadata, "provider_status") != want || member(t, o.Metadata, "deed.provider_status") != want {
				t.Errorf("%s", o.Metadata)
			}
			mine := slices.IndexFunc(o.Artifacts, func(a homeboy.Artifact) bool { return a.ID == "deed-patch" })
			if (mine >= 0) != (tc.v.Patch != nil) {
				t.Fatalf("%+v", o.Artifacts)
			}
			if mine < 0 {
				return
			}
			if reviewOnly(o.Artifacts[mine]) == tc.v.Accepted || member(t, o.Artifacts[mine].Metadata, "artifact_provenance.base_ref") != "rev1" {
				t.Errorf("%+v", o.Artifacts[mine])
			}
			for i, a := range o.Artifacts {
				if i != mine && isPatch(a) && !reviewOnly(a) {
					t.Errorf("two patches to apply: %+v", o.Artifacts)
				}
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		class  homeboy.FailureClass
		status homeboy.OutcomeStatus
		phase  Phase
	}{
		{homeboy.ClassCapabilityMissing, homeboy.Failed, PhaseSetup},
		{homeboy.ClassPolicyDenied, homeboy.Failed, PhaseSetup},
		{homeboy.ClassInvalidInput, homeboy.ProviderError, PhaseRequest},
		{homeboy.ClassProvider, homeboy.ProviderError, PhaseSetup},
	} {
		o := Refused("agent_task.secret_env_missing", "KEY is not set", "set it", tc.class, "t1")
		if err := o.Validate(); err != nil {
			t.Error(err)
		}
		d := o.Diagnostics[0]
		if o.Status != tc.status || member(t, d.Data, "phase") != string(tc.phase) || member(t, d.Data, "remedy") != "set it" || o.EvidenceRefs[0].URI != "homeboy://agent-task/agent_task.secret_env_missing" {
			t.Errorf("%s: %+v", tc.class, o)
		}
	}
}

// What the provider said stays, whichever status is set after it, and a provider that never answered said nothing.
func TestOverlayKeepsTheWord(t *testing.T) {
	t.Parallel()
	v := Verdict{Request: request, Ended: homeboy.Cancelled, Reasons: []Reason{{Code: "canceled", Message: "somebody asked for it"}}}
	read := answered(homeboy.ProviderError, func(o *homeboy.Outcome) {
		o.Summary, o.Metadata = "it answered and then ended with an error", homeboy.Value(`{"provider_status":"succeeded"}`)
	})
	o := Overlay(read, v)
	for _, name := range []string{"provider_status", "deed.provider_status"} {
		if got := member(t, o.Metadata, name); got != "succeeded" {
			t.Errorf("%s is %q: %s", name, got, o.Metadata)
		}
	}
	if o.Summary != read.Summary {
		t.Errorf("%q is not what happened first", o.Summary)
	}
	success := answered(homeboy.Succeeded, func(o *homeboy.Outcome) { o.Summary = "all done" })
	if o = Overlay(success, v); o.Summary != "somebody asked for it" || member(t, o.Metadata, "provider_summary") != "all done" {
		t.Errorf("%q %s", o.Summary, o.Metadata)
	}
	v.NoAnswer = true
	o = Overlay(answered(homeboy.ProviderError, nil), v)
	if strings.Contains(string(o.Metadata), "provider_status") {
		t.Errorf("%s", o.Metadata)
	}
}
