//go:build linux

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// TestBenchProvider measures a provider command that is a shell script and does nothing, from the request to the outcome: choose it,
// find it ready, make its workspace, run it behind all walls, read and judge what it left, write and sign the evidence, settle. Many
// requests go through one process of the real binary, one at a time, so that the start of deed counts for little and readiness is
// looked at once. The floor is the same script behind the same walls, and as many files of the same size written and made durable.
func TestBenchProvider(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("missing tool: bwrap: apt-get install bubblewrap")
	}
	p := newProviderBench(t, build(t))
	p.fanout(1) // makes the home
	var whole, floor []float64
	for range 3 {
		whole = append(whole, p.fanout(200))
		floor = append(floor, p.floor(200))
	}
	line(t, "provider.run", median(whole), median(floor), fmt.Sprintf("s, one request from choice to outcome against the bare walls and %d files of %d bytes", p.files, p.size), "<=2")
	line(t, "provider.run.fastest", slices.Min(whole), slices.Min(floor), "s, the same on a machine with nothing else to do", "<=2")
}

type providerBench struct {
	*testing.T
	bin, dir    string
	round       int
	files, size int // of one bundle
}

func newProviderBench(t *testing.T, bin string) *providerBench {
	t.Helper()
	p := &providerBench{T: t, bin: bin, dir: t.TempDir()}
	pkg := filepath.Join(p.dir, "packages", "noop")
	must(t, os.MkdirAll(pkg, 0o755))
	must(t, os.WriteFile(filepath.Join(pkg, "noop.json"), []byte(`{"schema": "homeboy/agent-runtime-manifest/v1", "id": "noop", "name": "Nothing", "version": "1.0.0",
		"agent_task_executors": [{"id": "noop.run", "backend": "noop", "command": "sh {{runtime_path}}/run.sh", "capabilities": ["structured_outcome"],
			"runner_readiness": [{"id": "shell", "executable": {"candidates": ["sh"]}}]}]}`), 0o600))
	must(t, os.WriteFile(filepath.Join(pkg, "run.sh"), []byte(`read -r request
echo '{"schema": "homeboy/agent-task-outcome/v1", "status": "no_op", "summary": "nothing"}'
`), 0o600))
	return p
}

// fanout runs n requests and returns the seconds that one took.
func (p *providerBench) fanout(n int) float64 {
	p.Helper()
	p.round++
	var tasks []any
	for i := range n {
		tasks = append(tasks, map[string]any{
			"id": fmt.Sprintf("t%d-%d", p.round, i), "instructions": "do nothing", "executor": map[string]any{"backend": "noop", "config": map[string]any{}},
		})
	}
	plan, err := json.Marshal(map[string]any{"schema": "homeboy/fanout-reconcile-plan/v1", "orchestrator": map[string]any{}, "groups": []any{}, "task_requests": tasks})
	must(p.T, err)
	file := filepath.Join(p.dir, "plan.json")
	must(p.T, os.WriteFile(file, plan, 0o600))
	c := exec.Command(p.bin, "fanout", "run", file, "--runtime-dir", filepath.Join(p.dir, "packages"), "--isolation", "namespace", "--concurrency", "1", "--json")
	c.Dir, c.Env = p.dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "DEED_HOME=" + filepath.Join(p.dir, "home")}
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	took := seconds(func() {
		if err := c.Run(); err != nil {
			p.Fatalf("%v\n%s\n%s", err, out.String(), errs.String())
		}
	})
	var run struct {
		Status  string `json:"status"`
		Records []struct {
			Outcome struct {
				Status string `json:"status"`
			} `json:"outcome"`
		} `json:"records"`
	}
	must(p.T, json.Unmarshal(out.Bytes(), &run))
	if run.Status != "completed" || len(run.Records) != n || run.Records[0].Outcome.Status != "no_op" {
		p.Fatalf("%s", out.String())
	}
	p.shape()
	return took / float64(n)
}

// shape looks at how many files of which size a bundle has.
func (p *providerBench) shape() {
	bundles, err := os.ReadDir(filepath.Join(p.dir, "home", "bundles"))
	must(p.T, err)
	files, total := 0, 0
	must(p.T, filepath.WalkDir(filepath.Join(p.dir, "home", "bundles", bundles[len(bundles)-1].Name()), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			fi, ierr := d.Info()
			if err = ierr; err == nil {
				files, total = files+1, total+int(fi.Size())
			}
		}
		return err
	}))
	p.files, p.size = files, total/files
}

// floor runs the script behind the walls and writes the files, n times, and returns the seconds that one took.
func (p *providerBench) floor(n int) float64 {
	p.Helper()
	ctx := p.Context()
	sup, err := proc.NewSupervisor(ctx, proc.Options{})
	must(p.T, err)
	defer func() { must(p.T, sup.Close()) }()
	root := p.TempDir()
	text := bytes.Repeat([]byte("x"), p.size)
	start := time.Now()
	for i := range n {
		ws := filepath.Join(root, "ws"+strconv.Itoa(i))
		must(p.T, os.Mkdir(ws, 0o700))
		box, err := sandbox.New(ctx, sandbox.Spec{Kind: sandbox.Namespace, Watch: []string{ws}, Mounts: []sandbox.Mount{
			{Source: ws, Target: "/ws", Writable: true}, {Source: filepath.Join(p.dir, "packages", "noop"), Target: "/package"},
		}})
		must(p.T, err)
		exit, err := box.Run(ctx, sup, proc.Spec{
			Argv: []string{"/bin/sh", "/package/run.sh"}, Dir: "/ws", Env: []string{"PATH=/usr/bin:/bin"}, Stdin: bytes.NewReader([]byte("{}\n")), Stdout: &bytes.Buffer{},
		})
		must(p.T, err)
		if exit.Code != 0 {
			p.Fatalf("exit %d", exit.Code)
		}
		tmp := filepath.Join(root, ".tmp"+strconv.Itoa(i))
		must(p.T, os.Mkdir(tmp, 0o700))
		for k := range p.files {
			must(p.T, os.WriteFile(filepath.Join(tmp, strconv.Itoa(k)), text, 0o600))
		}
		must(p.T, atomicfile.SyncTree(ctx, tmp))
		must(p.T, os.Rename(tmp, filepath.Join(root, strconv.Itoa(i))))
		must(p.T, atomicfile.SyncDir(root))
	}
	return time.Since(start).Seconds() / float64(n)
}
