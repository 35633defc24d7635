package cli

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
)

// What a dead run left, a mount included, is cleared away at the start and blocks nothing.
func TestALeftoverStopsNobody(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"quiet": "exit 0"})
	id := s.add(map[string]any{"task_type": "script", "source": "t", "requested_adapter_id": "quiet", "payload": map[string]any{}})
	stuck := filepath.Join(s.home, "attempts", "stuck")
	if err := os.MkdirAll(stuck, 0o700); err != nil {
		t.Fatal(err)
	}
	// Where mounting is not allowed, a directory with a name that no attempt has must do.
	if err := syscall.Mount("tmpfs", stuck, "tmpfs", 0, "size=64k"); err == nil {
		t.Cleanup(func() { _ = syscall.Unmount(stuck, syscall.MNT_DETACH) })
	}
	o := s.deed(nil, "dispatch", "--once")
	if _, err := os.Lstat(stuck); o.code != 0 || err == nil {
		t.Errorf("dispatch: exit %d, the leftover is there: %v\n%s%s", o.code, err == nil, o.stdout, o.stderr)
	}
	if got := status(t, s.open(), id); got != agentruntime.TaskCompleted {
		t.Errorf("the task is %s\n%s%s", got, o.stdout, o.stderr)
	}
}
