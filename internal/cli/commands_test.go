package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/schema"
)

// No two commands have a name or an alias in common.
func TestCommandNamesAreUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range (&app{}).commands() {
		for _, name := range append([]string{c.Name()}, c.Aliases...) {
			if seen[name] {
				t.Errorf("%q names two commands", name)
			}
			seen[name] = true
		}
	}
}

// Help, completion and suggestions know every command.
func TestCommandsAreFound(t *testing.T) {
	t.Parallel()
	says := func(args ...string) string {
		var out bytes.Buffer
		code := Main(args, []string{"HOME=" + t.TempDir()}, Stdio{In: strings.NewReader(""), Out: &out, Err: &out})
		return strings.Repeat("!", code) + out.String()
	}
	for line, want := range map[string]string{
		"":                 "Begin with:",
		"--help":           "agent-task-run",
		"help run":         "deed run",
		"__complete ver":   "verify",
		"vesrion":          "did you mean version?",
		"vesrion --short":  "did you mean version?",
		"retry --all 3":    "did you mean task retry or outbox retry?",
		"taks":             "did you mean task?",
		"run-agent-task -": "unknown command",
	} {
		if got := says(strings.Fields(line)...); !strings.Contains(got, want) {
			t.Errorf("deed %s says nothing of %q:\n%s", line, want, got)
		}
	}
}

// A program that asks for a document is not answered with the help of a command that holds others.
func TestGroupsAloneAnswerInJSON(t *testing.T) {
	t.Parallel()
	a := &app{}
	lines := [][]string{{"--json"}, {"completion", "--json"}}
	for _, c := range a.commands() {
		if c.HasSubCommands() && c.Name() != "contract" { // which is a document by itself
			lines = append(lines, []string{c.Name(), "--json"}, []string{"--json", c.Name()})
		}
	}
	if len(lines) < 30 {
		t.Fatalf("only %d command lines", len(lines))
	}
	for _, args := range lines {
		var out, errs bytes.Buffer
		code := Main(args, []string{"HOME=" + t.TempDir()}, Stdio{In: strings.NewReader(""), Out: &out, Err: &errs})
		doc, err := schema.Decode[deed.Error](deed.SchemaError, out.Bytes())
		if code != ExitUsage || err != nil || doc.Error.Kind != "usage" || !strings.Contains(doc.Error.Message, "needs a command after it: ") {
			t.Errorf("deed %s: exit %d, %v\n%s%s", strings.Join(args, " "), code, err, &out, &errs)
		}
	}
}
