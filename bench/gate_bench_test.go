package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/base/clock"
)

// TestBenchGate measures what the gate costs around a check that people type: `deed run --check LINE` in a warm home, less a run of
// the same agent without a check, against the line by hand with warm caches, in turns. With inputs untouched the check runs twice on
// the change: as it is, and with tests of deed's own that fail. An edit of an input adds a run with it as it was. Nothing here fails
// for being slow.
func TestBenchGate(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	for _, p := range gateProjects() {
		t.Run(p.name, func(t *testing.T) {
			for _, program := range p.needs {
				if _, err := exec.LookPath(program); err != nil {
					t.Skipf("missing tool: %s", program)
				}
			}
			benchGate(t, p)
		})
	}
}

// A gateProject is a project with a check.
type gateProject struct {
	name, line string
	needs      []string
	rounds     int
	goal       string // of the ratio with untouched inputs
	files      map[string]string
	code, test string // files that the agent edits
}

// gateProjects are one whose check takes a few seconds and one whose check takes a tenth of a second, in Go and in JavaScript.
func gateProjects() []gateProject {
	goFiles := func(busy string) map[string]string {
		files := map[string]string{"go.mod": "module example.test/sum\n\ngo 1.21\n", "sum.go": "// Package sum adds.\npackage sum\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n"}
		files["sum_test.go"] = "package sum\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\nfunc TestAdd(t *testing.T) {\n\tfor start := time.Now(); time.Since(start) < " + busy + "; {\n\t}\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n"
		return files
	}
	nodeFiles := func(ms int) map[string]string {
		return map[string]string{
			"package.json":     `{"name": "sum", "version": "1.0.0", "scripts": {"test": "node --test"}}` + "\n",
			"sum.js":           "'use strict';\nexports.add = (a, b) => a + b;\n",
			"test/sum.test.js": fmt.Sprintf("'use strict';\nconst { test } = require('node:test');\nconst assert = require('node:assert');\nconst { add } = require('../sum.js');\ntest('adds', () => { for (const start = Date.now(); Date.now() - start < %d;); assert.equal(add(1, 2), 3); });\n", ms),
		}
	}
	return []gateProject{
		{name: "go-seconds", line: "go test -count=1 ./...", needs: []string{"go"}, rounds: 5, goal: "<=1.3", files: goFiles("3 * time.Second"), code: "sum.go", test: "sum_test.go"},
		{name: "npm-seconds", line: "npm test", needs: []string{"npm", "node"}, rounds: 5, goal: "<=1.3", files: nodeFiles(3000), code: "sum.js", test: "test/sum.test.js"},
		{name: "node-instant", line: "node --test", needs: []string{"node"}, rounds: 9, goal: "-", files: nodeFiles(0), code: "sum.js", test: "test/sum.test.js"},
	}
}

func benchGate(t *testing.T, p gateProject) {
	root := t.TempDir()
	dir := filepath.Join(root, "sum")
	for name, text := range p.files {
		file := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(text), 0o600))
	}
	agent := func(name string, edits ...string) string {
		file := filepath.Join(root, name)
		script := "#!/bin/sh\n" + strings.Join(edits, "\n") + "\necho '{\"status\":\"completed\",\"machine_status\":\"ok\",\"operator_summary\":\"done\"}'\n"
		must(t, os.WriteFile(file, []byte(script), 0o755)) //nolint:gosec // an agent is executed
		return file
	}
	code, both := "echo '// clearer' >> "+p.code, "echo '// clearer' >> "+p.test
	untouched, touched := agent("untouched.sh", code), agent("touched.sh", code, both)
	bin, env := build(t), append(os.Environ(), "DEED_HOME="+filepath.Join(root, "home"))
	command := func(argv ...string) *exec.Cmd {
		c := exec.Command(argv[0], argv[1:]...)
		c.Dir, c.Env = dir, env
		return c
	}
	deed := func(script string, more ...string) *exec.Cmd {
		return command(append([]string{bin, "run", "--quiet", "--script", script}, append(more, "make it clearer")...)...)
	}
	took := func(c *exec.Cmd) (wall, cpu float64) {
		start := clock.Start()
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", c.Args, err, out)
		}
		return clock.Since(start).Seconds(), (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
	}
	check := []string{"--check", p.line}
	for _, warm := range []*exec.Cmd{command("sh", "-c", p.line), deed(untouched, check...), deed(touched, check...)} {
		took(warm)
	}
	var hand, bare, plain, pinned [2][]float64
	add := func(to *[2][]float64, c *exec.Cmd) {
		wall, cpu := took(c)
		to[0], to[1] = append(to[0], wall), append(to[1], cpu)
	}
	for range p.rounds {
		add(&hand, command("sh", "-c", p.line))
		add(&bare, deed(untouched))
		add(&plain, deed(untouched, check...))
		add(&pinned, deed(touched, check...))
	}
	for i, what := range []string{"wall", "cpu"} {
		floor, run := median(hand[i]), median(bare[i])
		line(t, "gate."+p.name+"/untouched."+what, median(plain[i])-run, floor, "s, the gate around "+p.line+" against it by hand", p.goal)
		line(t, "gate."+p.name+"/pinned."+what, median(pinned[i])-run, floor, "s, the same where an input was edited", map[bool]string{true: "<=2.5", false: "-"}[p.goal != "-"])
	}
	fmt.Printf("bench gate.%s/added %.2f - - <=0.5 # s of wall time that the gate adds to the line, inputs untouched\n", p.name, median(plain[0])-median(bare[0])-median(hand[0]))
}
