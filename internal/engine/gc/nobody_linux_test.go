package gc

import (
	"testing"

	"github.com/deedrun/deed/internal/base/proc/proctest"
)

// TestWithoutRoot runs what root cannot: for root every directory opens.
func TestWithoutRoot(t *testing.T) {
	t.Parallel()
	proctest.WithoutRoot(t, "^TestScratchThat.*$")
}
