//go:build linux

package bench

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// TestBenchSandbox measures a run of /bin/true behind all walls against bubblewrap alone with the namespaces and the
// mounts that nobody could leave out. Both come from the same process, in turns. Nothing here fails for being slow.
func TestBenchSandbox(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("missing tool: bwrap: apt-get install bubblewrap")
	}
	sup, err := proc.NewSupervisor(t.Context(), proc.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, sup.Close()) })
	ws := t.TempDir()
	s, err := sandbox.New(t.Context(), sandbox.Spec{Kind: sandbox.Namespace, Watch: []string{ws}, Mounts: []sandbox.Mount{{Source: ws, Target: "/ws", Writable: true}}})
	must(t, err)
	bare := []string{
		"--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
		"--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", ws, "/ws", "--chdir", "/ws", "/bin/true",
	}
	var whole, floor []float64
	for range 60 {
		floor = append(floor, seconds(func() {
			c := exec.Command(bwrap, bare...)
			c.Env = []string{"PATH=/usr/bin:/bin"}
			must(t, c.Run())
		}))
		whole = append(whole, seconds(func() {
			exit, err := s.Run(t.Context(), sup, proc.Spec{Argv: []string{"/bin/true"}, Dir: "/ws", Env: []string{"PATH=/usr/bin:/bin"}})
			must(t, err)
			if exit.Code != 0 {
				t.Fatalf("exit %d", exit.Code)
			}
		}))
	}
	line(t, "sandbox.namespace", median(whole), median(floor), "s, /bin/true behind all walls against bare bwrap", "<=3")
	line(t, "sandbox.namespace.fastest", slices.Min(whole), slices.Min(floor), "s, the same on a machine with nothing else to do", "<=3")
}
