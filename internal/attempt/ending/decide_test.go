package ending

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/failure"
)

var update = flag.Bool("update", false, "write the table into docs/ARCHITECTURE.md")

// ran is a run in which everything went well.
func ran(change func(*Facts)) Facts {
	f := Facts{Started: true, Gate: GateAccepted, Files: 1, PatchBytes: 10}
	if change != nil {
		change(&f)
	}
	return f
}

// Every row, and next to it what must not outrank it.
func TestDecide(t *testing.T) {
	t.Parallel()
	empty := func(f *Facts) { f.Files, f.PatchBytes = 0, 0 }
	cases := []struct {
		row    string
		facts  Facts
		status string
		class  string
		exit   int
	}{
		{"refused", Facts{Refused: true, Cancelled: ByOperator}, "failed", "invalid_request", 2},
		{"cancelled", ran(func(f *Facts) { f.Cancelled, f.Deadline, f.Provider = ByOperator, true, true }), "failed", "cancelled", 1},
		{"cancelled", Facts{Cancelled: ByParent}, "failed", "cancelled", 1},
		{"interrupted", ran(func(f *Facts) { f.Cancelled, f.Deadline = BySignal, true }), "failed", "cancelled", 130},
		{"timeout", ran(func(f *Facts) { f.Deadline, f.Provider, f.Signal, f.Infra = true, true, "SIGKILL", true }), "timeout", "timeout", 1},
		{"provider_error", ran(func(f *Facts) { f.Provider, f.Isolation, f.ExitCode, f.Gate = true, true, 1, GateRejected }), "provider_error", "provider", 1},
		{"isolation", Facts{Isolation: true, Infra: true}, "failed", "isolation", 3},
		{"infrastructure", ran(func(f *Facts) { f.Infra = true }), "failed", "infrastructure", 3},
		{"unusable", Facts{Unusable: true}, "failed", "config", 2},
		{"budget", ran(func(f *Facts) { f.Budget, f.MaxTurns, f.Signal, f.Declared = true, true, "SIGKILL", DeclaredBlocked }), "failed", "budget_exhausted", 1},
		{"budget", Facts{Budget: true}, "failed", "budget_exhausted", 1},
		{"not_started", Facts{Gate: GateAccepted, Files: 1, PatchBytes: 1}, "failed", "runtime", 1},
		{"max_turns", ran(func(f *Facts) { f.MaxTurns, f.Declared, f.ExitCode = true, DeclaredUnable, 1 }), "timeout", "max_turns", 1},
		{"no_progress", ran(func(f *Facts) { f.Circles, f.Declared, f.Gate = true, DeclaredBlocked, GateRejected }), "failed", "incomplete", 1},
		{"blocked", ran(func(f *Facts) { f.Declared = DeclaredBlocked }), "unable_to_remediate", "blocked", 1},
		{"unable", ran(func(f *Facts) { f.Declared, f.Gate = DeclaredUnable, GateRejected }), "unable_to_remediate", "unable", 1},
		{"asked_retry", ran(func(f *Facts) { f.Declared = DeclaredRetry }), "failed", "incomplete", 1},
		{"agent_failed", ran(func(f *Facts) { f.ExitCode = 1 }), "failed", "runtime", 1},
		{"agent_failed", ran(func(f *Facts) { f.Signal, f.Unreadable = "SIGSEGV", true }), "failed", "runtime", 1},
		{"unreadable", ran(func(f *Facts) { f.Unreadable = true }), "failed", "runtime", 1},
		{"rejected", ran(func(f *Facts) { f.Gate = GateRejected }), "failed", "gate", 1},
		{"rejected", ran(func(f *Facts) { empty(f); f.Gate = GateRejected }), "failed", "gate", 1},
		{"no_verdict", ran(func(f *Facts) { f.Gate = GateNone }), "failed", "infrastructure", 3},
		{"no_verdict", ran(func(f *Facts) { f.Gate = "yes" }), "failed", "infrastructure", 3},
		{"incoherent", ran(func(f *Facts) { f.NoOp = true }), "failed", "infrastructure", 3},
		{"incoherent", ran(func(f *Facts) { f.PatchBytes = 0 }), "failed", "infrastructure", 3},
		{"incoherent", ran(func(f *Facts) { f.Files = 0 }), "failed", "infrastructure", 3},
		{"no_op", ran(func(f *Facts) { empty(f); f.NoOp = true }), "no_op", "", 0},
		{"no_op", ran(empty), "no_op", "", 0}, // only ignored files changed: there is nothing to promote
		{"kept_back", ran(func(f *Facts) { f.KeptBack = true }), "succeeded", "", 0},
		{"no_op", ran(func(f *Facts) { empty(f); f.KeptBack = true }), "no_op", "", 0},
		{"succeeded", ran(nil), "succeeded", "", 0},
	}
	reached := map[string]bool{}
	for _, c := range cases {
		d := Decide(c.facts)
		reached[c.row] = true
		if d.Name != c.row || d.Status != c.status || d.Classification != c.class || d.Exit != c.exit {
			t.Errorf("%+v\n%+v, want %s: %s %s %d", c.facts, d, c.row, c.status, c.class, c.exit)
		}
	}
	for _, r := range Table {
		if !reached[r.Ending.Name] {
			t.Errorf("row %s has no case", r.Ending.Name)
		}
	}
}

// What comes after the agent's part takes nothing away from it, and its own end counts more than what is said of it.
func TestDecideOnTheAgent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		facts Facts
		want  string
	}{
		{"the limit passed while checks ran", ran(func(f *Facts) { f.Done, f.Deadline = true, true }), evidence.AgentCompleted},
		{"it was cancelled while checks ran", ran(func(f *Facts) { f.Done, f.Cancelled = true, ByOperator }), evidence.AgentCompleted},
		{"a disk failed afterwards", ran(func(f *Facts) { f.Done, f.Infra = true, true }), evidence.AgentCompleted},
		{"the limit passed while it worked", ran(func(f *Facts) { f.Deadline = true }), evidence.AgentFailed},
		{"its code", ran(func(f *Facts) { f.Done, f.Deadline, f.ExitCode = true, true, 1 }), evidence.AgentFailed},
		{"its signal", ran(func(f *Facts) { f.Done, f.Deadline, f.Signal = true, true, "SIGKILL" }), evidence.AgentFailed},
		{"its own word", ran(func(f *Facts) { f.Done, f.Declared = true, DeclaredUnable }), evidence.AgentFailed},
		{"it never started", Facts{Done: true, Infra: true}, evidence.AgentUnknown},
	} {
		if d := Decide(c.facts); d.Agent != c.want {
			t.Errorf("%s: %s", c.name, d.Agent)
		}
	}
	if d := Decide(ran(func(f *Facts) { f.KeptBack = true })); d.NextAction != evidence.NextReview || !d.Success() {
		t.Errorf("a change that is not to be applied: %+v", d)
	}
}

// every calls f with each combination of facts.
func every(f func(Facts)) {
	bits := func(n, i int) bool { return n>>i&1 == 1 }
	for n := range 1 << 12 {
		for _, who := range []Canceller{NotCancelled, ByOperator, ByParent, BySignal} {
			for _, said := range []Declared{DeclaredNothing, DeclaredUnable, DeclaredBlocked, DeclaredRetry} {
				for _, gate := range []Gate{GateNone, GateAccepted, GateRejected} {
					for end := range 16 {
						facts := Facts{
							Refused: bits(n, 0), Deadline: bits(n, 1), Provider: bits(n, 2), Isolation: bits(n, 3), Infra: bits(n, 4), Unusable: bits(n, 5),
							Started: bits(n, 6), MaxTurns: bits(n, 7), Unreadable: bits(n, 8), NoOp: bits(n, 9), Circles: bits(n, 10), Budget: bits(n, 11), Cancelled: who, Declared: said, Gate: gate,
							ExitCode: end & 1, Files: end >> 1 & 1, PatchBytes: int64(end >> 2 & 1),
						}
						if bits(end, 3) {
							facts.Signal = "SIGKILL"
						}
						f(facts)
					}
				}
			}
		}
	}
}

// No combination of facts gives fields that contradict each other, or a success that the facts do not bear out.
func TestDecisionsAreCoherent(t *testing.T) {
	t.Parallel()
	seen := map[Ending]bool{}
	every(func(f Facts) {
		d := Decide(f)
		bad := f.Refused || f.Cancelled != NotCancelled || f.Deadline || f.Provider || f.Isolation || f.Infra || f.Unusable || f.Budget || !f.Started || f.MaxTurns || f.Circles ||
			f.Unreadable || f.Declared != DeclaredNothing || f.ExitCode != 0 || f.Signal != "" || f.Gate != GateAccepted
		switch {
		case d.Success() && bad:
			t.Fatalf("a success against the facts: %+v\n%+v", f, d)
		case d.Status == evidence.StatusSucceeded && (f.Files == 0 || f.PatchBytes == 0):
			t.Fatalf("succeeded and nothing changed: %+v", f)
		case d.Status == evidence.StatusNoOp && (f.Files != 0 || f.PatchBytes != 0):
			t.Fatalf("a no-op with a change: %+v", f)
		case !f.Refused && (f.Cancelled != NotCancelled) != (d.Run == evidence.RunCancelled && d.Classification == ClassCancelled):
			t.Fatalf("a cancellation is not told: %+v\n%+v", f, d)
		case !f.Refused && f.Cancelled == NotCancelled && f.Deadline != (d.Name == "timeout"):
			t.Fatalf("a timeout is not told: %+v\n%+v", f, d)
		case (d.Agent == evidence.AgentUnknown) != !f.Started && !f.Refused:
			t.Fatalf("the agent's result: %+v\n%+v", f, d)
		}
		seen[d] = true
	})
	for d := range seen {
		ok := d.Success()
		for what, holds := range map[string]bool{
			"status":         slices.Contains(evidence.TerminalStatuses, d.Status),
			"exit":           (d.Exit == 0) == ok,
			"run":            (d.Run == evidence.RunSucceeded) == ok && d.Run.Terminal(),
			"timed out":      (d.Run == evidence.RunTimedOut) == (d.Status == evidence.StatusTimeout),
			"outcome":        (d.Outcome == evidence.OutcomeSucceeded) == ok,
			"classification": (d.Classification == "") == ok,
			"next action":    (d.NextAction == evidence.NextPromote) == d.Actionable() && (d.NextAction == evidence.NextFixBlocker) == (d.Outcome == evidence.OutcomeBlocked),
			"confidence":     (d.Confidence == evidence.ConfidenceLow) != ok,
			"agent":          !ok || d.Agent == evidence.AgentCompleted,
			"terminal":       d.Terminal == d.Status || d.Terminal == evidence.TerminalMaxTurns && d.Classification == ClassMaxTurns,
			"words":          d.About != "" && d.Name != "",
		} {
			if !holds {
				t.Errorf("%s of %+v", what, d)
			}
		}
	}
	if len(seen) < len(Table) {
		t.Errorf("%d of %d rows can be reached", len(seen), len(Table))
	}
}

func TestFactsOf(t *testing.T) {
	t.Parallel()
	yes := &deed.Verdict{Accepted: true}
	no := &deed.Verdict{Reasons: []deed.Reason{{Code: "x"}}}
	want := map[failure.Class]string{
		failure.None: "succeeded", failure.Timeout: "timeout", failure.AgentFailed: "unreadable", failure.InvalidWord: "unreadable", failure.Rejected: "rejected",
		failure.AskedRetry: "asked_retry", failure.AskedFail: "unable", failure.Blocked: "blocked", failure.RateLimited: "provider_error", failure.Provider: "provider_error",
		failure.Lost: "infrastructure", failure.Interrupted: "interrupted", failure.Canceled: "cancelled", failure.Config: "unusable", failure.Isolation: "isolation",
		failure.Turns: "max_turns", failure.Budget: "budget", failure.Loop: "no_progress", failure.Stuck: "no_progress", failure.Limit: "unreadable", failure.Spawn: "not_started", failure.Infra: "infrastructure", failure.Panic: "infrastructure", "later": "infrastructure",
	}
	for class := range failure.Rules {
		if want[class] == "" {
			t.Errorf("class %s has no case", class)
		}
	}
	for class, row := range want {
		if got := Decide(FactsOf(End{Class: class, Exit: &Exit{}, Verdict: yes, Files: 1, PatchBytes: 1})); got.Name != row {
			t.Errorf("%s: %s, want %s", class, got.Name, row)
		}
	}
	for _, c := range []struct {
		end End
		row string
	}{
		{End{Class: failure.AgentFailed, Exit: &Exit{Code: 2}}, "agent_failed"},
		{End{Class: failure.Canceled, Stopped: true, Exit: &Exit{}}, "interrupted"},
		{End{Class: failure.None, Exit: &Exit{Code: 2}, Verdict: yes, Files: 1, PatchBytes: 1}, "agent_failed"},
		{End{Class: failure.None, Exit: &Exit{}, Verdict: no, Files: 1, PatchBytes: 1}, "rejected"},
		{End{Class: failure.None, Exit: &Exit{}, Verdict: &deed.Verdict{Accepted: true, Reasons: no.Reasons}, Files: 1, PatchBytes: 1}, "rejected"},
		{End{Class: failure.None, Exit: &Exit{}}, "no_verdict"},
		{End{Class: failure.None, Verdict: yes}, "not_started"},
		{End{Class: failure.None, Exit: &Exit{}, Verdict: &deed.Verdict{Accepted: true, NoOp: true}}, "no_op"},
		{End{Class: failure.AgentFailed, Exit: &Exit{Code: 1}, MaxTurns: true}, "max_turns"},
	} {
		if got := Decide(FactsOf(c.end)); got.Name != c.row {
			t.Errorf("%+v: %s, want %s", c.end, got.Name, c.row)
		}
	}
}

// TestTableIsInTheDocs prints the table into the docs, which must show all of it.
func TestTableIsInTheDocs(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| when | status | classification | run | outcome | next | exit |\n|---|---|---|---|---|---|---|\n")
	for _, r := range Table {
		d := r.Ending
		class := "`" + d.Classification + "`"
		if d.Classification == "" {
			class = ""
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %s | %d |\n", r.When, d.Status, class, d.Run, d.Outcome, d.NextAction, d.Exit)
	}
	const file, head, begin, end = "../../../docs/ARCHITECTURE.md", "## How a run ends\n", "| when |", "\n## "
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), head)
	prose, after, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatalf("%s has no section on how a run ends", file)
	}
	prose, _, _ = strings.Cut(prose, begin)
	want := before + head + "\n" + strings.TrimSpace(prose) + "\n\n" + b.String() + end + after
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("the table in %s is not the code's; run: go test ./internal/attempt/ending -update", file)
	}
}
