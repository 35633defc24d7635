package brief

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/deed"
)

// Bounds of a refusal: the agent can run the checks itself for the rest.
const (
	maxReasons   = 30
	maxCheckTail = 2000
)

// Refusal is what an agent receives when the gate did not accept its work: every reason, and the output of the
// checks. n is the number of this refusal, most how many there can be before the attempt ends.
func Refusal(v deed.Verdict, n, most int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The work is not accepted as done (refusal %d of at most %d). deed looked at your directory itself; what it found:\n\n", n, most)
	v = withoutHidden(v)
	for i, r := range v.Reasons {
		if i == maxReasons {
			fmt.Fprintf(&b, "- and %d more reasons\n", len(v.Reasons)-i)
			break
		}
		fmt.Fprintf(&b, "- %s (%s)\n", r.Message, r.Code)
	}
	for _, c := range v.Checks {
		if c.Status == deed.CheckPassed || c.Advisory {
			continue
		}
		if c.Tail == "" {
			continue
		}
		fmt.Fprintf(&b, "\nThe check %q, run on a clean copy with your change applied, %s (exit code %d). The end of its output:\n\n", c.Name, ended[c.Status], c.ExitCode)
		for line := range strings.Lines(lastBytes(c.Tail, maxCheckTail)) {
			b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
		}
	}
	b.WriteString("\nGo on: mend this, look at the result yourself, and finish again. Everything that you were told at the start still holds.\n")
	return b.String()
}

// withoutHidden is the verdict without what an agent must not know: of hidden checks it learns only that one failed.
func withoutHidden(v deed.Verdict) deed.Verdict {
	hidden := map[string]bool{}
	for _, c := range v.Checks {
		hidden[c.Name] = hidden[c.Name] || c.Hidden
	}
	var reasons []deed.Reason
	failed := false
	for _, r := range v.Reasons {
		if r.Check == "" || !hidden[r.Check] {
			reasons = append(reasons, r)
		} else if !failed {
			failed = true
			reasons = append(reasons, deed.Reason{Code: HiddenCode, Message: "a hidden check failed"})
		}
	}
	v.Reasons = reasons
	v.Checks = slices.DeleteFunc(slices.Clone(v.Checks), func(c deed.CheckResult) bool { return hidden[c.Name] })
	return v
}

// HiddenCode is the code that an agent gets for whatever a hidden check found.
const HiddenCode = "hidden_check_failed"

var ended = map[string]string{deed.CheckFailed: "failed", deed.CheckTimeout: "ran into its time limit", deed.CheckError: "could not be run"}

// lastBytes is the end of a text, cut at a line where there is one.
func lastBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	if i := strings.IndexByte(s, '\n'); i >= 0 && i < len(s)-1 {
		s = s[i+1:]
	}
	return strings.ToValidUTF8("… "+s, "\uFFFD")
}

// Resumption is what an agent receives when its conversation continues after a break. A refusal that was about to be
// sent, or had just been sent, is repeated.
func Resumption(why string, answers []Answer, refusal string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Your work was interrupted (%s) and goes on now. Your directory is as you left it. Something that you had just begun may have happened or not: look before you repeat it.\n", why)
	if text := answersText(freezeAnswers(answers)); text != "" {
		b.WriteString("\n" + text + "\n")
	}
	if refusal != "" {
		b.WriteString("\n" + refusal)
	} else {
		b.WriteString("\nGo on with the task.\n")
	}
	return b.String()
}
