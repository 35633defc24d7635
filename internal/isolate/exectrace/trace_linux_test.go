//go:build amd64 || arm64

package exectrace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A run is an observed command, and what became of it.
type run struct {
	out   string // standard output and error
	state *os.ProcessState
	trace Trace
}

// makeTree makes a tree. A file whose name begins with an exclamation mark can be executed, and one whose content begins with
// an arrow is a link.
func makeTree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		bare, executable := strings.CutPrefix(name, "!")
		path := filepath.Join(dir, bare)
		mode := os.FileMode(0o644)
		if executable {
			mode = 0o755
		}
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			err = errors.Join(err, os.Symlink(target, path))
		} else {
			err = errors.Join(err, os.WriteFile(path, []byte(content), mode))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// command is an observed command in a directory, and where its trace will be.
func command(t testing.TB, dir string, argv ...string) (*exec.Cmd, string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "trace")
	argv = Argv(exe, file, argv)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH=/usr/local/bin:/usr/bin:/bin:"+os.Getenv("PATH")) // before anybody's shims
	cmd.WaitDelay = time.Second
	return cmd, file
}

// observe runs a command in a tree under observation.
func observe(t testing.TB, dir string, argv ...string) run {
	t.Helper()
	cmd, file := command(t, dir, argv...)
	return finish(t, cmd, file)
}

func finish(t testing.TB, cmd *exec.Cmd, file string) run {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v\n%s", err, out)
	}
	trace, err := Read(file, cmd.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return run{string(out), cmd.ProcessState, trace}
}

func need(t testing.TB, tool, how string) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: needs a toolchain")
	}
	if _, err := exec.LookPath(tool); err != nil {
		t.Skipf("missing tool: %s: %s", tool, how)
	}
}

// TestPrograms runs real interpreters and looks for the programs of the tree.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tool  string // and how to get it
		files map[string]string
		line  string
		want  []Program
	}{
		"an executable": {
			files: map[string]string{"!run.sh": "#!/bin/sh\nexit 0\n"}, line: "./run.sh",
			want: []Program{{Path: "run.sh", Argv: []string{"./run.sh"}, Parent: -1, Under: []string{"sh"}}},
		},
		"a script by its interpreter": {
			files: map[string]string{"ci/x.sh": "cat /dev/null\n"}, line: "cd ci && sh -eu -o noglob x.sh a b",
			want: []Program{{Path: "ci/x.sh", Argv: []string{"sh", "-eu", "-o", "noglob", "x.sh", "a", "b"}, Parent: -1, Under: []string{"sh"}}},
		},
		"make, a script, python": {
			tool:  "make: apt-get install make",
			files: map[string]string{"Makefile": "test:\n\tscripts/run.sh\n", "!scripts/run.sh": "#!/bin/sh\nset -e\npython3 -u ci/check.py\n", "ci/check.py": "print(1)\n"},
			line:  "make test",
			want: []Program{
				{Path: "Makefile", Argv: []string{"make", "test"}, Parent: -1, Under: []string{"sh"}, Leads: true},
				{Path: "scripts/run.sh", Argv: []string{"scripts/run.sh"}, Parent: 0, Under: []string{"make", "sh"}, Leads: true},
				{Path: "ci/check.py", Argv: []string{"python3", "-u", "ci/check.py"}, Parent: 1, Under: []string{"make", "sh"}},
			},
		},
		"another makefile, elsewhere": {
			tool:  "make: apt-get install make",
			files: map[string]string{"sub/other.mk": "all:\n\t@./x\n", "!sub/x": "#!/bin/sh\n"},
			line:  "make -sC sub --file=other.mk",
			want: []Program{
				{Path: "sub/other.mk", Argv: []string{"make", "-sC", "sub", "--file=other.mk"}, Parent: -1, Under: []string{"sh"}, Leads: true},
				{Path: "sub/x", Argv: []string{"./x"}, Parent: 0, Under: []string{"make", "sh"}},
			},
		},
		"a module, and one on the path of modules": {
			tool:  "python3: apt-get install python3",
			files: map[string]string{"ci/__init__.py": "", "ci/check.py": "", "src/tool/__init__.py": "", "src/tool/__main__.py": ""},
			line:  "python3 -m ci.check && PYTHONPATH=none:src python3 -Bm tool x",
			want: []Program{
				{Path: "ci/check.py", Argv: []string{"python3", "-m", "ci.check"}, Parent: -1, Under: []string{"sh"}},
				{Path: "src/tool/__main__.py", Argv: []string{"python3", "-Bm", "tool", "x"}, Parent: -1, Under: []string{"sh"}},
			},
		},
		"a script found by env": {
			tool:  "python3: apt-get install python3",
			files: map[string]string{"!x.py": "#!/usr/bin/env -S python3 -B\nimport subprocess\nsubprocess.run(['sh', 'y.sh'])\n", "y.sh": "true\n"}, line: "./x.py",
			want: []Program{
				{Path: "x.py", Argv: []string{"python3", "-B", "./x.py"}, Parent: -1, Under: []string{"sh"}, Leads: true},
				{Path: "y.sh", Argv: []string{"sh", "y.sh"}, Parent: 0, Under: []string{"python3", "sh"}},
			},
		},
		"node, without the extension": {
			tool:  "node: apt-get install nodejs",
			files: map[string]string{"tools/run.js": "require('child_process').execFileSync('./x')\n", "pre.cjs": "", "!x": "#!/bin/sh\n"},
			line:  "node --require ./pre.cjs tools/run",
			want: []Program{
				{Path: "pre.cjs", Argv: []string{"node", "--require", "./pre.cjs", "tools/run"}, Parent: -1, Under: []string{"sh"}, Leads: true},
				{Path: "tools/run.js", Argv: []string{"node", "--require", "./pre.cjs", "tools/run"}, Parent: 0, Under: []string{"sh"}, Leads: true},
				{Path: "x", Argv: []string{"./x"}, Parent: 1, Under: []string{"node", "sh"}, Captured: true},
			},
		},
		"perl": {
			tool:  "perl: apt-get install perl",
			files: map[string]string{"x.pl": "exit 0", "-e": "", "exit 0": ""}, line: "perl -w -Ilib -I lib x.pl && perl -e 'exit 0'",
			want: []Program{{Path: "x.pl", Argv: []string{"perl", "-w", "-Ilib", "-I", "lib", "x.pl"}, Parent: -1, Under: []string{"sh"}}},
		},
		"php": {
			tool:  "php: apt-get install php-cli",
			files: map[string]string{"x.php": "<?php exit(0);"}, line: "php -d a=b x.php && php -r 'exit(0);'",
			want: []Program{{Path: "x.php", Argv: []string{"php", "-d", "a=b", "x.php"}, Parent: -1, Under: []string{"sh"}}},
		},
		"busybox": {
			tool:  "busybox: apt-get install busybox",
			files: map[string]string{"x.sh": ":\n"}, line: "busybox sh -e x.sh",
			want: []Program{{Path: "x.sh", Argv: []string{"busybox", "sh", "-e", "x.sh"}, Parent: -1, Under: []string{"sh"}}},
		},
		"awk and sed": {
			files: map[string]string{"x.awk": "BEGIN { exit 0 }\n", "x.sed": "d\n"}, line: "awk -f x.awk </dev/null && sed -n -f x.sed /dev/null && awk 'BEGIN { exit 0 }'",
			want: []Program{
				{Path: "x.awk", Argv: []string{"awk", "-f", "x.awk"}, Parent: -1, Under: []string{"sh"}},
				{Path: "x.sed", Argv: []string{"sed", "-n", "-f", "x.sed", "/dev/null"}, Parent: -1, Under: []string{"sh"}},
			},
		},
		"standard input": {
			files: map[string]string{"x.sh": ":\n"}, line: "sh -s a <x.sh; sh <x.sh; sh -c : <x.sh",
			want: []Program{
				{Path: "x.sh", Argv: []string{"sh", "-s", "a"}, Parent: -1, Under: []string{"sh"}},
				{Path: "x.sh", Argv: []string{"sh"}, Parent: -1, Under: []string{"sh"}},
			},
		},
		"a pipeline, and what is captured": {
			files: map[string]string{"!a": "#!/bin/sh\necho a\n", "!b": "#!/bin/sh\ncat\n", "!c": "#!/bin/sh\n"}, line: "./a | cat; cat </dev/null | ./b; x=$(./c); ./c >/dev/null; ./c 1>&-",
			want: []Program{
				{Path: "a", Argv: []string{"./a"}, Parent: -1, Under: []string{"sh"}, Captured: true},
				{Path: "b", Argv: []string{"./b"}, Parent: -1, Under: []string{"sh"}},
				{Path: "c", Argv: []string{"./c"}, Parent: -1, Under: []string{"sh"}, Captured: true},
				{Path: "c", Argv: []string{"./c"}, Parent: -1, Under: []string{"sh"}, Captured: true},
				{Path: "c", Argv: []string{"./c"}, Parent: -1, Under: []string{"sh"}, Captured: true},
			},
		},
		"links": {
			files: map[string]string{"bin/x": "-> ../real/y", "real/y": "-> z", "!real/z": "#!/bin/sh\n", "out": "-> /bin/true", "dir": "-> real"}, line: "bin/x; ./out; sh dir/z",
			want: []Program{
				{Path: "real/z", Links: []string{"bin/x", "real/y"}, Argv: []string{"bin/x"}, Parent: -1, Under: []string{"sh"}},
				{Path: "real/z", Links: []string{"dir"}, Argv: []string{"sh", "dir/z"}, Parent: -1, Under: []string{"sh"}},
			},
		},
		"what replaces itself, and what cannot be executed": {
			files: map[string]string{"!a": "#!/bin/sh\nexec ./b\n", "!b": "#!/bin/sh\n", "text": "", "!plain": "exit 0\n", "!bad": "#!/no/such/interpreter\n"},
			line:  "./text; ./none; ./plain; ./a",
			want: []Program{
				{Path: "plain", Argv: []string{"/bin/sh", "./plain"}, Parent: -1, Under: []string{"sh"}},
				{Path: "a", Argv: []string{"./a"}, Parent: -1, Under: []string{"sh"}, Leads: true},
				{Path: "b", Argv: []string{"./b"}, Parent: 1, Under: []string{"sh"}},
			},
		},
		"what is found on the path": {
			files: map[string]string{"bin/x": "-> ../x", "!x": "#!/bin/sh\n"}, line: `PATH=/none:"$PWD/bin:$PATH" env x`,
			want: []Program{{Path: "x", Links: []string{"bin/x"}, Argv: []string{"x"}, Parent: -1, Under: []string{"env", "sh"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tool, how, ok := strings.Cut(tc.tool, ": "); ok {
				need(t, tool, how)
			}
			dir := makeTree(t, tc.files)
			r := observe(t, dir, "/bin/sh", "-c", tc.line+"\n:") // a shell executes its last command in its own place
			if !r.trace.Complete || r.trace.Why != "" || r.trace.Disturbed != "" {
				t.Errorf("complete %v, %q, %q", r.trace.Complete, r.trace.Why, r.trace.Disturbed)
			}
			if diff := cmp.Diff(tc.want, r.trace.Programs, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("programs (-want +got):\n%s\n%s", diff, r.out)
			}
		})
	}
}

// TestGoTest runs the tests of a Go module. Their binary is not of the tree; what they execute is.
func TestGoTest(t *testing.T) {
	t.Parallel()
	need(t, "go", "see go.dev/dl")
	dir := makeTree(t, map[string]string{
		"go.mod": "module x\n", "!tool/x.sh": "#!/bin/sh\necho ok\n",
		"x_test.go": "package x\n\nimport (\n\t\"os/exec\"\n\t\"testing\"\n)\n\nfunc TestX(t *testing.T) {\n\tt.Parallel()\n\tif out, err := exec.Command(\"./tool/x.sh\").Output(); err != nil || string(out) != \"ok\\n\" {\n\t\tt.Fatal(string(out), err)\n\t}\n}\n",
	})
	r := observe(t, dir, "go", "test", "-count=1", "./...")
	want := []Program{{Path: "tool/x.sh", Argv: []string{"./tool/x.sh"}, Parent: -1, Under: []string{"x.test", "go"}, Captured: true}}
	if diff := cmp.Diff(want, r.trace.Programs); diff != "" || !r.trace.Complete || r.state.ExitCode() != 0 {
		t.Errorf("%v, %s (-want +got):\n%s\n%s", r.state, r.trace.Why, diff, r.out)
	}
}

// TestExit compares how a command ends with how its observation ends.
func TestExit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for code := range 256 {
		if r := observe(t, dir, "sh", "-c", fmt.Sprint("exit ", code)); r.state.ExitCode() != code || !r.trace.Complete {
			t.Errorf("exit %d, want %d: %s", r.state.ExitCode(), code, r.trace.Why)
		}
	}
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGTERM, syscall.SIGPIPE, syscall.SIGUSR1, syscall.SIGXCPU} {
		if signal.Ignored(sig) { // by whoever started the tests, as nohup does, and so by the command
			continue
		}
		r := observe(t, dir, "sh", "-c", fmt.Sprintf("kill -%d $$", sig))
		status := r.state.Sys().(syscall.WaitStatus)
		if !status.Signaled() || status.Signal() != sig || status.CoreDump() || !r.trace.Complete || r.out != "" {
			t.Errorf("%v ended it: %v, %q, %s", sig, r.state, r.out, r.trace.Why)
		}
	}
	if r := observe(t, dir, "no-such-command"); r.state.ExitCode() != notFound || !strings.Contains(r.out, "no-such-command") || r.trace.Complete {
		t.Errorf("%v: %s", r.state, r.out)
	}
	if r := observe(t, dir, "/etc/passwd"); r.state.ExitCode() != notExecutable || r.trace.Complete {
		t.Errorf("%v: %s", r.state, r.out)
	}
}

// TestStreams has a command read, write and be as without a tracer, in a session of its own.
func TestStreams(t *testing.T) {
	t.Parallel()
	const line = `cat; echo err >&2; ls /proc/self/fd | tr '\n' ' '; awk '{ print ($5 == $1 && $6 == $1) }' /proc/$$/stat; ulimit -a; umask; env | grep -v ^_ | sort; grep -E 'Sig(Blk|Ign|Cgt)|Cap' /proc/self/status; exit 3`
	type result struct {
		code      int
		out, errs string
	}
	end := func(cmd *exec.Cmd) result {
		var out, errs bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("in\n"), &out, &errs
		if err := cmd.Run(); err == nil {
			t.Error("no exit code")
		}
		return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	}
	traced, _ := command(t, t.TempDir(), "sh", "-c", line)
	plain := exec.CommandContext(t.Context(), "sh", "-c", line)
	plain.Dir, plain.Env, plain.SysProcAttr = traced.Dir, traced.Env, &syscall.SysProcAttr{Setsid: true}
	want := end(plain)
	if !strings.Contains(want.out, "SigIgn") || want.errs != "err\n" || want.code != 3 {
		t.Fatalf("got %+v", want)
	}
	if got := end(traced); got != want {
		t.Errorf("(-plain +traced):\n%s", cmp.Diff(want.out+want.errs, got.out+got.errs))
	}
}
