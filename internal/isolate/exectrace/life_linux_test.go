//go:build amd64 || arm64

package exectrace

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/base/proc/proctest"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// paths are those of a trace, in order.
func paths(trace Trace) []string {
	var list []string
	for _, p := range trace.Programs {
		list = append(list, p.Path)
	}
	return list
}

// mustBe asserts that a run was good, and which programs it had.
func mustBe(t testing.TB, r run, programs ...string) {
	t.Helper()
	if !r.state.Success() || !r.trace.Complete || r.trace.Why != "" || !slices.Equal(paths(r.trace), programs) {
		t.Errorf("%v, complete %v %s, programs %q, want %q\n%s", r.state, r.trace.Complete, r.trace.Why, paths(r.trace), programs, r.out)
	}
}

var script1 = map[string]string{"!x.sh": "#!/bin/sh\necho done\n"}

// TestBackground leaves a process behind whose parents are gone.
func TestBackground(t *testing.T) {
	t.Parallel()
	dir := makeTree(t, map[string]string{"!x.sh": "#!/bin/sh\n./y.sh\n", "!y.sh": "#!/bin/sh\necho y >&3\n"})
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustBe(t, observe(t, dir, "sh", "-c", "(setsid ./x.sh 3>fifo &) ; cat fifo"), "x.sh", "y.sh")
}

// TestJobControl stops processes of a run, and all of it, and lets them go on.
func TestJobControl(t *testing.T) {
	t.Parallel()
	dir := makeTree(t, script1)
	mustBe(t, observe(t, dir, "sh", "-c", `sleep 100 & p=$!; kill -STOP $p; kill -CONT $p; kill -TERM $p; wait $p; ./x.sh`), "x.sh")
	cmd, file := command(t, dir, "sh", "-c", `kill -STOP $$; ./x.sh`)
	cmd.Stdout = new(bytes.Buffer)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child := waitForState(t, cmd.Process.Pid, "T")
	if err := syscall.Kill(child, syscall.SIGCONT); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if trace, err := Read(file, dir); err != nil || !trace.Complete || !slices.Equal(paths(trace), []string{"x.sh"}) {
		t.Errorf("%+v, %v", trace, err)
	}
}

// waitForState waits until the child of a process is in a state, and returns it.
func waitForState(t testing.TB, pid int, state string) int {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for {
		var child int
		for _, task := range must(os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))) {
			data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
			if _, err := fmt.Sscan(string(data), &child); err == nil {
				break
			}
		}
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child)); err == nil && strings.Contains(string(stat), ") "+state+" ") {
			return child
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("no child of %d is in state %s", pid, state)
		}
	}
}

func must[T any](v T, _ error) T { return v }

// TestThread has a thread execute a program that is not the first of its process.
func TestThread(t *testing.T) {
	t.Parallel()
	dir := makeTree(t, script1)
	cmd, file := command(t, dir, must(os.Executable()), "./x.sh")
	cmd.Env = append(cmd.Env, testMode+"=thread")
	r := finish(t, cmd, file)
	mustBe(t, r, "x.sh")
	if p := r.trace.Programs; len(p) == 1 && !slices.Equal(p[0].Under, []string{filepath.Base(must(os.Executable()))}) {
		t.Errorf("got %+v", p)
	}
}

// TestDebugger has a program of the run trace another by ptrace, as debuggers and leak checkers do.
func TestDebugger(t *testing.T) {
	t.Parallel()
	dir := makeTree(t, script1)
	cmd, file := command(t, dir, must(os.Executable()), "./x.sh")
	cmd.Env = append(cmd.Env, testMode+"=debugger")
	mustBe(t, finish(t, cmd, file), "x.sh")
}

// TestObservedTwice observes a run in an observed one, of which the kernel has no notion: it runs, and says so.
func TestObservedTwice(t *testing.T) {
	t.Parallel()
	dir := makeTree(t, script1)
	inner := filepath.Join(t.TempDir(), "inner")
	mustBe(t, observe(t, dir, Argv(must(os.Executable()), inner, []string{"./x.sh"})...), "x.sh")
	trace, err := Read(inner, dir)
	if err != nil || trace.Complete || len(trace.Programs) > 0 || !strings.Contains(trace.Why, "observed by another") {
		t.Errorf("%+v, %v", trace, err)
	}
}

// TestTraceThatCannotBeWritten runs the command all the same.
func TestTraceThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := makeTree(t, script1)
	file := filepath.Join(dir, "none", "trace")
	argv := Argv(must(os.Executable()), file, []string{"sh", "-c", "./x.sh; exit 3"})
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir = dir
	if out, err := cmd.Output(); string(out) != "done\n" || cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("%q, %v", out, err)
	}
	if trace, err := Read(file, dir); err != nil || trace.Complete || trace.Why == "" {
		t.Errorf("%+v, %v", trace, err)
	}
}

// TestTracerThatIsKilled ends the command with it, and leaves no trace that could be taken for all.
func TestTracerThatIsKilled(t *testing.T) {
	t.Parallel()
	dir := makeTree(t, map[string]string{"!x.sh": "#!/bin/sh\nkill -STOP $$\n"})
	cmd, file := command(t, dir, "./x.sh")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child := waitForState(t, cmd.Process.Pid, "T")
	_ = cmd.Process.Kill()
	if err := cmd.Wait(); err == nil {
		t.Error("it was not killed")
	}
	deadline := time.Now().Add(30 * time.Second)
	for syscall.Kill(child, 0) == nil && time.Now().Before(deadline) {
		if stat := must(os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))); strings.Contains(string(stat), ") Z ") {
			break // nobody reaps it here
		}
	}
	if time.Now().After(deadline) {
		t.Error("the command lives on")
	}
	trace, err := Read(file, dir)
	if err != nil || trace.Complete || trace.Why == "" || !slices.Equal(paths(trace), []string{"x.sh"}) {
		t.Errorf("%+v, %v", trace, err)
	}
}

// TestManyExecs executes 10,000 programs, in several processes at once.
func TestManyExecs(t *testing.T) {
	t.Parallel()
	const each = 2500
	dir := makeTree(t, script1)
	loop := fmt.Sprintf("i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done", each)
	r := observe(t, dir, "sh", "-c", fmt.Sprintf("for n in 1 2 3 4; do (%s) & done; wait; ./x.sh", loop))
	mustBe(t, r, "x.sh")
	if cpu := r.state.UserTime() + r.state.SystemTime(); cpu > time.Minute {
		t.Errorf("%v of processor time", cpu)
	}
}

// TestLongArguments passes more than a record holds.
func TestLongArguments(t *testing.T) {
	t.Parallel()
	dir := makeTree(t, script1)
	r := observe(t, dir, "sh", "-c", `./x.sh $(seq 20000); sh -c 'exit 0' "$(seq 20000)"; ./x.sh`)
	mustBe(t, r, "x.sh", "x.sh")
	if argv := r.trace.Programs[0].Argv; len(argv) < 100 || argv[len(argv)-1] != "…" || argv[99] != "99" {
		t.Errorf("got %d arguments", len(argv))
	}
}

// TestKinds observes a run in each sandbox, as deed runs a check, and ends it by time.
func TestKinds(t *testing.T) {
	t.Parallel()
	for _, kind := range sandbox.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			dir := makeTree(t, map[string]string{"Makefile": "test:\n\t./x.sh | cat\n", "!x.sh": "#!/bin/sh\necho done $PPID\n"})
			r := observeIn(t, kind, dir, "make -s test; ./x.sh; kill -9 $$")
			if r.code != 128+9 || r.killed != 0 {
				t.Errorf("exit %d, %d killed: %s", r.code, r.killed, r.out)
			}
			if got := paths(r.trace); !r.trace.Complete || !slices.Equal(got, []string{"Makefile", "x.sh", "x.sh"}) {
				t.Errorf("%s: %q", r.trace.Why, got)
			}
			if p := r.trace.Programs; len(p) == 3 && (!p[1].Captured || p[2].Captured || p[1].Parent != 0 || p[2].Parent != -1) {
				t.Errorf("got %+v", p)
			}
			r = observeIn(t, kind, dir, `trap 'echo ended; ./x.sh; exit 7' TERM; echo waits; while :; do sleep 0.05; done`)
			if r.code != 7 || !strings.Contains(r.out, "ended\ndone") || !r.trace.Complete || !slices.Equal(paths(r.trace), []string{"x.sh"}) {
				t.Errorf("ended by time: exit %d: %s %+v", r.code, r.out, r.trace)
			}
		})
	}
}

type contained struct {
	code, killed int
	out          string
	trace        Trace
}

// observeIn runs a line in a sandbox. One that prints that it waits is asked to end.
func observeIn(t *testing.T, kind sandbox.Kind, dir, line string) contained {
	t.Helper()
	traces := t.TempDir()
	s, err := sandbox.New(t.Context(), sandbox.Spec{Kind: kind, Mounts: []sandbox.Mount{{Source: dir, Target: "/tree", Writable: true}, {Source: traces, Target: "/traces", Writable: true}}})
	if err != nil {
		t.Skipf("missing tool: bwrap, podman: apt-get install bubblewrap podman runc (%v)", err)
	}
	sup, err := proc.NewSupervisor(t.Context(), proc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer sup.Close()
	tree, _ := s.Inside(dir)
	inside, _ := s.Inside(traces)
	var out bytes.Buffer
	p := proc.Spec{
		Argv: Argv(s.Self(), inside+"/trace", []string{"/bin/sh", "-c", line}), Dir: tree, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		Stdout: &out, Timeout: time.Minute, Grace: 20 * time.Second,
	}
	if strings.Contains(line, "waits") {
		p.Timeout = 3 * time.Second
	}
	exit, err := s.Run(t.Context(), sup, p)
	if err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	trace, err := Read(filepath.Join(traces, "trace"), tree)
	if err != nil {
		t.Fatal(err)
	}
	return contained{exit.Code, exit.Killed, out.String(), trace}
}

// TestWithoutRoot runs the other tests as a user who is not root, as deed should be run.
func TestWithoutRoot(t *testing.T) {
	t.Parallel()
	out := proctest.WithoutRoot(t, "^(TestPrograms|TestStreams|TestKinds|TestThread|TestDebugger|TestBackground|TestLostRights)$", "-test.parallel=2", "-test.v")
	if !strings.Contains(out, "--- PASS: TestLostRights") {
		t.Logf("no program lost rights:\n%s", out)
	}
}

// TestLostRights executes a set-user-ID program as a user who is not root.
func TestLostRights(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root has all rights; TestWithoutRoot runs this as another user")
	}
	su, err := exec.LookPath("su")
	if err != nil {
		t.Skip("missing tool: su: apt-get install util-linux")
	}
	if st, err := os.Stat(su); err != nil || st.Mode()&os.ModeSetuid == 0 {
		t.Skipf("missing tool: su with its rights: apt-get install util-linux (%v)", err)
	}
	r := observe(t, t.TempDir(), "sh", "-c", "su --version; :")
	if real := must(filepath.EvalSymlinks(su)); r.trace.Disturbed != real || !r.trace.Complete {
		t.Errorf("got %q, want %q: %s", r.trace.Disturbed, real, r.out)
	}
}
