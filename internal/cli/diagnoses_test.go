package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/evidence"
)

func TestDiagnosesTellEachFindingOnce(t *testing.T) {
	t.Parallel()
	got := diagnoses([]evidence.Diagnostic{
		{Class: "wp-codebox.agent_task_run_failed", Message: "judge the attempt: check a failed; check b failed"},
		{Class: "deed.check_failed", Message: "check a failed"},
		{Class: "deed.check_failed", Message: "check b failed"},
		{Class: "deed.other", Message: "check b failed"},
		{Class: "deed.egress", Message: "x:1 is not allowed", Remedy: "allow it"},
		{Class: "deed.fault", Path: "$.a", Message: "is wrong (remove it)", Remedy: "remove it"},
	})
	want := []string{"check a failed", "check b failed", "x:1 is not allowed (allow it)", "$.a: is wrong (remove it)"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
