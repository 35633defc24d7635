package brief

import (
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
)

// Of a hidden check an agent learns only that one failed.
func TestHiddenChecksStayHidden(t *testing.T) {
	t.Parallel()
	in := input()
	in.Spec.Checks = append(in.Spec.Checks, deed.Check{Capability: runner.Test}, deed.Check{Name: "secret-name", Shell: "sh secret-command", Hidden: true, Files: "/secret-dir"})
	b, err := Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	if s := b.Text + string(b.Document); strings.Contains(s, "secret-") {
		t.Error("the brief tells of a hidden check")
	}
	if !strings.Contains(b.Text, "compared by name") {
		t.Errorf("the brief does not say how the tests are run:\n%s", b.Text)
	}
	v := deed.Verdict{
		Reasons: []deed.Reason{
			{Code: "secret-code", Message: "secret-one", Check: "secret-name", Path: "secret-path"},
			{Code: "secret-code", Message: "secret-two", Check: "secret-name"},
			{Code: "check_failed", Message: "open", Check: "open"},
		},
		Checks: []deed.CheckResult{{Name: "secret-name", Status: "failed", Tail: "secret-tail", Hidden: true}, {Name: "open", Status: "failed", Tail: "the tail"}},
	}
	text := Refusal(v, 1, 3)
	if strings.Contains(text, "secret-") {
		t.Errorf("the refusal tells of a hidden check:\n%s", text)
	}
	if strings.Count(text, "a hidden check failed") != 1 || !strings.Contains(text, "open (check_failed)") || !strings.Contains(text, "the tail") {
		t.Errorf("got:\n%s", text)
	}
}
