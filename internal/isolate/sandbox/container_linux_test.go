package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// engineFault is why no containers run here; nil: they do.
func engineFault(t testing.TB) error {
	t.Helper()
	_, err := sandbox.New(t.Context(), sandbox.Spec{Kind: sandbox.Container})
	return err
}

func needEngine(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: needs podman")
	}
	if err := engineFault(t); err != nil {
		t.Skipf("missing tool: podman: apt-get install podman runc, and run as root: %v", err)
	}
}

// noContainers asserts that the engine remembers nothing of an attempt.
func noContainers(t testing.TB, attempt string) {
	t.Helper()
	out, err := exec.Command("podman", "ps", "--all", "--quiet", "--filter", "label=run.deed.attempt="+attempt).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "" {
		t.Errorf("containers are left: %s, %v", out, err)
	}
}

// TestContainer does ordinary work in a container: mounts, owners, environment, exit codes, streams, limits.
func TestContainer(t *testing.T) {
	t.Parallel()
	f := setup(t)
	needEngine(t)
	spec := f.spec(sandbox.Container)
	below := t.TempDir()
	write(t, "seen", 0o600, below, "file")
	spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: below, Target: "/ws/a, \"b\"/c"})
	spec.Tmpfs = []string{"/scratch"}
	s := f.open(spec)
	attempt := uuid.NewString()
	p, out := f.command(s, []string{"DEED_ATTEMPT_ID=" + attempt, "LINES=one\ntwo", "LD_PRELOAD=", "SECRET=s"}, "/bin/sh", "-c", `
		id -u; pwd; echo "$LINES"; cat "/ws/a, \"b\"/c/file"; echo; cat; echo made >made; echo x >/scratch/x && echo x >/tmp/x && echo scratch
		env | sort | sed 's/=.*//' | tr '\n' ' '; ls -A / /etc; ulimit -n; ulimit -c; touch "/ws/a, \"b\"/c/x" 2>&1 || echo read-only; touch /x 2>&1 || echo read-only; exit 9`) // two streams have no order between them
	p.Stdin = strings.NewReader("from stdin\n")
	exit, err := s.Run(t.Context(), f.sup, p)
	if err != nil || exit.Code != 9 || exit.Limit != "" || exit.Killed != 0 {
		t.Fatalf("%+v, %v: %s", exit, err, out)
	}
	mustContain(t, out.String(), "1000\n/ws\none\ntwo\nseen\nfrom stdin\nscratch\n", "4096\n", "read-only\n")
	if strings.Count(out.String(), "read-only\n") != 2 || strings.Contains(out.String(), "container ") {
		t.Errorf("got %s", out)
	}
	st, err := os.Stat(filepath.Join(f.ws, "made"))
	if err != nil || !st.Mode().IsRegular() {
		t.Error(err)
	}
	noContainers(t, attempt)
	restrictions := map[string]sandbox.Restriction{}
	for _, w := range s.Restrictions() {
		restrictions[w.Name] = w
	}
	if w := restrictions[sandbox.RestrictMemory]; w.State != sandbox.Enforced || w.By != "cgroup" || restrictions[sandbox.RestrictNetwork].By != "podman" {
		t.Errorf("%+v", restrictions)
	}
	if _, err := sandbox.New(t.Context(), sandbox.Spec{Kind: sandbox.Container, Egress: "/run/x"}); err == nil || !strings.Contains(err.Error(), "no way out") {
		t.Errorf("a way out: %v", err)
	}
}

// TestContainerNeedsRoot is for a deed that is not root, as TestWithoutRoot runs it.
func TestContainerNeedsRoot(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("this is root; see TestWithoutRoot")
	}
	_, err := sandbox.New(t.Context(), sandbox.Spec{Kind: sandbox.Container})
	var f *failure.Error
	if !errors.As(err, &f) || f.Class != failure.Isolation || f.Remedy == "" {
		t.Errorf("got %v", err)
	}
}
