package deed

import (
	"slices"
	"testing"

	"github.com/deedrun/deed/contract/fault"
)

func paths(err error) []string {
	var out []string
	for _, f := range fault.Of(err) {
		out = append(out, f.Code+" "+f.Path)
	}
	return out
}

func TestCheckRunsExactlyOneThing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		check Check
		want  []string
	}{
		{"argv", Check{Command: []string{"go", "test"}}, nil},
		{"shell", Check{Shell: "make test"}, nil},
		{"root", Check{Shell: "x", Dir: "."}, nil},
		{"neither", Check{Name: "n"}, []string{"missing_field $"}},
		{"both", Check{Command: []string{"a"}, Shell: "b"}, []string{"conflict $.shell"}},
		{"blank program", Check{Command: []string{" ", "x"}}, []string{"blank $.command[0]"}},
		{"blank shell", Check{Shell: "\n"}, []string{"blank $.shell"}},
		{"outside", Check{Shell: "x", Dir: "a/../.."}, []string{"bad_format $.dir"}},
		{"absolute", Check{Shell: "x", Dir: "/"}, []string{"bad_format $.dir"}},
		{"too long", Check{Shell: "x", TimeoutSeconds: MaxTimeoutSeconds + 1}, []string{"out_of_range $.timeout_seconds"}},
		{"negative", Check{Shell: "x", TimeoutSeconds: -1}, []string{"out_of_range $.timeout_seconds"}},
		{"NUL", Check{Command: []string{"a", "b\x00"}, Env: map[string]string{"A": "\x00"}}, []string{"bad_format $.command[1]", "bad_format $.env.A"}},
	} {
		if got := paths(tc.check.Validate()); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

func TestZeroSpecsAreValid(t *testing.T) {
	t.Parallel()
	if err := (TaskSpec{}).Validate(); err != nil {
		t.Error(err)
	}
	if err := (TypeSpec{}).Validate(); err != nil {
		t.Error(err)
	}
}

// An accepted verdict must not be able to hide a reason or a check that did not pass.
func TestVerdictIsCoherent(t *testing.T) {
	t.Parallel()
	why := []Reason{{Code: "scope", Message: "m"}}
	for _, tc := range []struct {
		name    string
		verdict Verdict
		want    []string
	}{
		{"accepted", Verdict{Schema: SchemaVerdict, Accepted: true, NoOp: true}, nil},
		{"refused", Verdict{Schema: SchemaVerdict, Reasons: why}, nil},
		{"accepted against a reason", Verdict{Schema: SchemaVerdict, Accepted: true, Reasons: why}, []string{"conflict $.accepted"}},
		{"refused without one", Verdict{Schema: SchemaVerdict}, []string{"conflict $.reasons"}},
		{"refused no-op", Verdict{Schema: SchemaVerdict, NoOp: true, Reasons: why}, []string{"conflict $.no_op"}},
		{"check that timed out", Verdict{Schema: SchemaVerdict, Accepted: true, Checks: []CheckResult{{Name: "a", Status: CheckTimeout}}}, []string{"conflict $.checks[0].status"}},
		{"no schema", Verdict{Reasons: why}, []string{"wrong_schema $.schema"}},
	} {
		if got := paths(tc.verdict.Validate()); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}
