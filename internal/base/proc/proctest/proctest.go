//go:build linux

// Package proctest owns what the tests of several packages need of processes: the test binary run once more, as another user.
package proctest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// nobody is the user for whom permissions hold.
const nobody = 65534

// CopySelf copies the running binary. Another process writes it: what this one has open for writing, a process that it just
// starts elsewhere holds, too, and as long as that is so the copy cannot be executed.
func CopySelf(t testing.TB, path string) string {
	t.Helper()
	if out, err := exec.Command("cp", fmt.Sprintf("/proc/%d/exe", os.Getpid()), path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// WithoutRoot runs the tests of a pattern once more as a user who is not root, as deed should be run, and returns what they printed. Where
// the caller is not root they run anyway, and it skips.
func WithoutRoot(t *testing.T, tests string, flags ...string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("this is not root")
	}
	dir, err := os.MkdirTemp("/tmp", "deed-nobody-") // every directory above must let the other user in
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	bin, tmp := CopySelf(t, filepath.Join(dir, "test")), filepath.Join(dir, "tmp")
	for _, err := range []error{os.Mkdir(tmp, 0o700), os.Chown(tmp, nobody, nobody), os.Chmod(dir, 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), bin, append([]string{"-test.run", tests}, flags...)...)
	cmd.Dir = tmp
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tmp, "TMPDIR=" + tmp}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	return out.String()
}
