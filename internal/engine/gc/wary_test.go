package gc

import (
	"os/exec"
	"slices"
	"testing"
)

// A wary sweep walks for what a crash left only when there was one.
func TestWarySweepIsDeepAfterACrash(t *testing.T) {
	t.Parallel()
	b := setup(t)
	over := b.settled(t, 1, true)
	c := exec.Command("sleep", "600")
	c.Env = []string{attemptEnv + "=" + over.AttemptID}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	found := func(r Report) bool {
		return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Kind == KindProcess && f.PID == c.Process.Pid })
	}
	if found(b.sweep(t, Options{Wary: true})) {
		t.Error("it walked although nobody died")
	}
	b.dead(t, "crashed")
	if !found(b.sweep(t, Options{Wary: true})) {
		t.Error("a runner died, and what it left running was not looked for")
	}
	if found(b.sweep(t, Options{Wary: true})) {
		t.Error("it walked again after it had cleared up")
	}
}
