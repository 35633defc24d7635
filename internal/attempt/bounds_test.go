package attempt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// An agent makes files by the million; what deed writes and holds about them has an end.
func TestManyChanges(t *testing.T) {
	t.Parallel()
	files := make([]workspace.ChangedFile, maxChangedFiles+1)
	if tooManyFiles(files[1:]) != nil || tooManyFiles(files) == nil {
		t.Error("the bound is not where it should be")
	}
	// Few files have a long list where their paths are long, or grow in a document.
	for name, size := range map[string]int{strings.Repeat("e", 4000): 4002, strings.Repeat("\x01", 4000): 24002} {
		files := slices.Repeat([]workspace.ChangedFile{{RelativePath: name}}, maxChangedPaths/size+1)
		if tooManyFiles(files[1:]) != nil || tooManyFiles(files) == nil {
			t.Errorf("the bound on paths of %d bytes is not where it should be", size)
		}
	}
	a := &run{captured: captured{after: &workspace.Manifest{}}}
	for i := range maxObservedChanges + 7 {
		a.changes.Changes = append(a.changes.Changes, workspace.Change{Path: fmt.Sprint(i)})
	}
	out := a.observations()
	last := out[len(out)-1]
	if len(out) != maxObservedChanges+2 || last.Kind != "changes_not_listed" || last.Detail.(map[string]any)["count"] != 7 {
		t.Errorf("%d observations, the last is %+v", len(out), last)
	}
}

// A stream without end fills neither the journal nor deed's memory, whatever it reports: the agent is ended, and the
// journal says so once.
func TestManyEvents(t *testing.T) {
	t.Parallel()
	a := &run{Runner: &Runner{Clock: clock.System}}
	ctx, end := context.WithCancelCause(t.Context())
	a.watch.begin(end)
	sink := a.sink(ctx)
	for range maxWeighed {
		sink.Event(driver.EventSession, driver.SessionInfo{Served: "m"})
	}
	if ctx.Err() != nil || len(a.events) != maxWeighed {
		t.Fatalf("%d events are kept: %v", len(a.events), context.Cause(ctx))
	}
	for range 1000 {
		sink.Event(driver.EventSession, driver.SessionInfo{Served: "m"})
	}
	if last := a.events[len(a.events)-1]; len(a.events) != maxWeighed+1 || last.Kind != "bound_reached" {
		t.Errorf("%d events are kept, the last is %+v", len(a.events), last)
	}
	if failure.ClassOf(context.Cause(ctx)) != failure.Limit {
		t.Errorf("the turn ended with %v", context.Cause(ctx))
	}
}

// Calls that never have a result are forgotten in the end.
func TestManyOpenCalls(t *testing.T) {
	t.Parallel()
	var w watch
	w.begin(nil)
	for i := range 3*maxOpenCalls + 5 {
		w.call(agentruntime.ToolCall{CallID: fmt.Sprint(i), Tool: "t"})
	}
	if len(w.open) > maxOpenCalls || w.calls() != 3*maxOpenCalls+5 {
		t.Errorf("%d calls are remembered of %d", len(w.open), w.calls())
	}
}
