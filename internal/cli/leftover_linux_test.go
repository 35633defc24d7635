package cli

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
)

// A leftover that cannot be cleared away is said, and stops nobody.
func TestALeftoverStopsNobody(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"quiet": "exit 0"})
	id := s.add(map[string]any{"task_type": "script", "source": "t", "requested_adapter_id": "quiet", "payload": map[string]any{}})
	// A mount point cannot be removed; where mounting is not allowed, an attempt's directory that is a file with a
	// name that no attempt has is cleared away without a word.
	stuck := filepath.Join(s.home, "attempts", "stuck")
	if err := os.MkdirAll(stuck, 0o700); err != nil {
		t.Fatal(err)
	}
	mounted := syscall.Mount("tmpfs", stuck, "tmpfs", 0, "size=64k") == nil
	if mounted {
		t.Cleanup(func() { _ = syscall.Unmount(stuck, syscall.MNT_DETACH) })
	}
	o := s.deed(nil, "dispatch", "--once")
	if want := map[bool]int{true: ExitInfra, false: 0}[mounted]; o.code != want {
		t.Errorf("dispatch: exit %d, want %d\n%s%s", o.code, want, o.stdout, o.stderr)
	}
	if got := status(t, s.open(), id); got != agentruntime.TaskCompleted {
		t.Errorf("the task is %s\n%s%s", got, o.stdout, o.stderr)
	}
}
