package store_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/pgtest"
	"github.com/deedrun/deed/internal/store/storetest"
)

// helper is the other process of the tests below. It prints a line after each acknowledged effect and never returns.
func helper(mode string) {
	ctx := context.Background()
	s, err := store.Open(ctx, os.Getenv("DEED_STORE_DSN"), store.Options{})
	if mode == "open" {
		fmt.Println(err)
		os.Exit(0)
	}
	check := func(err error) {
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}
	check(err)
	limit := -1
	if mode == "three" {
		limit, mode = 3, "enqueue"
	}
	for n := 0; n != limit; n++ {
		task := store.NewTask{
			Intent:      agentruntime.TaskIntent{TaskType: "t", Source: "s", Payload: json.RawMessage(`{}`)},
			MaxAttempts: 1,
		}
		if mode == "enqueue" {
			out, err := s.Enqueue(ctx, task, task)
			check(err)
			fmt.Printf("%s %s\n", out[0].TaskID, out[1].TaskID)
			continue
		}
		c, err := s.EnqueueClaimed(ctx, task, store.ClaimOptions{RunnerID: "helper", Lease: time.Hour})
		check(err)
		check(s.Begin(ctx, c.Ref, store.Begin{}))
		check(s.Settle(ctx, c.Ref, store.Settlement{
			State: "completed", Status: agentruntime.TaskCompleted,
			Outcome: &agentruntime.TaskOutcome{Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK},
		}))
		fmt.Println(c.Ref.TaskID)
	}
	check(s.Close())
	os.Exit(0)
}

func helperCommand(t *testing.T, mode, dsn string, prefix ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append(prefix, self)
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "DEED_STORE_HELPER="+mode, "DEED_STORE_DSN="+dsn)
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// killAfter runs the helper, kills it after so many lines, and returns every line that it printed.
func killAfter(t *testing.T, mode, dsn string, lines int) []string {
	t.Helper()
	cmd := helperCommand(t, mode, dsn)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for in := bufio.NewScanner(out); in.Scan(); {
		if strings.HasPrefix(in.Text(), "error") {
			t.Error(in.Text())
		}
		if got = append(got, in.Text()); len(got) == lines {
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || len(got) < lines {
		t.Fatalf("the helper ended by itself after %d lines: %v", len(got), err)
	}
	return got
}

func bothEngines(t *testing.T, run func(*testing.T, storetest.Target)) {
	t.Parallel()
	for name, target := range map[string]storetest.Target{"SQLite": {DSN: sqliteDSN}, "Postgres": {DSN: pgtest.DSN}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, target)
		})
	}
}

// An id that was returned survives kill -9.
func TestKilledEnqueuerLosesNothing(t *testing.T) {
	bothEngines(t, func(t *testing.T, target storetest.Target) {
		dsn := target.DSN(t)
		var ids []string
		for _, lines := range []int{1, 7, 60} {
			for _, l := range killAfter(t, "enqueue", dsn, lines) {
				ids = append(ids, strings.Fields(l)...)
			}
		}
		s := open(t, dsn)
		for _, id := range ids {
			if _, err := s.Task(t.Context(), id); err != nil {
				t.Fatalf("an acknowledged task is gone: %v", err)
			}
		}
		// All or nothing: whatever was not acknowledged came in pairs, each with its event.
		n, err := s.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		total := n[agentruntime.TaskPending]
		ev, err := s.Events(t.Context(), store.EventFilter{Limit: 100_000})
		if err != nil {
			t.Fatal(err)
		}
		if total%2 != 0 || int(total) < len(ids) || int64(len(ev)) != total {
			t.Fatalf("%d tasks and %d events for %d acknowledged", total, len(ev), len(ids))
		}
	})
}

// Killed anywhere between enqueue, claim, begin and settle, the store stays whole and every task has its wake-up.
func TestKilledRunnerLeavesAWholeStore(t *testing.T) {
	bothEngines(t, func(t *testing.T, target storetest.Target) {
		dsn := target.DSN(t)
		var settled []string
		for _, lines := range []int{1, 2, 3, 5, 11, 23} {
			settled = append(settled, killAfter(t, "settle", dsn, lines)...)
		}
		s := open(t, dsn)
		for _, id := range settled {
			task, err := s.Task(t.Context(), id)
			if err != nil || task.Record.Status != agentruntime.TaskCompleted {
				t.Fatalf("task %s: %s %v", id, task.Record.Status, err)
			}
		}
		if faults, err := s.Audit(t.Context()); err != nil || len(faults) > 0 {
			t.Fatalf("audit: %v %v", faults, err)
		}
		lost, err := s.Lost(t.Context(), []string{"helper"})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lost {
			in := store.Settlement{State: "failed_terminal", Class: "lost", Status: agentruntime.TaskRetryableFailure, LastError: "lost"}
			if err := s.Settle(t.Context(), l.Ref, in); err != nil {
				t.Fatal(err)
			}
		}
		n, err := s.Counts(t.Context())
		if err != nil || n[agentruntime.TaskRunning] != 0 || n[agentruntime.TaskPending] != 0 {
			t.Fatalf("counts: %v %v", n, err)
		}
	})
}

// The log is on the disk before an id is returned: each line of the helper comes after an fsync of the log, which comes after the
// last write to it.
func TestSQLiteSyncsBeforeItAcknowledges(t *testing.T) {
	t.Parallel()
	acks, trace := syncsOf(t, "three")
	if len(acks) != 3 {
		t.Fatalf("%d ids seen in the trace", len(acks))
	}
	for i, a := range acks {
		// The first finds a new log, whose head is synced besides.
		if a.dirty || a.syncs == 0 || i > 0 && a.syncs != 1 {
			t.Errorf("id %d was told after %d syncs (log not synced: %v):\n%s", i, a.syncs, a.dirty, trace)
		}
	}
}

// An ack is an id that the helper printed.
type ack struct {
	syncs int  // of the log since the one before
	dirty bool // the log was written to after the last of them
}

// syncsOf traces the helper and returns what it printed.
func syncsOf(t *testing.T, mode string) (acks []ack, trace string) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: needs strace")
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("missing tool: strace: apt-get install strace")
	}
	dir := t.TempDir()
	file, dsn := filepath.Join(dir, "trace"), filepath.Join(dir, "deed.db")
	cmd := helperCommand(t, mode, dsn, strace, "-f", "-y", "-s", "16", "-o", file, "-e", "trace=pwrite64,write,fsync,fdatasync")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Skipf("missing tool: ptrace: allow tracing: %v\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wal := regexp.QuoteMeta(dsn) + `-wal>`
	wrote, synced := regexp.MustCompile(`pwrite64\(\d+<`+wal), regexp.MustCompile(`(fsync|fdatasync)\(\d+<`+wal+`.*\)\s+= 0`)
	told := regexp.MustCompile(`write\(1<[^>]*>, "0`)
	var now ack
	for call := range calls(string(text)) {
		switch {
		case wrote.MatchString(call):
			now.dirty = true
		case synced.MatchString(call):
			now.dirty = false
			now.syncs++
		case told.MatchString(call):
			acks = append(acks, now)
			now.syncs = 0
		}
	}
	return acks, string(text)
}

// calls joins the two halves of a system call that strace printed around another thread's: a call stands where it
// returned, which is when what it did was done.
func calls(trace string) iter.Seq[string] {
	begun := regexp.MustCompile(`^(\d+)\s+(.*) <unfinished \.\.\.>$`)
	ended := regexp.MustCompile(`^(\d+)\s+<\.\.\. \w+ resumed>(.*)$`)
	return func(yield func(string) bool) {
		open := map[string]string{}
		for line := range strings.Lines(trace) {
			line = strings.TrimSpace(line)
			if m := begun.FindStringSubmatch(line); m != nil {
				open[m[1]] = m[2]
				continue
			}
			if m := ended.FindStringSubmatch(line); m != nil {
				line = m[1] + " " + open[m[1]] + m[2]
			}
			if !yield(line) {
				return
			}
		}
	}
}

// A trace in which another thread's calls fall between the halves of a sync, as they do on a busy machine.
func TestCallsJoinsHalves(t *testing.T) {
	t.Parallel()
	got := slices.Collect(calls("7 fsync(5</d-wal> <unfinished ...>\n8 write(1<pipe>, \"x\", 1) = 1\n7 <... fsync resumed>)   = 0\n"))
	want := []string{`8 write(1<pipe>, "x", 1) = 1`, "7 fsync(5</d-wal>)   = 0"}
	if !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
}

// A home that this user cannot write is a clear error. Root can write everywhere, so another user tries.
func TestSQLiteReadOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dsn := filepath.Join(dir, "deed.db")
	s := open(t, dsn)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dsn, 0o444); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "helper")
	if err := os.Chmod(filepath.Dir(bin), 0o755); err != nil {
		t.Fatal(err)
	}
	// By another process: what this one has open for writing, a process that it just starts elsewhere would hold, and it could not be
	// executed.
	if out, err := exec.CommandContext(t.Context(), "cp", fmt.Sprintf("/proc/%d/exe", os.Getpid()), bin).CombinedOutput(); err != nil {
		t.Skipf("missing tool: /proc: mount it: %v: %s", err, out)
	}
	if err := os.Chmod(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for mode, target := range map[string]string{"enqueue": dsn, "open": filepath.Join(dir, "new.db")} {
		cmd := exec.CommandContext(t.Context(), bin)
		cmd.Env = []string{"DEED_STORE_HELPER=" + mode, "DEED_STORE_DSN=" + target}
		if os.Geteuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, _ := cmd.CombinedOutput()
		if !strings.Contains(string(out), store.ErrReadOnly.Error()) {
			t.Errorf("%s: %s", mode, out)
		}
	}
}

func open(t *testing.T, dsn string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), dsn, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
