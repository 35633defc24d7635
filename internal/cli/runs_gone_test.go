package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/base/proc"
)

// killedRun is a run whose deed is killed while its agent works. The returned watcher has followed it since before that.
func killedRun(t *testing.T, s *site) (id string, watcher *asking) {
	t.Helper()
	q := s.ask(nil, nil)
	s.until("the agent at work", func() bool { return asleep(t, s.mark) })
	var list struct {
		Runs []evidence.RunRegistryEntry `json:"runs"`
	}
	if err := json.Unmarshal([]byte(s.ok("runs", "list", "--json")), &list); err != nil || len(list.Runs) != 1 {
		t.Fatalf("%d runs, %v", len(list.Runs), err)
	}
	if m := list.Runs[0].Metadata; m[evidence.MetaProcess] != nil {
		t.Errorf("its process is there: %v", m)
	}
	id = list.Runs[0].RunID
	watcher = &asking{s: s, cmd: s.command(nil, "runs", "watch", id, "--json")}
	printed := make(chan struct{})
	watcher.cmd.Stdout, watcher.cmd.Stderr = io.MultiWriter(&watcher.out, &firstWrite{c: printed}), &watcher.err
	if err := watcher.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = watcher.cmd.Process.Kill() })
	select {
	case <-printed:
	case <-time.After(time.Minute):
		t.Fatal("the watcher prints nothing")
	}
	send(t, q, syscall.SIGKILL)
	_ = q.cmd.Wait()
	s.noProcess()
	return id, watcher
}

// asleep reports whether sleepyAgent got to its sleep. A process that has its environment may still be on its way there: a sandbox that
// is being set up.
func asleep(t *testing.T, mark string) bool {
	t.Helper()
	pids, err := proc.FindByEnv("MARK", mark)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(pids, func(pid int) bool {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		return err == nil && strings.TrimSpace(string(name)) == "sleep"
	})
}

// A firstWrite closes its channel at the first write.
type firstWrite struct {
	c    chan struct{}
	once sync.Once
}

func (s *firstWrite) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.c) })
	return len(p), nil
}

// A run whose process was killed makes no progress any more: whoever waits for it is answered so, a program too.
func TestRunsGone(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"work": sleepyAgent})
	id, q := killedRun(t, s)
	_ = q.cmd.Wait()
	lines := strings.Split(strings.TrimSpace(q.out.String()), "\n")
	for _, line := range lines[:len(lines)-1] {
		if _, err := schema.Decode[deed.Progress](deed.SchemaProgress, []byte(line)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if last := lines[len(lines)-1]; q.cmd.ProcessState.ExitCode() != ExitNotDone || !strings.Contains(last, "is gone") || !strings.Contains(last, "deed cleanup") {
		t.Errorf("it was watched when it died: exit %d\n%s", q.cmd.ProcessState.ExitCode(), q.out.String())
	}
	if o := s.deed(nil, "runs", "watch", id); o.code != ExitNotDone || !strings.Contains(o.stdout, "running") || !strings.Contains(o.stderr, "is gone (`deed cleanup` settles it") {
		t.Errorf("watch: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}

	record := func(text string) evidence.RunRegistryEntry {
		t.Helper()
		rec, err := schema.Decode[evidence.RunRegistryEntry](evidence.SchemaRunRegistryEntry, []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return rec
	}
	rec := record(s.ok("runs", "show", id, "--json"))
	if rec.Status != evidence.RunRunning || rec.Metadata[evidence.MetaProcess] != "gone" {
		t.Errorf("show --json: %s, %v", rec.Status, rec.Metadata)
	}
	if o := s.ok("runs", "list", "--json"); !strings.Contains(o, `"deed_process": "gone"`) {
		t.Errorf("list --json: %s", o)
	}
	if o := s.deed(nil, "runs", "cancel", id); o.code != ExitDone || strings.Contains(o.stdout, "is asked") || !strings.Contains(o.stdout, "is gone") || !strings.Contains(o.stderr, "deed cleanup") {
		t.Errorf("cancel: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if o := s.ok("runs", "cancel", id, "--json"); !strings.Contains(o, `"deed_process": "gone"`) || !strings.Contains(o, `"alreadyRequested": true`) {
		t.Errorf("cancel --json: %s", o)
	}

	s.ok("cleanup")
	text := s.ok("runs", "show", id, "--json")
	if rec := record(text); rec.Status != evidence.RunCancelled || rec.Error == nil || !strings.HasPrefix(rec.Error.Message, "it was asked to cancel, and the process that ran it died") || rec.Metadata[evidence.MetaProcess] != nil {
		t.Errorf("after the clean-up: %s, %v, %+v", rec.Status, rec.Metadata, rec.Error)
	}
	if o := s.ok("cleanup", "--dry-run"); strings.Contains(o, "planned") {
		t.Errorf("something is left to clean up: %s", o)
	}
	if o := s.deed(nil, "runs", "watch", id); o.code != ExitNotDone || strings.Contains(o.stderr, "is gone") {
		t.Errorf("watch: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}
