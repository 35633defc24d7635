package failure

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
)

var update = flag.Bool("update", false, "write the table into docs/ARCHITECTURE.md")

// order is the order of the table.
var order = []Class{
	None, Timeout, AgentFailed, InvalidWord, Rejected, AskedRetry, AskedFail, Blocked, RateLimited, Provider, Turns, Loop, Stuck, Budget, Limit, Lost, Interrupted,
	Canceled, Config, Isolation, Spawn, Infra, Panic,
}

// TestTableIsInTheDocs prints the closed set into the docs, which must show all of it.
func TestTableIsInTheDocs(t *testing.T) {
	t.Parallel()
	if len(order) != len(Rules) {
		t.Fatalf("the table shows %d classes and there are %d", len(order), len(Rules))
	}
	var b strings.Builder
	b.WriteString("| class | retry | exit | attempt | meaning |\n|---|---|---|---|---|\n")
	for _, c := range order {
		r := Rules[c]
		if r.About == "" || r.Retry == "" || r.Exit == "" {
			t.Errorf("class %s has no rule", c)
		}
		cost := "used"
		if r.Refund {
			cost = "given back"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", c, r.Retry, r.Exit, cost, r.About)
	}
	const file, head = "../../../docs/ARCHITECTURE.md", "## Failure classes\n\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(text), head)
	if !ok {
		t.Fatalf("%s has no section on failure classes", file)
	}
	want := before + head + b.String()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("the table in %s is not the code's; run: go test ./internal/base/failure -update", file)
	}
}

func TestClassOf(t *testing.T) {
	t.Parallel()
	inner := New(RateLimited, "ask", errors.New("429"), "wait")
	for _, c := range []struct {
		err  error
		want Class
	}{
		{nil, None}, {errors.New("disk"), Infra}, {inner, RateLimited}, {fmt.Errorf("outer: %w", inner), RateLimited},
	} {
		if got := ClassOf(c.err); got != c.want {
			t.Errorf("ClassOf(%v) = %s, want %s", c.err, got, c.want)
		}
	}
	if got := inner.Error(); got != "ask: 429 (wait)" {
		t.Errorf("Error() = %q", got)
	}
	if Class("no such").Rule().Retry != agentruntime.RetryRetryable {
		t.Error("an unknown class must read as infrastructure")
	}
}
