package drivertest

import (
	"cmp"
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
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/failure"
)

func itoa(n int) string { return strconv.Itoa(n) }

const done = `finish '{"status": "completed", "operator_summary": "all done"}'`

// A row is one thing that every driver must stand.
type row struct {
	name string
	test func(*testing.T, Harness)
	// not says for whom the row makes no sense, and why.
	not  map[Part]string
	slow bool // it is run by itself, and not by a Light harness
}

const (
	oneAnswer = "what it prints is one answer of another contract, which its own tests hold it to"
	noClaims  = "an answer of its contract names no changed files"
)

const noProcess = "nothing of the agent runs on this machine"

var rows = []row{
	{name: "memory", test: testMemory, slow: true, not: map[Part]string{Provider: oneAnswer}}, // first, while nothing else runs
	{name: "evidence", test: testEvidence},
	{name: "timeout", test: testTimeout},
	{name: "cancel", test: testCancel},
	{name: "leftovers", test: testLeftovers, not: map[Part]string{Model: noProcess}},
	{name: "whole output", test: testWholeOutput},
	{name: "capped output", test: testCappedOutput, not: map[Part]string{Provider: oneAnswer}},
	{name: "full disk", test: testFullDisk},
	{name: "secrets", test: testSecrets, not: map[Part]string{Provider: oneAnswer}},
	{name: "liar", test: testLiar, not: map[Part]string{Provider: noClaims}},
	{name: "words", test: testWords, not: map[Part]string{Provider: oneAnswer}},
	{name: "silence", test: testSilence},
	{name: "bad exit", test: testBadExit, not: map[Part]string{
		Command: "a command that fails is told to the model, and is the agent's to deal with: the agent has no exit of its own",
		Model:   "an answer has no exit code; one that breaks off is a fault of the service",
	}},
	{name: "forger", test: testForger, not: map[Part]string{Model: "there is no result file: " + noProcess, Provider: oneAnswer}},
	{name: "cheat", test: testCheat, not: map[Part]string{Model: "there is no workspace for it: " + noProcess, Provider: noClaims}},
	{name: "vandal", test: testVandal, not: map[Part]string{Model: noProcess}},
	{name: "outside", test: testOutside, not: map[Part]string{Model: noProcess}},
	{name: "assassin", test: testAssassin, not: map[Part]string{Model: noProcess}},
	{name: "last turn", test: testLastTurn},
}

// Run runs the whole suite. A row that makes no sense for the driver is in the list of results all the same, with the reason.
func Run(t *testing.T, h Harness) {
	h.Part = cmp.Or(h.Part, Program)
	for _, r := range rows {
		if r.slow && h.Light {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			if why := r.not[h.Part]; why != "" {
				t.Skip("not for this driver: " + why)
			}
			if !r.slow {
				t.Parallel()
			}
			r.test(t, h)
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
	for what, path := range map[string]string{"stdout": y.StdoutPath, "result": y.ResultPath, "last message": y.LastMessagePath} {
		if path == "" {
			t.Errorf("no path for %s", what)
		}
	}
	if got := b.said(y); !strings.Contains(got, "hello") {
		t.Errorf("stdout: %q", got)
	}
	if got := b.ReadFile(y.LastMessagePath); !strings.Contains(got, "all done") {
		t.Errorf("last message: %q", got)
	}
	inv, ok := y.Diagnostics["invocation"].(driver.Invocation)
	if !ok || len(inv.Argv) == 0 || inv.Cwd == "" || y.Proc.Duration <= 0 || !slices.Contains(b.Kinds(), driver.EventClaim) {
		t.Errorf("invocation: %+v, process: %+v, events: %v", y.Diagnostics["invocation"], y.Proc, b.Kinds())
	}
	if h.Part == Model {
		return
	}
	if got := b.written(y); !strings.Contains(got[len(got)-1], "to stderr") {
		t.Errorf("stderr: %q", got)
	}
	if inv.PID == 0 || len(inv.Env) == 0 {
		t.Errorf("invocation: %+v, process: %+v", inv, y.Proc)
	}
	for _, kind := range []string{driver.EventStarted, driver.EventEnded} {
		if !slices.Contains(b.Kinds(), kind) {
			t.Errorf("no event %s in %v", kind, b.Kinds())
		}
	}
}

// written is what was recorded of each stream that the script wrote to. The streams of a command are one, and what is too much
// to be told to the model is in a file of its own.
func (b *Bench) written(y driver.Yield) []string {
	b.T.Helper()
	switch b.H.Part {
	case Model:
		return []string{b.ReadFile(y.StdoutPath)}
	case Command:
		file := filepath.Join(b.Job.Dirs.Run, "tools", "001.txt")
		if _, err := os.Lstat(file); err != nil {
			file = y.StdoutPath
		}
		return []string{b.ReadFile(file)}
	}
	if b.H.Part == Provider {
		return []string{b.ReadFile(y.StderrPath)}
	}
	return []string{b.ReadFile(y.StdoutPath), b.ReadFile(y.StderrPath)}
}

// said is what was recorded of what the script said.
func (b *Bench) said(y driver.Yield) string {
	b.T.Helper()
	if b.H.Part == Provider {
		return b.ReadFile(y.StderrPath)
	}
	return b.ReadFile(y.StdoutPath)
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
	for i, got := range b.written(y) {
		for _, want := range []string{"line 0\n", "line 2500\n", "line 4999\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("stream %d: no %q in %d bytes", i+1, want, len(got))
			}
		}
	}
}

func testCappedOutput(t *testing.T, h Harness) {
	const limit = 64 << 10
	b := New(t, h, `say first; head -c 10000000 /dev/zero | tr '\0' x; head -c 10000000 /dev/zero >&2; echo; say last; `+done)
	b.Job.OutputCap = limit
	y := b.Turn(t.Context())
	streams := b.written(y)
	if y.Kind != driver.YieldCompletion || len(y.Truncated) != len(streams) {
		t.Fatalf("got %s, %v, truncated %v", y.Kind, y.Err, y.Truncated)
	}
	for _, tr := range y.Truncated {
		if tr.Kept != limit || tr.Dropped != tr.Total-limit || tr.Total < 10000000 {
			t.Errorf("got %+v", tr)
		}
	}
	got := streams[0]
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
	much, most := int64(muchOutput), uint64(64<<20)
	switch h.Part {
	case Command:
		much = 63 << 20 // at 64 MiB it is ended
	case Model:
		most = 256 << 20 // an answer is put together in memory; its bound is the driver's
	}
	switch {
	case h.Part == Model:
		if y.Kind != driver.YieldEnd || y.Claim != nil {
			t.Errorf("an answer without end was taken: %s, %+v", y.Kind, y.Claim)
		}
	case y.Kind != driver.YieldCompletion || len(y.Truncated) != 1 || y.Truncated[0].Total < much:
		t.Fatalf("got %s, %v, truncated %v", y.Kind, y.Err, y.Truncated)
	case h.Part == Command && y.Truncated[0].Total > 65<<20:
		t.Errorf("a flood of %d bytes was taken in", y.Truncated[0].Total)
	}
	// All that was ever allocated, garbage included.
	if grown := after.TotalAlloc - before.TotalAlloc; grown > most {
		t.Errorf("%d bytes were allocated", grown)
	}
}

func testSecrets(t *testing.T, h Harness) {
	encoded := base64.StdEncoding.EncodeToString([]byte(Secret))
	b := New(t, h, `
say "plain $TOKEN"; printf %s hunter2-hun; sleep 0.05; say ter2-hunter2
printf 'err %s\n' "$TOKEN" >&2
printf %s "$TOKEN" | base64 >&2
printf '{"ran": "%s"}' "$TOKEN" >"$DEED_ARTIFACTS/adapter-audit.json"
finish "{\"status\": \"completed\", \"operator_summary\": \"used $TOKEN\", \"file_changes\": [\"$TOKEN\"]}"`)
	b.Secrets(map[string]string{"TOKEN": Secret})
	y := b.Turn(t.Context())
	if y.Kind != driver.YieldCompletion {
		t.Errorf("got %s, %v", y.Kind, y.Err)
	}
	if len(y.Audit) == 0 && h.Part == Program {
		t.Error("no audit")
	}
	check := func(where, text string) {
		if strings.Contains(text, Secret) || strings.Contains(text, encoded) {
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
			if h.Part == Model && !strings.Contains(result, "status") { // words like any others: the answer is the work
				want.kind, want.class = driver.YieldCompletion, failure.None
			}
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
