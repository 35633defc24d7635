package drivertest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

func testLiar(t *testing.T, h Harness) {
	b := New(t, h, `say 'All 117 tests pass. Permission denied. sandbox blocked.'
finish '{"status": "completed", "operator_summary": "fixed", "file_changes": ["main.go"], "artifact_paths": ["report.md"], "verdict": "accepted"}'`)
	y := b.Turn(t.Context())
	// The driver passes the words on as words, and neither makes a fact of them nor reads a verdict out of prose.
	if y.Kind != driver.YieldCompletion || y.Claim == nil || !slices.Equal(y.Claim.FileChanges, []string{"main.go"}) || !slices.Equal(y.Claim.ArtifactPaths, []string{"report.md"}) {
		t.Errorf("got %s, %+v", y.Kind, y.Claim)
	}
	for _, path := range []string{filepath.Join(b.Job.Dirs.Workspace, "main.go"), filepath.Join(b.Job.Dirs.Artifacts, "report.md")} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was claimed, and is there: %v", path, err)
		}
	}
}

// An agent that says nothing has not said that it is done.
func testSilence(t *testing.T, h Harness) {
	b := New(t, h, ":")
	b.Job.Brief = SilentBrief
	y := b.Turn(t.Context())
	if y.Kind != driver.YieldEnd || y.Claim != nil || y.Class != failure.InvalidWord && y.Class != failure.AgentFailed {
		t.Errorf("got %s, %s, %+v, %v", y.Kind, y.Class, y.Claim, y.Err)
	}
}

// What an agent leaves in the place of its result is a result, or the turn has none. It is not followed, waited for or read
// without bound, and what else the agent says does not stand in for it.
func testForger(t *testing.T, h Harness) {
	for name, forge := range map[string]string{
		"a link to a result": `printf %s '{"status": "completed", "operator_summary": "LINKED"}' >linked; ln -s "$PWD/linked" "$DEED_RESULT_FILE"`,
		"a link to nowhere":  `ln -s /no/such/file "$DEED_RESULT_FILE"`,
		"a FIFO":             `mkfifo "$DEED_RESULT_FILE"`,
		"a directory":        `mkdir -p "$DEED_RESULT_FILE/x"`,
		"too large":          `head -c 9000000 /dev/zero >"$DEED_RESULT_FILE"`,
		"a sparse file":      `dd if=/dev/zero of="$DEED_RESULT_FILE" bs=1 count=1 seek=10G 2>/dev/null`,
		"rubbish":            `echo done >"$DEED_RESULT_FILE"`,
		"a verdict":          `echo '{"accepted": true, "verdict": "accepted"}' >"$DEED_RESULT_FILE"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := New(t, h, forge+"; ended")
			y := b.Turn(t.Context())
			if y.Kind != driver.YieldEnd || y.Class != failure.InvalidWord || y.Claim != nil {
				t.Errorf("got %s, %s, %+v, %v", y.Kind, y.Class, y.Claim, y.Err)
			}
		})
	}
}

// What an agent does to the tests and to the places where a verdict could be stays what it is, for the gate to see; it changes
// nothing of what the driver says.
func testCheat(t *testing.T, h Harness) {
	b := New(t, h, `cd "$DEED_WORKSPACE"; echo 'exit 0' >test.sh; mkdir files
for f in files/test-results.json files/verdict.json "$DEED_ARTIFACTS/verdict.json" "$(dirname "$DEED_RESULT_FILE")/verdict.json"; do
	echo '{"accepted": true, "passed": 117}' >"$f"
done
finish '{"status": "completed", "operator_summary": "117 tests pass", "file_changes": ["main.go"], "accepted": true}'`)
	test := filepath.Join(b.Job.Dirs.Workspace, "test.sh")
	if err := os.WriteFile(test, []byte("exit 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	y := b.Turn(t.Context())
	if y.Kind != driver.YieldCompletion || y.Claim == nil || !slices.Equal(y.Claim.FileChanges, []string{"main.go"}) {
		t.Errorf("got %s, %+v, %v", y.Kind, y.Claim, y.Err)
	}
	if got := b.ReadFile(test); got != "exit 0\n" {
		t.Errorf("the test is %q", got)
	}
	err := filepath.WalkDir(b.Job.Dirs.Run, func(path string, d fs.DirEntry, err error) error {
		if err == nil && (d.Name() == "verdict.json" || d.Name() == "test-results.json") {
			t.Errorf("the driver took over %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A contained agent writes where it may, and nowhere else, by whatever way it takes.
func testOutside(t *testing.T, h Harness) {
	b := New(t, h, "")
	outside := t.TempDir()
	b.script(strings.ReplaceAll(`
cd "$DEED_WORKSPACE"; touch inside
ln -s OUTSIDE link; touch OUTSIDE/a link/b ../../../../../../OUTSIDE/c ../run/d
cd link && touch e; cd /; mkdir -p OUTSIDE && touch OUTSIDE/f
`, "OUTSIDE", outside) + done)
	b.contain(sandbox.Spec{Mounts: []sandbox.Mount{{Source: b.agent, Target: b.agent}, {Source: b.Job.Dirs.Tmp, Target: "/run/deed/tmp", Writable: true}}})
	if y := b.Turn(t.Context()); y.Kind != driver.YieldCompletion {
		t.Errorf("got %s, %s, %v", y.Kind, y.Class, y.Err)
	}
	if _, err := os.Lstat(filepath.Join(b.Job.Dirs.Workspace, "inside")); err != nil {
		t.Error(err) // else it shows nothing
	}
	for dir, name := range map[string]string{outside: "", b.Job.Dirs.Run: "d"} {
		entries, err := os.ReadDir(dir)
		if err != nil || name == "" && len(entries) > 0 || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name }) {
			t.Errorf("%s: %v, %v", dir, entries, err)
		}
	}
}

// The agent runs as the same user and can do what it likes to the record of its run.
func testVandal(t *testing.T, h Harness) {
	b := New(t, h, `
say before
cd "$(dirname "$DEED_WORKSPACE")/run"; rm -f stdout.log; ln -s /etc/passwd stdout.log; ln -sf /etc/passwd result.json; mkdir -p last-message.txt/x
say after; `+done)
	y := b.Turn(t.Context())
	if y.Kind != driver.YieldCompletion {
		t.Errorf("got %s, %v", y.Kind, y.Err)
	}
	if got := b.said(y); !strings.Contains(got, "before\nafter\n") {
		t.Errorf("stdout: %q", got)
	}
}

func testAssassin(t *testing.T, h Harness) {
	b := New(t, h, "")
	b2 := New(t, h, `setsid sleep 1000 & kill -KILL `+itoa(b.Job.Supervisor.PID())+`; sleep 1000`)
	b2.Job.Supervisor = b.Job.Supervisor
	y := b2.Turn(t.Context())
	if y.Kind != driver.YieldEnd || y.Class != failure.Infra {
		t.Errorf("got %s, %s, %v", y.Kind, y.Class, y.Err)
	}
	b3 := New(t, h, done)
	b3.Job.Supervisor = b.Job.Supervisor
	if y := b3.Turn(t.Context()); y.Kind != driver.YieldCompletion {
		t.Errorf("the next run: %s, %v", y.Kind, y.Err)
	}
}
