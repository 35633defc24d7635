//go:build linux

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/deedrun/deed/internal/evidence/workspace"
)

// TestBenchAgentTask measures /bin/true in a workspace of 100 files through the whole of `deed agent-task-run`: the real
// binary in a warm home, with containment, bundle, signature, registry and cleanup. The floor is bubblewrap alone with the
// same kind of namespaces, run in turns with it.
//
// A caller that names an artifacts_path gets a copy of the bundle and of the run's record there, durable as the first: that is
// a line of its own. The last lines say where the time goes: what the start of the binary costs, and what a refused request
// costs (start, and reading the request).
func TestBenchAgentTask(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("missing tool: bwrap: apt-get install bubblewrap")
	}
	rounds := 41
	if n, err := strconv.Atoi(os.Getenv("DEED_BENCH_ROUNDS")); err == nil && n > 0 {
		rounds = n
	}
	bin := build(t)
	b := newAgentTask(t, bin)
	b.run(b.request("warm", true)) // makes the home
	b.rss = 0

	var whole, floor, copied, refused, start []float64
	for i := range rounds {
		floor = append(floor, seconds(func() { b.bare(bwrap) }))
		own := b.request(fmt.Sprint("own", i), true)
		copied = append(copied, b.run(own))
		start = append(start, seconds(func() { must(t, b.command("version").Run()) }))
		refused = append(refused, seconds(func() { _ = b.command("agent-task-run", "--json", "--input-file", b.bad).Run() }))
		home := b.request(fmt.Sprint("home", i), false)
		whole = append(whole, b.run(home))
	}
	f := median(floor)
	line(t, "agent-task-run", median(whole), f, "s, /bin/true from request to envelope against bare bwrap", "<=16")
	line(t, "agent-task-run.fastest", slices.Min(whole), slices.Min(floor), "s, the same on a machine with nothing else to do", "<=16")
	line(t, "agent-task-run.artifacts-path", median(copied), f, "s, the same with a copy of the bundle for the caller", "-")
	line(t, "agent-task-run.refused", median(refused), f, "s, start and a request that is refused", "-")
	line(t, "agent-task-run.version", median(start), f, "s, start alone", "-")
	fmt.Printf("bench agent-task-run/peak-memory %.1f - - <=100 # MB, the largest resident set of deed\n", b.rss)
}

// An agentTask is a home and a source that requests are run against.
type agentTask struct {
	t        *testing.T
	bin, dir string
	bad      string  // a request that is refused
	rss      float64 // the largest resident set seen, MB
}

func newAgentTask(t *testing.T, bin string) *agentTask {
	t.Helper()
	b := &agentTask{t: t, bin: bin, dir: t.TempDir()}
	workspace.SetTopdirFlag(b.dir)
	for i := range 100 {
		p := filepath.Join(b.dir, "src", fmt.Sprintf("d%d/file-%d.txt", i%10, i))
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		must(t, os.WriteFile(p, fmt.Appendf(nil, "file %d\n", i), 0o600))
	}
	must(t, os.WriteFile(filepath.Join(b.dir, "deed.yaml"), []byte("adapters:\n  noop: {kind: script, command: /bin/true, timeout_ms: 10000}\n"), 0o600))
	b.bad = filepath.Join(b.dir, "bad.json")
	must(t, os.WriteFile(b.bad, []byte(`{"schema": "wp-codebox/task-input/v1", "goal": ""}`), 0o600))
	return b
}

// request writes a request for a run of its own and returns its file.
func (b *agentTask) request(name string, artifacts bool) string {
	b.t.Helper()
	req := map[string]any{
		"schema": "wp-codebox/task-input/v1", "goal": "do nothing", "agent": "noop",
		"workspaces": []any{map[string]any{
			"target": "/workspace", "mode": "readwrite", "seed": map[string]any{"type": "directory", "source": filepath.Join(b.dir, "src")},
		}},
	}
	if artifacts {
		req["artifacts_path"] = filepath.Join(b.dir, "artifacts", name, "bundle")
	}
	text, err := json.Marshal(req)
	must(b.t, err)
	file := filepath.Join(b.dir, name+".json")
	must(b.t, os.WriteFile(file, text, 0o600))
	return file
}

func (b *agentTask) command(args ...string) *exec.Cmd {
	c := exec.Command(b.bin, args...)
	c.Dir = b.dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir, "DEED_HOME=" + filepath.Join(b.dir, "home")}
	return c
}

// run answers a request, sees to it that the agent really ran, and returns how long deed took.
func (b *agentTask) run(file string) float64 {
	b.t.Helper()
	c := b.command("agent-task-run", "--json", "--input-file", file)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	var err error
	took := seconds(func() { err = c.Run() })
	if err != nil {
		b.t.Fatalf("%v\n%s\n%s", err, out.String(), errs.String())
	}
	var env struct {
		Status string `json:"status"`
	}
	must(b.t, json.Unmarshal(out.Bytes(), &env))
	if env.Status != "no_op" {
		b.t.Fatalf("status %s\n%s", env.Status, out.String())
	}
	if u, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		b.rss = max(b.rss, float64(u.Maxrss)/1024)
	}
	return took
}

// bare runs /bin/true in bubblewrap with the namespaces and the mounts that nobody could leave out.
func (b *agentTask) bare(bwrap string) {
	b.t.Helper()
	c := exec.Command(
		bwrap, "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
		"--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", filepath.Join(b.dir, "src"), "/ws", "--chdir", "/ws", "/bin/true",
	)
	c.Env = []string{"PATH=/usr/bin:/bin"}
	must(b.t, c.Run())
}
