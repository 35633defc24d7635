package agenttask

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/fault"
)

// A place is had when something can be made there, whatever its permissions say, and nothing of the attempt to is left.
func TestAPlaceIsTried(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, good := range []string{"", filepath.Join(dir, "bundle"), filepath.Join(dir, "new", "bundle")} {
		if err := MakeParent(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 || list[0].Name() != "new" {
		t.Errorf("there are %v (%v)", list, err)
	}
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("missing tool: /proc: mount it")
	}
	fs := fault.Of(MakeParent("/proc/zz"))
	if len(fs) != 1 || fs[0].Path != "$.artifacts_path" || !strings.Contains(fs[0].Message, `"/proc/zz" cannot be made: "/proc": `) {
		t.Errorf("%v", fs)
	}
}
