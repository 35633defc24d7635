package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/schema"
)

// A command is found by the names that it has.
func TestCommandsHaveTheirNames(t *testing.T) {
	t.Parallel()
	a := &app{}
	seen := map[string]bool{}
	for _, s := range a.commands() {
		c := s.make()
		if got := strings.Join(slices.Concat([]string{c.Name()}, c.Aliases), " "); got != s.names {
			t.Errorf("the command %q stands under %q", got, s.names)
		}
		for _, name := range strings.Fields(s.names) {
			if seen[name] {
				t.Errorf("%q names two commands", name)
			}
			seen[name] = true
		}
	}
}

// A command that is made alone is what it is among all the others: same help, same complaints.
func TestCommandMadeAlone(t *testing.T) {
	t.Parallel()
	says := func(args ...string) string {
		var out bytes.Buffer
		code := Main(args, []string{"HOME=" + t.TempDir()}, Stdio{In: strings.NewReader(""), Out: &out, Err: &out})
		return strings.Repeat("!", code) + out.String()
	}
	for _, s := range (&app{}).commands() {
		for _, name := range strings.Fields(s.names) {
			for _, rest := range [][]string{{"--help"}, {"--nonsense"}} {
				alone, among := says(append([]string{name}, rest...)...), says(append([]string{"--quiet", name}, rest...)...)
				if alone != among {
					t.Errorf("deed %s %s says\n%s\nand among all commands\n%s", name, rest[0], alone, among)
				}
			}
		}
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
	for _, s := range a.commands() {
		if c := s.make(); c.HasSubCommands() && c.Name() != "contract" { // which is a document by itself
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
