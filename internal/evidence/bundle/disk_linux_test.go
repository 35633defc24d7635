package bundle_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

// TestBadDisks writes to a real full and a real read-only file system, mounted in a namespace of the writer's own.
func TestBadDisks(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{"full": "full, nothing left", "read-only": "read-only"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cmd := helper("BUNDLE_TEST_DISK="+kind, "BUNDLE_TEST_MOUNT="+t.TempDir())
			cmd.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
			}
			out, err := cmd.CombinedOutput()
			if err != nil || strings.HasPrefix(string(out), "mount:") {
				t.Skipf("missing tool: mount namespaces: allow them: %v %s", err, out)
			}
			if string(out) != want {
				t.Errorf("got %q, want %q", out, want)
			}
		})
	}
}

// writeOnBadDisk says what became of a bundle on such a disk.
func writeOnBadDisk(kind, dir string) string {
	flags, data := uintptr(0), "size=256k"
	if kind == "read-only" {
		flags = syscall.MS_RDONLY
	}
	if err := syscall.Mount("none", dir, "tmpfs", flags, data); err != nil {
		return "mount: " + err.Error()
	}
	w, err := bundle.Create(filepath.Join(dir, "b"), bundle.Options{})
	if errors.Is(err, atomicfile.ErrReadOnly) {
		return "read-only"
	}
	if err == nil {
		err = errors.Join(w.AddBytes("logs/big.log", evidence.KindLog, evidence.TypeText, make([]byte, 1<<20)), fill(w, patch))
	}
	if !errors.Is(err, atomicfile.ErrFull) {
		return fmt.Sprint("not full: ", err)
	}
	if _, err := w.Seal(context.Background(), input()); !errors.Is(err, bundle.ErrIncomplete) && !errors.Is(err, atomicfile.ErrFull) {
		// The large file was dropped; what was left may just have fitted.
		if err != nil {
			return err.Error()
		}
		if v, err := bundle.Verify(filepath.Join(dir, "b"), bundle.VerifyOptions{}); err != nil || !v.Valid {
			return fmt.Sprint("a broken bundle: ", v.Violations, err)
		}
		return "full, nothing left"
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		return fmt.Sprint("left behind: ", entries, err)
	}
	return "full, nothing left"
}
