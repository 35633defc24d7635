package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inModule makes a module of the given files and works in it. It changes the directory of the process, so the
// tests of this package cannot run in parallel.
func inModule(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example.test/m\n\ngo 1.26\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

// testRun runs testrun and returns its exit status, all that it printed, and the last line of that.
func testRun(t *testing.T, strict bool, args ...string) (status int, output, last string) {
	t.Helper()
	var out, stderr bytes.Buffer
	status = run(args, strict, &out, &stderr)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	return status, out.String() + stderr.String(), lines[len(lines)-1]
}

func TestSummary(t *testing.T) {
	const pass = "package m\n\nimport \"testing\"\n\nfunc TestPass(t *testing.T) { t.Run(\"sub\", func(t *testing.T) {}) }\n"
	const leftOut = "package m\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { if testing.Short() { t.Skip(\"short: needs a sandbox\") } }\n"
	for _, tt := range []struct {
		name   string
		files  map[string]string
		strict bool
		args   []string
		status int
		last   string
		want   []string // must be in the output
		never  []string // must not be
	}{
		{
			name:  "all pass",
			files: map[string]string{"a_test.go": pass},
			args:  []string{"./..."},
			last:  "2 passed, 0 failed, 0 skipped",
		},
		{
			name: "a failure shows its own output and no other",
			files: map[string]string{
				"a_test.go": pass,
				"b_test.go": "package m\n\nimport \"testing\"\n\nfunc TestFail(t *testing.T) { t.Error(\"it broke\") }\n" +
					"func TestQuiet(t *testing.T) { t.Log(\"all is well\") }\n",
			},
			args:   []string{"./..."},
			status: 1,
			last:   "3 passed, 1 failed, 0 skipped",
			want:   []string{"FAIL  example.test/m TestFail", "it broke", "\nfailed:\n  example.test/m TestFail\n"},
			never:  []string{"all is well"},
		},
		{
			name:  "a missing tool is a skip here",
			files: map[string]string{"a_test.go": "package m\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.Skip(\"missing tool: x: apt-get install x\") }\n"},
			args:  []string{"./..."},
			last:  "0 passed, 0 failed, 1 skipped",
			want:  []string{"  1 × missing tool: x: apt-get install x\n", "      example.test/m TestX\n"},
		},
		{
			name:   "a missing tool is a failure in CI, and all of its reason is told",
			files:  map[string]string{"a_test.go": "package m\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.Skip(\"missing tool: x: apt-get install x\\nfor another reason\") }\n"},
			strict: true,
			args:   []string{"./..."},
			status: 1,
			last:   "0 passed, 1 failed, 0 skipped",
			want:   []string{"example.test/m TestX: missing tool: x: apt-get install x", "for another reason"},
		},
		{
			name:  "a test that -short leaves out is no pass",
			files: map[string]string{"a_test.go": leftOut},
			args:  []string{"--", "-short", "./..."},
			last:  "0 passed, 0 failed, 1 skipped",
			want:  []string{"  1 × short: needs a sandbox\n"},
			never: []string{"example.test/m TestX\n"},
		},
		{
			name:   "a test that -short leaves out is a failure in CI",
			files:  map[string]string{"a_test.go": leftOut},
			strict: true,
			args:   []string{"--", "-short", "./..."},
			status: 1,
			last:   "0 passed, 1 failed, 0 skipped",
			want:   []string{"example.test/m TestX: short: needs a sandbox"},
		},
		{
			// Neither ends without the other.
			name:  "checks run concurrently with the tests",
			files: map[string]string{"a_test.go": "package m\n\nimport (\n\t\"os\"\n\t\"syscall\"\n\t\"testing\"\n)\n\nfunc TestX(t *testing.T) {\n\tif err := syscall.Mkfifo(\"pipe\", 0o600); err != nil {\n\t\tt.Fatal(err)\n\t}\n\tf, err := os.OpenFile(\"pipe\", os.O_WRONLY, 0)\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n\tf.Close()\n}\n"},
			args:  []string{"-check", "waits=for i in $(seq 600); do [ -p pipe ] && exec timeout 60 cat pipe; sleep 0.1; done; exit 1", "./..."},
			last:  "2 passed, 0 failed, 0 skipped",
		},
		{
			name:   "another skip is a skip in CI too",
			files:  map[string]string{"a_test.go": "package m\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.Skip(\"linux only\") }\n"},
			strict: true,
			args:   []string{"./..."},
			last:   "0 passed, 0 failed, 1 skipped",
			want:   []string{"  1 × linux only\n"},
		},
		{
			name:   "a package that does not build is one failure",
			files:  map[string]string{"a.go": "package m\n\nvar x int = \"s\"\n", "a_test.go": pass},
			args:   []string{"./..."},
			status: 1,
			last:   "0 passed, 1 failed, 0 skipped",
			want:   []string{"a.go:3", "cannot use"},
		},
		{
			name:   "a panic fails the test that ran",
			files:  map[string]string{"a_test.go": "package m\n\nimport \"testing\"\n\nfunc TestPanic(t *testing.T) { panic(\"oh no\") }\n"},
			args:   []string{"./..."},
			status: 1,
			last:   "0 passed, 1 failed, 0 skipped",
			want:   []string{"oh no", "TestPanic"},
		},
		{
			name:   "a test that exits the process did not end",
			files:  map[string]string{"a_test.go": "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestExit(t *testing.T) { os.Exit(3) }\n"},
			args:   []string{"./..."},
			status: 1,
			last:   "0 passed, 1 failed, 0 skipped",
			want:   []string{"TestExit"},
		},
		{
			name:   "TestMain that fails is a failure though its tests passed",
			files:  map[string]string{"a_test.go": pass, "m_test.go": "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { m.Run(); println(\"a leak\"); os.Exit(1) }\n"},
			args:   []string{"./..."},
			status: 1,
			last:   "2 passed, 1 failed, 0 skipped",
			want:   []string{"a leak"},
		},
		{
			name:   "nothing to run is a failure",
			files:  map[string]string{"a.go": "package m\n"},
			args:   []string{"./..."},
			status: 1,
			last:   "0 passed, 1 failed, 0 skipped",
		},
		{
			name:   "a pattern that matches no package is a failure",
			files:  map[string]string{"a.go": "package m\n"},
			args:   []string{"./nothere"},
			status: 1,
			last:   "0 passed, 1 failed, 0 skipped",
		},
		{
			name:   "checks count, and all of them run",
			files:  map[string]string{"a_test.go": pass},
			args:   []string{"-check", "bad=echo what is wrong; exit 3", "-check", "good=true", "-check", "gone=echo missing tool: x: get it; exit 77", "./..."},
			status: 1,
			last:   "3 passed, 1 failed, 1 skipped",
			want:   []string{"FAIL  check bad: exit status 3 (", "\n    what is wrong\n", "  1 × missing tool: x: get it\n"},
		},
		{
			name:   "a check that misses a tool fails in CI",
			files:  map[string]string{},
			strict: true,
			args:   []string{"-check", "gone=echo missing tool: x: get it; exit 77"},
			status: 1,
			last:   "0 passed, 1 failed, 0 skipped",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inModule(t, tt.files)
			status, output, last := testRun(t, tt.strict, tt.args...)
			if status != tt.status || last != tt.last {
				t.Errorf("status %d and %q, want %d and %q, in:\n%s", status, last, tt.status, tt.last, output)
			}
			for _, s := range tt.want {
				if !strings.Contains(output, s) {
					t.Errorf("no %q in:\n%s", s, output)
				}
			}
			for _, s := range tt.never {
				if strings.Contains(output, s) {
					t.Errorf("%q in:\n%s", s, output)
				}
			}
		})
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-check", "noname"}, {"-nosuchflag"}} {
		if status, output, _ := testRun(t, false, args...); status != 2 {
			t.Errorf("%q: status %d, want 2, in:\n%s", args, status, output)
		}
	}
}
