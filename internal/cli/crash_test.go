package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/pgtest"
)

// The agent of the crash test: it leaves a daemon behind, does its work, and asks for a follow-up task.
const crashAgent = `
(setsid sh -c 'trap "" TERM; while :; do sleep 1; done' >/dev/null 2>&1 &)
echo ran >> "$OUT/ran"
echo made > made.txt
cat > "$DEED_RESULT_FILE" <<'JSON'
{"status": "completed", "machine_status": "ok", "operator_summary": "done", "file_changes": ["made.txt"],
 "follow_up_tasks": [{"task_type": "script", "source": "agent", "requested_adapter_id": "quiet", "payload": {}}]}
JSON
`

const crashIntent = `{"task_type": "operator", "source": "crash", "requested_adapter_id": "work", "payload": {}}`

// TestCrash kills the real binary at every durable step, starts it again, and asserts that nothing is lost, nothing
// is settled or delivered twice, and no process is left.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{store.SQLite, store.Postgres} {
		for _, p := range crashpoint.All {
			t.Run(engine+"/"+string(p), func(t *testing.T) {
				t.Parallel()
				crashOnce(t, engine, p)
			})
		}
	}
}

func crashOnce(t *testing.T, engine string, p crashpoint.Point) {
	s := newSite(t, map[string]string{"work": crashAgent, "quiet": "exit 0"})
	if engine == store.Postgres {
		s.dsn = pgtest.DSN(t)
	}
	arm := []string{"DEED_CRASHPOINT=" + string(p)}
	crashed := false
	run := func(args ...string) outcome {
		t.Helper()
		o := s.deed(arm, args...)
		if o.signal == syscall.SIGKILL {
			crashed = true
		} else if o.code != 0 {
			t.Fatalf("deed %v with a crash at %s: exit %d\n%s%s", args, p, o.code, o.stdout, o.stderr)
		}
		return o
	}
	intent := filepath.Join(s.dir, "intent.json")
	writeFile(t, intent, crashIntent)
	id := strings.TrimSpace(run("task", "add", "--file", intent).stdout)
	st := s.open()
	tasks, err := st.Tasks(t.Context(), store.TaskFilter{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case id != "" && (len(tasks) != 1 || tasks[0].ID() != id):
		t.Fatalf("id %s was returned, and the store has %d tasks", id, len(tasks))
	case len(tasks) == 0: // never acknowledged, so the caller asks again
		id = strings.TrimSpace(s.ok("task", "add", "--file", intent))
	default:
		id = tasks[0].ID()
	}
	if !crashed {
		run("dispatch")
	}
	if !crashed {
		t.Fatalf("the crash point %s was never reached", p)
	}
	s.noProcess()
	s.ok("dispatch")
	s.ok("dispatch") // what the first cycle delivered
	s.noProcess()

	if got := status(t, st, id); got != agentruntime.TaskCompleted {
		t.Errorf("the task is %s, want completed", got)
	}
	tasks, err = st.Tasks(t.Context(), store.TaskFilter{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(tasks) != 2 {
		t.Errorf("there are %d tasks, want the task and one follow-up", len(tasks))
	}
	for _, task := range tasks {
		if task.Record.Status != agentruntime.TaskCompleted {
			t.Errorf("task %s is %s, want completed", task.ID(), task.Record.Status)
		}
		countEvents(t, st, task.ID())
	}
	s.tidy()
}

// countEvents asserts that a task was enqueued and finished once, and every attempt finished once.
func countEvents(t *testing.T, st *store.Store, id string) {
	t.Helper()
	events, err := st.Events(t.Context(), store.EventFilter{TaskID: id, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, e := range events {
		n[e.Type]++
		if e.Type == string(agentruntime.EventTaskAttemptFinished) {
			n[e.Type+" "+e.AttemptID]++
			if n[e.Type+" "+e.AttemptID] > 1 {
				t.Errorf("attempt %s is finished twice", e.AttemptID)
			}
		}
	}
	if n["task_enqueued"] != 1 || n["task_finished"] != 1 || n["task_attempt_finished"] != n["task_claimed"] {
		t.Errorf("events of task %s are %v, want it enqueued and finished once, and each claim finished", id, n)
	}
}

// TestCrashOfRun kills `deed run` at every step of its attempt: the task is not lost, a dispatcher ends it.
func TestCrashOfRun(t *testing.T) {
	t.Parallel()
	for _, p := range crashpoint.All {
		if strings.HasPrefix(string(p), "enqueue.") || strings.HasPrefix(string(p), "deliver.") {
			continue // it enqueues and claims in one transaction, and delivers as a dispatcher does
		}
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, map[string]string{"work": crashAgent, "quiet": "exit 0"})
			o := s.deed([]string{"DEED_CRASHPOINT=" + string(p)}, "run", "--no-workspace", "--agent", "work", "--type", "operator", "--attempts", "2", "go")
			if o.signal != syscall.SIGKILL {
				t.Fatalf("the crash point was never reached: exit %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			s.noProcess()
			s.ok("dispatch")
			s.noProcess()
			st := s.open()
			tasks, err := st.Tasks(t.Context(), store.TaskFilter{Limit: 10})
			if err != nil || len(tasks) != 2 {
				t.Fatalf("there are %d tasks, %v, want the task and its follow-up", len(tasks), err)
			}
			for _, task := range tasks {
				if task.Record.Status != agentruntime.TaskCompleted {
					t.Errorf("task %s is %s, want completed", task.ID(), task.Record.Status)
				}
				countEvents(t, st, task.ID())
			}
			s.tidy()
		})
	}
}

func TestAnEnqueueSurvivesSIGKILL(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"quiet": "exit 0"})
	var input bytes.Buffer
	for range 3 {
		input.WriteString(crashIntent + "\n")
	}
	writeFile(t, filepath.Join(s.dir, "three.jsonl"), strings.ReplaceAll(input.String(), "work", "quiet"))
	o := s.deed([]string{"DEED_CRASHPOINT=" + string(crashpoint.EnqueueCommitted)}, "task", "add", "--file", "three.jsonl")
	if o.signal != syscall.SIGKILL {
		t.Fatalf("not killed: %+v", o)
	}
	n, err := s.open().Counts(t.Context())
	if err != nil || n[agentruntime.TaskPending] != 3 {
		t.Errorf("after a kill behind the commit there are %v, %v, want 3 pending", n, err)
	}
}
