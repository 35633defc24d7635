package attempt

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/store"
)

// Each difference between a conversation and the task as it is now is named.
func TestWhyAConversationCannotGoOn(t *testing.T) {
	t.Parallel()
	spec := deed.TaskSpec{MaxTurns: 5}
	a := &run{prepared: prepared{plan: plan{kind: sandbox.Process, spec: spec, adapter: agentruntime.AdapterConfig{
		Native: &agentruntime.NativeAdapter{AdapterID: "own", Kind: agentruntime.KindNative},
	}}}}
	work, err := workHash(deed.TaskSpec{MaxTurns: 9}) // a bound may change
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(c *checkpoint, dir string)
		says   string
	}{
		"nothing":   {func(*checkpoint, string) {}, ""},
		"adapter":   {func(c *checkpoint, _ string) { c.AdapterID = "theirs" }, "adapter theirs"},
		"kind":      {func(c *checkpoint, _ string) { c.AdapterKind = agentruntime.KindCodex }, "adapter own"},
		"isolation": {func(c *checkpoint, _ string) { c.Isolation = string(sandbox.Namespace) }, "isolation namespace"},
		"task":      {func(c *checkpoint, _ string) { c.Work = "sha256:other" }, "something else"},
		"no ref":    {func(c *checkpoint, _ string) { c.Ref = "" }, "not whole"},
		"base":      {func(_ *checkpoint, dir string) { writeInto(t, dir, "base/new", "x") }, "base is not what it was"},
		"a part":    {func(_ *checkpoint, dir string) { _ = os.Remove(filepath.Join(dir, "exchange")) }, "exchange"},
		"a link":    {func(_ *checkpoint, dir string) { _ = os.Symlink("/etc/hostname", filepath.Join(dir, "run", "x")) }, "no plain file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, part := range keptParts {
				if err := os.Mkdir(filepath.Join(dir, part), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			writeInto(t, dir, "base/kept", "kept")
			m, err := workspace.Snapshot(t.Context(), filepath.Join(dir, "base"), nil)
			if err != nil {
				t.Fatal(err)
			}
			c := checkpoint{
				AdapterID: "own", AdapterKind: agentruntime.KindNative, Isolation: string(sandbox.Process), Work: work, Ref: "r", Base: m.Digest(),
				Seeded: workspace.SeededTree{Parts: make([]workspace.SeededPart, 1)},
			}
			tc.change(&c, dir)
			b := &run{prepared: prepared{plan: a.plan}}
			if err := b.fits(t.Context(), c, dir); (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, want %q", err, tc.says)
			}
		})
	}
}

func writeInto(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The directory that waits is that of the newest attempt with a conversation, past those that never came to take it up.
func TestWaiting(t *testing.T) {
	t.Parallel()
	at := func(id string, fence int64, class failure.Class, checkpointed bool) store.Attempt {
		x := store.Attempt{Record: agentruntime.TaskAttempt{AttemptID: id}, Fence: fence, Class: string(class), Live: class == ""}
		if checkpointed {
			x.Checkpoint = json.RawMessage(`{}`)
		}
		return x
	}
	for name, tc := range map[string]struct {
		list []store.Attempt
		dirs string
		want string
	}{
		"none":                      {nil, "", ""},
		"interrupted":               {[]store.Attempt{at("a", 1, failure.Interrupted, true)}, "a", "a"},
		"no conversation":           {[]store.Attempt{at("a", 1, failure.Interrupted, false)}, "a", ""},
		"its directory is gone":     {[]store.Attempt{at("a", 1, failure.Lost, true)}, "", ""},
		"the next was lost at once": {[]store.Attempt{at("a", 1, failure.Blocked, true), at("b", 3, failure.Lost, false)}, "a", "a"},
		"lost before the rename":    {[]store.Attempt{at("a", 1, failure.Lost, true), at("b", 3, failure.Lost, true)}, "a", "a"},
		"lost after the rename":     {[]store.Attempt{at("a", 1, failure.Lost, true), at("b", 3, failure.Lost, true)}, "b", "b"},
		"the next runs":             {[]store.Attempt{at("a", 1, failure.Lost, true), at("b", 3, "", true)}, "a b", "a"},
		"the next failed":           {[]store.Attempt{at("a", 1, failure.Lost, true), at("b", 3, failure.AgentFailed, false)}, "a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := Waiting(tc.list, func(id string) bool { return strings.Contains(tc.dirs, id) })
			if got.Record.AttemptID != tc.want || ok != (tc.want != "") {
				t.Errorf("%q %v, want %q", got.Record.AttemptID, ok, tc.want)
			}
		})
	}
}

// A task that takes deed down with it, again and again, ends.
func TestLostAttemptsAreSparedSoOften(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := &talker{ref: "c"}
	c := b.talking(d, nil)
	for n := 1; ; n++ {
		if err := b.Store.Checkpoint(t.Context(), c.Ref, json.RawMessage(`{"ref": "c"}`)); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(b.Home.Attempt(c.Ref.AttemptID), 0o700); err != nil {
			t.Fatal(err)
		}
		lost, err := b.Store.Lost(t.Context(), []string{"runner"})
		if err != nil || len(lost) != 1 {
			t.Fatalf("%v %v", lost, err)
		}
		if _, err := b.Salvage(t.Context(), lost[0]); err != nil {
			t.Fatal(err)
		}
		task := b.task(c.Ref.TaskID)
		if want := max(0, n-maxSpared); task.Record.AttemptCount != want {
			t.Fatalf("after %d losses %d attempts are used, want %d", n, task.Record.AttemptCount, want)
		}
		if task.Record.Status == agentruntime.TaskPermanentFailure {
			break
		}
		if n > 2*maxSpared {
			t.Fatal("it never ends")
		}
		if err := b.Store.Retry(t.Context(), c.Ref.TaskID, "", "test"); err != nil {
			t.Fatal(err)
		}
		if c, err = b.Store.Claim(t.Context(), store.ClaimOptions{RunnerID: "runner", Lease: c.LeaseUntil.Sub(b.Clock())}); err != nil {
			t.Fatal(err)
		}
	}
}
