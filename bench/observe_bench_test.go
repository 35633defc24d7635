package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/checks/observe"
	"github.com/deedrun/deed/internal/isolate/exectrace"
)

// TestBenchObserve measures what observation costs a check of a few seconds: the line with the runners' reporters in its environment and
// under the tracer of what it executes, against the same line without both, in turns. Nothing here fails for being slow.
func TestBenchObserve(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	for _, p := range gateProjects() {
		if p.goal == "-" {
			continue // it takes no seconds: see what the gate adds to it
		}
		t.Run(p.name, func(t *testing.T) {
			for _, program := range p.needs {
				if _, err := exec.LookPath(program); err != nil {
					t.Skipf("missing tool: %s", program)
				}
			}
			benchObserve(t, p)
		})
	}
}

func benchObserve(t *testing.T, p gateProject) {
	root := t.TempDir()
	dir := filepath.Join(root, "sum")
	for name, text := range p.files {
		file := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(text), 0o600))
	}
	bin, env := build(t), map[string]string{}
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	took := func(argv, vars []string) [2]float64 {
		c := exec.Command(argv[0], argv[1:]...)
		c.Dir, c.Env = dir, vars
		start := clock.Start()
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
		return [2]float64{clock.Since(start).Seconds(), (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()}
	}
	argv := []string{"sh", "-c", p.line}
	plain := func() [2]float64 { return took(argv, os.Environ()) }
	round := 0
	observed := func() [2]float64 {
		round++
		at := filepath.Join(root, "watch", strconv.Itoa(round))
		must(t, os.MkdirAll(at, 0o700))
		w, err := observe.New(at, at)
		must(t, err)
		var vars []string
		for name, value := range w.Env(env) {
			vars = append(vars, name+"="+value)
		}
		trace := filepath.Join(at, "trace")
		out := took(exectrace.Argv(bin, trace, argv), vars)
		seen, err := w.Read(dir, dir)
		must(t, err)
		if traced, err := exectrace.Read(trace, dir); err != nil || !traced.Complete || len(seen.Cases) == 0 {
			t.Fatalf("nothing was observed: %+v, %+v, %v", seen, traced, err)
		}
		return out
	}
	plain()
	observed()
	var hand, with [2][]float64
	for range p.rounds {
		a, b := plain(), observed()
		for i := range a {
			hand[i], with[i] = append(hand[i], a[i]), append(with[i], b[i])
		}
	}
	for i, what := range []string{"wall", "cpu"} {
		line(t, "observe."+p.name+"."+what, median(with[i]), median(hand[i]), "s, "+p.line+" observed against it by hand", "<=1.1")
	}
}
