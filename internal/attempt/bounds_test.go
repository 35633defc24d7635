package attempt

import (
	"fmt"
	"testing"

	"github.com/deedrun/deed/internal/workspace"
)

// An agent makes files by the million; what deed writes and holds about them has an end.
func TestManyChanges(t *testing.T) {
	t.Parallel()
	if tooManyFiles(maxChangedFiles) != nil || tooManyFiles(maxChangedFiles+1) == nil {
		t.Error("the bound is not where it should be")
	}
	a := &run{after: &workspace.Manifest{}}
	for i := range maxObservedChanges + 7 {
		a.changes.Changes = append(a.changes.Changes, workspace.Change{Path: fmt.Sprint(i)})
	}
	out := a.observations()
	last := out[len(out)-1]
	if len(out) != maxObservedChanges+2 || last.Kind != "changes_not_listed" || last.Detail.(map[string]any)["count"] != 7 {
		t.Errorf("%d observations, the last is %+v", len(out), last)
	}
}
