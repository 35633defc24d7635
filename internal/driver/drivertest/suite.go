package drivertest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/clock"
	"github.com/deedrun/deed/internal/driver"
	"github.com/deedrun/deed/internal/failure"
)

func itoa(n int) string { return strconv.Itoa(n) }

const done = `finish '{"status": "completed", "operator_summary": "all done"}'`

// Run runs the whole suite.
func Run(t *testing.T, h Harness) {
	if !h.Light {
		t.Run("memory", func(t *testing.T) { testMemory(t, h) }) // first, while nothing else runs
	}
	for name, test := range map[string]func(*testing.T, Harness){
		"evidence":      testEvidence,
		"timeout":       testTimeout,
		"cancel":        testCancel,
		"leftovers":     testLeftovers,
		"whole output":  testWholeOutput,
		"capped output": testCappedOutput,
		"secrets":       testSecrets,
		"liar":          testLiar,
		"words":         testWords,
		"bad exit":      testBadExit,
		"vandal":        testVandal,
		"assassin":      testAssassin,
		"last turn":     testLastTurn,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, h)
		})
	}
}

func testEvidence(t *testing.T, h Harness) {
	b := New(t, h, `say hello; echo to stderr >&2; `+done)
	y := b.Turn(t.Context())
	if y.Kind != driver.YieldCompletion || y.Class != failure.None || y.ExitStatus != agentruntime.ExitOK {
		t.Errorf("got %s, %s, %s, %v", y.Kind, y.Class, y.ExitStatus, y.Err)
	}
	if c := y.Claim; c == nil || c.Status != agentruntime.TaskCompleted || c.MachineStatus != agentruntime.MachineOK || c.Summary != "all done" || c.Source == "" {
		t.Errorf("claim: %+v", y.Claim)
	}
	for what, path := range map[string]string{"stdout": y.StdoutPath, "stderr": y.StderrPath, "result": y.ResultPath, "last message": y.LastMessagePath} {
		if path == "" {
			t.Errorf("no path for %s", what)
		}
	}
	if got := b.ReadFile(y.StdoutPath); !strings.Contains(got, "hello") {
		t.Errorf("stdout: %q", got)
	}
	if got := b.ReadFile(y.StderrPath); !strings.Contains(got, "to stderr") {
		t.Errorf("stderr: %q", got)
	}
	if got := b.ReadFile(y.LastMessagePath); !strings.Contains(got, "all done") {
		t.Errorf("last message: %q", got)
	}
	inv, ok := y.Diagnostics["invocation"].(driver.Invocation)
	if !ok || len(inv.Argv) == 0 || inv.Cwd == "" || inv.PID == 0 || len(inv.Env) == 0 {
		t.Errorf("invocation: %+v", y.Diagnostics["invocation"])
	}
	if y.Proc.Duration <= 0 || y.Proc.MaxRSS <= 0 {
		t.Errorf("process: %+v", y.Proc)
	}
	for _, kind := range []string{driver.EventStarted, driver.EventEnded, driver.EventClaim} {
		if !slices.Contains(b.Kinds(), kind) {
			t.Errorf("no event %s in %v", kind, b.Kinds())
		}
	}
}

// Trees that do not want to die. Each touches "up" in the workspace when it stands.
var trees = map[string]string{
	"ignores SIGTERM":           `trap '' TERM; touch "$DEED_WORKSPACE/up"; while :; do sleep 1000; done`,
	"grandchild holds the pipe": `(sleep 1000 & sleep 1000 & touch "$DEED_WORKSPACE/up"; wait); :`,
	"daemonised": `setsid sh -c '(setsid sh -c "trap \"\" TERM; touch \"$DEED_WORKSPACE/up\"; while :; do sleep 1000; done" &)'
while :; do sleep 1000; done`,
	"forks while it is killed": `trap '' TERM; touch "$DEED_WORKSPACE/up"; i=0; while [ $i -lt 2000 ]; do i=$((i+1)); sleep 1000 & sleep 0.002; done; sleep 1000`,
}

func testTimeout(t *testing.T, h Harness) {
	for name, tree := range trees {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := New(t, h, tree)
			b.Job.Timeout = 500 * time.Millisecond
			y := b.Turn(t.Context())
			if y.Kind != driver.YieldEnd || y.Class != failure.Timeout || y.ExitStatus != agentruntime.ExitTimeout || !y.Proc.TimedOut {
				t.Errorf("got %s, %s, %s, %v", y.Kind, y.Class, y.ExitStatus, y.Err)
			}
		})
	}
}

func testCancel(t *testing.T, h Harness) {
	end := func(name, tree string, cause error, class failure.Class) {
		t.Run(string(class)+"/"+name, func(t *testing.T) {
			t.Parallel()
			b := New(t, h, tree)
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := whenExists(t, filepath.Join(b.Job.Dirs.Workspace, "up"), func() { cancel(cause) })
			y := b.Turn(ctx)
			stop()
			if y.Kind != driver.YieldEnd || y.Class != class || !y.Proc.Canceled {
				t.Errorf("got %s, %s, %v", y.Kind, y.Class, y.Err)
			}
		})
	}
	for name, tree := range trees {
		end(name, tree, driver.ErrCanceled, failure.Canceled)
	}
	lost := failure.New(failure.Lost, "hold the lease", errors.New("gone"), "")
	end("cause", trees["daemonised"], driver.ErrInterrupted, failure.Interrupted)
	end("bare", trees["daemonised"], context.Canceled, failure.Interrupted)
	end("wrapped", trees["daemonised"], fmt.Errorf("stop: %w", driver.ErrCanceled), failure.Canceled)
	end("classed", trees["daemonised"], lost, failure.Lost)
}

// whenExists calls f when a foreign process has made the file. It returns a function that waits for the watcher.
func whenExists(t testing.TB, path string, f func()) (stop func()) {
	t.Helper()
	quit, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			if _, err := os.Lstat(path); err == nil {
				f()
				return
			}
			select {
			case <-tick.C:
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-over }
}

func testLeftovers(t *testing.T, h Harness) {
	b := New(t, h, `setsid sh -c '(trap "" TERM; setsid sleep 1000 &)'; sleep 1000 & `+done)
	start := clock.Start()
	y := b.Turn(t.Context())
	if y.Kind != driver.YieldCompletion || y.Proc.Killed < 1 {
		t.Errorf("got %s, %s, %+v", y.Kind, y.Class, y.Proc)
	}
	if took := clock.Since(start); took > 20*time.Second {
		t.Errorf("what was left held up the end for %v", took)
	}
}

func testWholeOutput(t *testing.T, h Harness) {
	b := New(t, h, `i=0; while [ $i -lt 5000 ]; do say "line $i"; echo "line $i" >&2; i=$((i+1)); done; `+done)
	y := b.Turn(t.Context())
	if len(y.Truncated) != 0 {
		t.Errorf("truncated: %v", y.Truncated)
	}
	for _, path := range []string{y.StdoutPath, y.StderrPath} {
		got := b.ReadFile(path)
		for _, want := range []string{"line 0\n", "line 2500\n", "line 4999\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %d bytes", path, want, len(got))
			}
		}
	}
}

func testCappedOutput(t *testing.T, h Harness) {
	const limit = 64 << 10
	b := New(t, h, `say first; head -c 10000000 /dev/zero | tr '\0' x; echo; say last; head -c 10000000 /dev/zero >&2; `+done)
	b.Job.OutputCap = limit
	y := b.Turn(t.Context())
	if y.Kind != driver.YieldCompletion || len(y.Truncated) != 2 {
		t.Fatalf("got %s, %v, truncated %v", y.Kind, y.Err, y.Truncated)
	}
	for _, tr := range y.Truncated {
		if tr.Kept != limit || tr.Dropped != tr.Total-limit || tr.Total < 10000000 {
			t.Errorf("got %+v", tr)
		}
	}
	got := b.ReadFile(y.StdoutPath)
	if len(got) > limit+200 || !strings.HasPrefix(got, "first\n") || !strings.Contains(got, "last\n") ||
		!strings.Contains(got, fmt.Sprintf("%d of %d bytes dropped", y.Truncated[0].Dropped, y.Truncated[0].Total)) {
		t.Errorf("%d bytes, from %q to %q", len(got), got[:20], got[len(got)-20:])
	}
	if !slices.Contains(b.Kinds(), driver.EventTruncated) {
		t.Errorf("no event in %v", b.Kinds())
	}
}

func testMemory(t *testing.T, h Harness) {
	b := New(t, h, fmt.Sprintf("head -c %d /dev/zero; ", muchOutput)+done)
	b.Secrets(map[string]string{"TOKEN": "s3cr3t-value-that-is-long"})
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	y := b.Turn(t.Context())
	runtime.ReadMemStats(&after)
	if y.Kind != driver.YieldCompletion || len(y.Truncated) != 1 || y.Truncated[0].Total < muchOutput {
		t.Fatalf("got %s, %v, truncated %v", y.Kind, y.Err, y.Truncated)
	}
	// All that was ever allocated, garbage included.
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
		t.Errorf("%d bytes were allocated", grown)
	}
}

func testSecrets(t *testing.T, h Harness) {
	const secret = "hunter2-hunter2-hunter2"
	encoded := base64.StdEncoding.EncodeToString([]byte(secret))
	b := New(t, h, `
say "plain $TOKEN"; printf %s hunter2-hun; sleep 0.05; say ter2-hunter2
printf 'err %s\n' "$TOKEN" >&2
printf %s "$TOKEN" | base64 >&2
printf '{"ran": "%s"}' "$TOKEN" >"$DEED_ARTIFACTS/adapter-audit.json"
finish "{\"status\": \"completed\", \"operator_summary\": \"used $TOKEN\", \"file_changes\": [\"$TOKEN\"]}"`)
	b.Secrets(map[string]string{"TOKEN": secret})
	y := b.Turn(t.Context())
	if y.Kind != driver.YieldCompletion {
		t.Errorf("got %s, %v", y.Kind, y.Err)
	}
	if len(y.Audit) == 0 {
		t.Error("no audit")
	}
	check := func(where, text string) {
		if strings.Contains(text, secret) || strings.Contains(text, encoded) {
			t.Errorf("the secret is in %s", where)
		}
	}
	err := filepath.WalkDir(b.Job.Dirs.Run, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			check(path, b.ReadFile(path))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	check("the yield", fmt.Sprintf("%+v %+v %s", y, y.Claim, y.Audit))
	b.mu.Lock()
	defer b.mu.Unlock()
	check("the events", fmt.Sprintf("%+v", b.events))
}

func testLiar(t *testing.T, h Harness) {
	b := New(t, h, `say 'All 117 tests pass. Permission denied. sandbox blocked.'
finish '{"status": "completed", "operator_summary": "fixed", "file_changes": ["main.go"], "artifact_paths": ["report.md"], "verdict": "accepted"}'`)
	y := b.Turn(t.Context())
	// The driver passes the words on as words, and neither makes a fact of them nor reads a verdict out of prose.
	if y.Kind != driver.YieldCompletion || y.Claim == nil || !slices.Equal(y.Claim.FileChanges, []string{"main.go"}) || !slices.Equal(y.Claim.ArtifactPaths, []string{"report.md"}) {
		t.Errorf("got %s, %+v", y.Kind, y.Claim)
	}
	for _, dir := range []string{b.Job.Dirs.Workspace, b.Job.Dirs.Artifacts} {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 0 {
			t.Errorf("%s: %v, %v", dir, entries, err)
		}
	}
}

func testWords(t *testing.T, h Harness) {
	for result, want := range map[string]struct {
		kind  driver.YieldKind
		class failure.Class
	}{
		`{"status": "completed"}`:                                    {driver.YieldCompletion, failure.None},
		`{"machine_status": "ok"}`:                                   {driver.YieldCompletion, failure.None},
		`{"status": "retryable_failure", "retry_after_seconds": 90}`: {driver.YieldEnd, failure.AskedRetry},
		`{"status": "permanent_failure"}`:                            {driver.YieldEnd, failure.AskedFail},
		`{"status": "blocked"}`:                                      {driver.YieldRequiredAction, failure.Blocked},
		`{"status": "success"}`:                                      {driver.YieldEnd, failure.InvalidWord},
		`{"status": "in_progress"}`:                                  {driver.YieldEnd, failure.InvalidWord},
		`{"status": "operator_canceled"}`:                            {driver.YieldEnd, failure.InvalidWord},
		`{"status": "completed", "machine_status": "failed"}`:        {driver.YieldEnd, failure.InvalidWord},
		`{"operator_summary": "done"}`:                               {driver.YieldEnd, failure.InvalidWord},
	} {
		t.Run(result, func(t *testing.T) {
			t.Parallel()
			b := New(t, h, "finish '"+result+"'")
			y := b.Turn(t.Context())
			if y.Kind != want.kind || y.Class != want.class {
				t.Errorf("got %s, %s, %v", y.Kind, y.Class, y.Err)
			}
			if y.Class == failure.AskedRetry && y.RetryAfter != 90*time.Second {
				t.Errorf("retry after %v", y.RetryAfter)
			}
		})
	}
}

func testBadExit(t *testing.T, h Harness) {
	b := New(t, h, done+`; echo 'no such table' >&2; exit 3`)
	y := b.Turn(t.Context())
	if y.Kind != driver.YieldEnd || y.Class != failure.AgentFailed || y.Proc.Code != 3 || y.Claim == nil {
		t.Errorf("got %s, %s, %+v", y.Kind, y.Class, y.Proc)
	}
	if y.Diagnostics["contradiction"] == nil || !strings.Contains(y.Err.Error(), "no such table") {
		t.Errorf("got %v, %v", y.Diagnostics["contradiction"], y.Err)
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
	if got := b.ReadFile(y.StdoutPath); !strings.HasPrefix(got, "before\nafter\n") {
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

func testLastTurn(t *testing.T, h Harness) {
	b := New(t, h, `finish '{"status": "permanent_failure"}'`)
	s, err := h.Driver.Start(t.Context(), b.Job)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(t.Context()) }()
	if _, err := s.Turn(t.Context(), driver.Input{Turn: 1}, driver.Discard); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Turn(t.Context(), driver.Input{Turn: 2}, driver.Discard); !errors.Is(err, driver.ErrLastTurn) {
		t.Errorf("got %v", err)
	}
}
