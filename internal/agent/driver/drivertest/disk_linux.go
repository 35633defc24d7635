package drivertest

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/failure"
)

// A record that cannot be written ends the run as deed's own failure, not the agent's.
func testFullDisk(t *testing.T, h Harness) {
	b := New(t, h, `trap '' TERM; while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done`)
	if os.Getuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	if err := syscall.Mount("tmpfs", b.Job.Dirs.Run, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("missing tool: mount: allow it: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(b.Job.Dirs.Run, syscall.MNT_DETACH) })
	s, err := h.Driver.Start(t.Context(), b.Job)
	if err == nil {
		var y driver.Yield
		if y, err = s.Turn(t.Context(), driver.Input{Turn: 1}, b); err == nil {
			err = y.Err
		}
		_ = s.Close(context.WithoutCancel(t.Context()))
	}
	if failure.ClassOf(err) != failure.Infra || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %s, %v", failure.ClassOf(err), err)
	}
	b.MustBeGone()
}
