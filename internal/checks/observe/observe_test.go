package observe_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/observe"
)

func TestEnv(t *testing.T) {
	t.Parallel()
	tools := t.TempDir()
	write(t, tools, map[string]string{"go": "#!/bin/sh\n", "cargo": "no program\n"})
	w, err := observe.New(t.TempDir(), "/watch")
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"PATH": tools + ":/nowhere", "NODE_OPTIONS": "--max-old-space-size=100", "PYTHONPATH": "/lib:", "PHP_INI_SCAN_DIR": "/etc/php", "TOX_TESTENV_PASSENV": "A B", "OTHER": "",
	}
	before := maps.Clone(env)
	want := map[string]string{
		"PATH":                "/watch/shim/go:" + tools + ":/nowhere", // there is no cargo, so there is none with us
		"NODE_OPTIONS":        `--require="/watch/node/preload.cjs" --max-old-space-size=100`,
		"PYTHONPATH":          "/watch/python:/lib:",
		"PHP_INI_SCAN_DIR":    "/etc/php:/watch/php/conf",
		"TOX_TESTENV_PASSENV": "A B PYTHONPATH NODE_OPTIONS PHP_INI_SCAN_DIR",
		"OTHER":               "",
	}
	if diff := cmp.Diff(want, w.Env(env)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, env); diff != "" {
		t.Errorf("the environment that was handed over is changed: %s", diff)
	}
	want = map[string]string{
		"NODE_OPTIONS":        `--require="/watch/node/preload.cjs"`,
		"PYTHONPATH":          "/watch/python",
		"PHP_INI_SCAN_DIR":    ":/watch/php/conf",
		"TOX_TESTENV_PASSENV": "PYTHONPATH NODE_OPTIONS PHP_INI_SCAN_DIR",
	}
	if diff := cmp.Diff(want, w.Env(nil)); diff != "" {
		t.Error(diff)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ dir, inside, want string }{
		{"relative", "/watch", "absolute"},
		{"/tmp", "relative", "absolute"},
		{"/tmp", "/with:colon", "colon"},
	} {
		if _, err := observe.New(c.dir, c.inside); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %q: %v", c.dir, c.inside, err)
		}
	}
	full := t.TempDir()
	write(t, full, map[string]string{"php/observe.php": "mine"})
	if _, err := observe.New(full, "/watch"); err == nil {
		t.Error("a directory that is not empty is written over")
	}
}

// TestBlanks: the directories may have names that have to be quoted.
func TestBlanks(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{
		"a.test.js": "require('node:test').it('good', () => {});\n",
		"test_a.py": "import unittest\nclass A(unittest.TestCase):\n    def test_good(self): pass\n",
	})
	needs(t, "nodejs.org", "node", "--version")
	needs(t, "python.org", "python3", "--version")
	dir := filepath.Join(t.TempDir(), `it's a "watch" \ here`)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := observe.New(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	r := p.run(t, "node --test && python3 -m unittest && command -v go && { php -v || true; }", w.Env(p.env))
	seen, err := w.Read(p.dir, p.dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"passed good", "passed test_a.A.test_good"}, results(seen.Cases)); diff != "" || len(seen.Faults) > 0 || strings.Contains(r.stdout+r.stderr, "Failed opening") {
		t.Errorf("%s %q\n%s%s", diff, seen.Faults, r.stdout, r.stderr)
	}
	if !strings.Contains(r.stdout, dir+"/shim/go/go") {
		t.Errorf("go is not the shim: %s", r.stdout)
	}
}

// TestTwoRunners: a check that starts several runners, and one of them several times, has the tests of all.
func TestTwoRunners(t *testing.T) {
	t.Parallel()
	needs(t, "nodejs.org", "node", "--version")
	needs(t, "python.org", "python3", "--version")
	p := newProject(t, map[string]string{
		"package.json":     `{"workspaces": ["b", "a"], "scripts": {"test": "npm test --workspaces"}}`,
		"a/package.json":   `{"name": "a", "version": "1.0.0", "scripts": {"test": "node --test"}}`,
		"b/package.json":   `{"name": "b", "version": "1.0.0", "scripts": {"test": "node --test"}}`,
		"a/a.test.js":      "require('node:test').it('good', () => {});\n",
		"b/b.test.js":      "require('node:test').it('good', () => { throw new Error('no'); });\n",
		"python/test_a.py": "import unittest\nclass A(unittest.TestCase):\n    def test_good(self): pass\n",
	})
	r, seen := p.observed(t, "npm test; cd python && python3 -m unittest")
	// By directory, so that the second one of a name is the same one each time: b is tested before a.
	want := []runner.TestCase{{Name: "good", Status: runner.CasePassed}, {Name: "good#2", Status: runner.CaseFailed}, {Name: "test_a.A.test_good", Status: runner.CasePassed}}
	for i := range seen.Cases {
		c := &seen.Cases[i]
		*c = runner.TestCase{Suite: c.Suite, Name: c.Name, Status: c.Status}
	}
	if diff := cmp.Diff(want, seen.Cases); diff != "" || len(seen.Faults) > 0 {
		t.Errorf("%s %q\n%s%s", diff, seen.Faults, r.stdout, r.stderr)
	}
	if diff := cmp.Diff([]string{"node", "unittest"}, seen.Runners); diff != "" {
		t.Error(diff)
	}
}

// TestNothingToObserve: a check without a runner is what it would be without us.
func TestNothingToObserve(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"Makefile": ".PHONY: test\ntest:\n\tsh check.sh\n", "check.sh": "cat; node -e 'console.log(1)'; python3 -c 'print(2)'; nosuchtool; exit 7\n"})
	want := p.plain(t, "make test")
	r, seen := p.observed(t, "make test")
	if r.stdout != want.stdout || r.stderr != want.stderr || r.code != want.code {
		t.Errorf("%+v, and unobserved %+v", r, want)
	}
	if diff := cmp.Diff(observe.Seen{}, seen); diff != "" {
		t.Error(diff)
	}
}

// TestToolIsGone: a shim whose tool vanished meanwhile ends as the shell would.
func TestToolIsGone(t *testing.T) {
	t.Parallel()
	p := newProject(t, nil)
	r, seen := p.observed(t, `PATH="${PATH%%:*}:/nowhere"; go test ./...`)
	if r.code != 127 || !strings.Contains(r.stderr, "go: not found") || len(seen.Runners) > 0 {
		t.Errorf("%+v %+v", r, seen)
	}
}

// TestSignals: what ends the shim ends the tool.
func TestSignals(t *testing.T) {
	t.Parallel()
	tools := t.TempDir()
	write(t, tools, map[string]string{"cargo": "#!/bin/sh\ntrap 'echo got it; exit 3' TERM\necho running\nread line\necho \"$line\"\nwhile :; do sleep 0.1; done\n"})
	p := newProject(t, nil)
	p.env["PATH"] = tools + ":" + p.env["PATH"]
	r, seen := p.observed(t, `exec 3<&0; cargo test <&3 >out & n=0; until grep -q typed out 2>/dev/null || [ $n -gt 200 ]; do n=$((n + 1)); sleep 0.05; done; kill -TERM $!; wait $!; echo $?; cat out`)
	if r.stdout != "3\nrunning\ntyped\ngot it\n" {
		t.Errorf("%q %q %+v", r.stdout, r.stderr, seen)
	}
}

// TestReadHostile: what a check leaves in the directory is believed to be a report of its own, and nothing more.
func TestReadHostile(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(`{"event":"test","name":"secret","status":"passed"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const good = `{"event":"start","name":"a"}` + "\n" + `{"event":"test","suite":"/tree/x.js > s","name":"a","status":"passed","file":"/tree/x.js"}` + "\n"
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, reports string)
		want    observe.Seen
	}{
		{
			"complete", func(t *testing.T, d string) {
				write(t, d, map[string]string{"r.1/cwd": "/tree", "r.1/report.events": good, "r.1/end": ""})
			},
			observe.Seen{Runners: []string{"r"}, Cases: []runner.TestCase{{Suite: "x.js > s", Name: "a", Status: "passed", File: "x.js"}, {Name: "a", Status: "failed", Type: "unfinished"}}},
		},
		{
			"cut off", func(t *testing.T, d string) {
				write(t, d, map[string]string{"r.1/cwd": "/tree/sub", "r.1/report.events": good + `{"event":"te`})
			},
			observe.Seen{Runners: []string{"r"}, Cases: []runner.TestCase{{Suite: "x.js > s", Name: "a", Status: "passed", File: "x.js"}}, Faults: []string{"r began in sub and did not end its report"}},
		},
		{
			"no report", func(t *testing.T, d string) { write(t, d, map[string]string{"r.1/end": ""}) },
			observe.Seen{Runners: []string{"r"}, Faults: []string{"r ended in a directory that it did not name and left no report"}},
		},
		{
			"unknown format", func(t *testing.T, d string) {
				write(t, d, map[string]string{"r.1/end": "", "r.1/cwd": "/tree", "r.1/report.exe": good})
			},
			observe.Seen{Runners: []string{"r"}, Faults: []string{`the report of r in the directory of the check cannot be read: no known format of test results: "exe"`}},
		},
		{
			"no event", func(t *testing.T, d string) {
				write(t, d, map[string]string{"r.1/end": "", "r.1/cwd": "/tree", "r.1/report.events": `{"event":"test","name":"a","status":"splendid"}`})
			},
			observe.Seen{Runners: []string{"r"}, Faults: []string{`the report of r in the directory of the check cannot be read: read events: event "test" with status "splendid" is unknown`}},
		},
		{
			"other files", func(t *testing.T, d string) {
				write(t, d, map[string]string{"file": "", ".hidden/end": "", "noname/end": ""})
			},
			observe.Seen{Faults: []string{`".hidden" is no report of a test runner`, `"file" is no report of a test runner`, `"noname" is no report of a test runner`}},
		},
		{"a link for a report", func(t *testing.T, d string) {
			write(t, d, map[string]string{"r.1/end": "", "r.1/cwd": "/tree"})
			if err := os.Symlink(secret, filepath.Join(d, "r.1/report.events")); err != nil {
				t.Fatal(err)
			}
		}, observe.Seen{Runners: []string{"r"}, Faults: []string{"cannot be read"}}},
		{"a link for a directory", func(t *testing.T, d string) {
			if err := os.Symlink(filepath.Dir(secret), filepath.Join(d, "r.1")); err != nil {
				t.Fatal(err)
			}
		}, observe.Seen{Faults: []string{`"r.1" is no report of a test runner`}}},
		{"a pipe for a report", func(t *testing.T, d string) {
			write(t, d, map[string]string{"r.1/end": "", "r.1/cwd": "/tree"})
			if err := syscall.Mkfifo(filepath.Join(d, "r.1/report.events"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, observe.Seen{Runners: []string{"r"}, Faults: []string{"cannot be read"}}},
		{"all is gone", func(t *testing.T, d string) {
			if err := os.RemoveAll(d); err != nil {
				t.Fatal(err)
			}
		}, observe.Seen{Faults: []string{"the directory of the reports is gone"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w, err := observe.New(dir, "/watch")
			if err != nil {
				t.Fatal(err)
			}
			c.prepare(t, filepath.Join(dir, "reports"))
			seen, err := w.Read(t.TempDir(), "/tree")
			if err != nil {
				t.Fatal(err)
			}
			if len(c.want.Faults) == 1 && c.want.Faults[0] == "cannot be read" { // the rest is the system's
				if len(seen.Faults) != 1 || !strings.Contains(seen.Faults[0], "cannot be read") {
					t.Errorf("faults are %q", seen.Faults)
				}
				seen.Faults = c.want.Faults
			}
			if diff := cmp.Diff(c.want, seen); diff != "" {
				t.Error(diff)
			}
		})
	}
}
