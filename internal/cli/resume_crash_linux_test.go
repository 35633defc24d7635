package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/pgtest"
)

// onceEach is the check of the crash tests: each word is in the file once. An effect that a crash lost or repeated fails it.
const onceEach = `test "$(sort effects | tr '\n' ' ')" = "one three two "`

// crashSite has adapters of one kind for the scenarios of the crash tests. Retries are due at once.
func crashSite(t *testing.T, kind string, scenarios ...string) *site {
	t.Helper()
	s := scriptedSite(t, "resume.yaml", kind, scenarios...)
	s.settings("retry: {base_seconds: 0.001, max_seconds: 0.001}\ndefaults: {lease_seconds: 30}\n")
	return s
}

// words runs an agent that has to write the three words.
func (s *site) words(agent string, args ...string) []string {
	list := []string{"run", "--json", "--no-workspace", "--agent", agent, "--check", onceEach, "--isolation", "process"}
	return append(append(list, args...), "write the words one, two and three, each once")
}

// killedAt runs deed until a crash point kills it.
func (s *site) killedAt(point string, args ...string) {
	s.t.Helper()
	if o := s.deed([]string{"DEED_CRASHPOINT=" + point}, args...); o.signal != syscall.SIGKILL {
		s.t.Fatalf("the crash point %s was never reached: exit %d\n%s%s", point, o.code, o.stdout, o.stderr)
	}
	s.noProcess()
}

// killedWhen starts deed and kills it when a condition holds.
func (s *site) killedWhen(what string, cond func() bool, args ...string) {
	s.t.Helper()
	c := s.command(nil, args...)
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		s.noProcess()
	}()
	s.until(what, cond)
}

// wrote reports whether the agent of some attempt wrote to the file.
func (s *site) wrote() bool {
	found, _ := filepath.Glob(filepath.Join(s.home, "attempts", "*", "workspace", "effects"))
	return len(found) > 0
}

// remembered reports whether an agent has saved its conversation. Claude Code does so a moment after it has reported its
// session; killed before, it starts from scratch, which a test of its driver shows.
func (s *site) remembered(kind string) bool {
	if kind != "claude-code" {
		return true
	}
	found, _ := filepath.Glob(filepath.Join(s.home, "attempts", "*", "home", ".claude-code", "projects", "*", "*.jsonl"))
	return len(found) > 0
}

// only is the site's only task.
func (s *site) only(st *store.Store) store.Task {
	s.t.Helper()
	list, err := st.Tasks(s.t.Context(), store.TaskFilter{Limit: 10})
	if err != nil || len(list) != 1 {
		s.t.Fatalf("%d tasks, %v", len(list), err)
	}
	return list[0]
}

func (s *site) resume(id string) (ranDoc, outcome) {
	s.t.Helper()
	o := s.deed(nil, "task", "resume", "--json", id)
	var doc ranDoc
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil {
		s.t.Fatalf("exit %d, %v\n%s\n%s", o.code, err, o.stdout, o.stderr)
	}
	return doc, o
}

// completed asserts that the task is done, that its breaks used up no attempt, and that nothing is left behind.
func (s *site) completed(st *store.Store, id string, attempts int) {
	s.t.Helper()
	task, err := st.Task(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	if r := task.Record; r.Status != agentruntime.TaskCompleted || r.AttemptCount != attempts {
		s.t.Errorf("the task is %s after %d attempts, want completed after %d: %s", r.Status, r.AttemptCount, attempts, deref(r.LastError))
	}
	countEvents(s.t, st, id)
	s.noProcess()
	s.tidy()
	var rep struct {
		Findings []struct{ Path, Reason string }
	}
	if err := json.Unmarshal([]byte(s.ok("cleanup", "--dry-run", "--json")), &rep); err != nil || len(rep.Findings) > 0 {
		s.t.Errorf("left behind: %+v %v", rep, err)
	}
}

// journals are the kinds of events of each attempt's bundle, oldest first.
func (s *site) journals(st *store.Store, id string) []map[string]int {
	s.t.Helper()
	list, err := st.Attempts(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	var out []map[string]int
	for _, at := range list {
		entries, err := journal.Read(filepath.Join(s.home, at.BundleDir, evidence.PathEvents))
		if err != nil {
			s.t.Fatal(err)
		}
		n := map[string]int{}
		for _, e := range entries {
			n[e.Kind]++
		}
		out = append(out, n)
	}
	return out
}

// A break is a place where deed is killed, and what the next deed then has to do.
type crashCase struct {
	point    string
	scenario string
	begun    bool // a conversation is there to go on with
	settled  bool // a bundle is there to adopt
}

func crashCases() []crashCase {
	var out []crashCase
	begun, settled := false, false
	for _, p := range crashpoint.All {
		if strings.HasPrefix(string(p), "enqueue.") || strings.HasPrefix(string(p), "deliver.") {
			continue
		}
		begun = begun || p == crashpoint.DriverStarted
		settled = settled || p == crashpoint.BundlePublished
		out = append(out, crashCase{string(p), "early", begun, settled})
	}
	for _, p := range []crashpoint.Point{crashpoint.DriverStarted, crashpoint.DriverEnded, crashpoint.GateDecided} {
		out = append(out, crashCase{string(p) + "#2", "early", true, false})
	}
	for n := 1; n <= 3; n++ {
		for _, p := range []crashpoint.Point{crashpoint.LoopAnswered, crashpoint.LoopStarted, crashpoint.LoopCarriedOut, crashpoint.LoopSettled} {
			out = append(out, crashCase{fmt.Sprintf("%s#%d", p, n), "steps", true, false})
		}
	}
	return append(out, crashCase{string(crashpoint.LoopCompacted), "long", true, false})
}

// TestConversationsSurviveSIGKILL kills deed at every durable step of a conversation with its own agent. The next deed
// continues it: each effect happens once, no attempt is used up, and nothing is left.
func TestConversationsSurviveSIGKILL(t *testing.T) {
	t.Parallel()
	for i, c := range crashCases() {
		t.Run(c.point, func(t *testing.T) {
			t.Parallel()
			s := crashSite(t, "native", c.scenario)
			attempts := "1"
			if !c.begun {
				attempts = "2" // there is nothing yet that could go on
			}
			s.killedAt(c.point, s.words(c.scenario, "--attempts", attempts)...)
			st := s.open()
			id := s.only(st).ID()
			switch {
			case c.settled:
				if o := s.deed(nil, "task", "resume", id); o.code != ExitUsage || !strings.Contains(o.stderr, "completed") {
					t.Errorf("exit %d: %s", o.code, o.stderr)
				}
			case i%2 == 0:
				s.ok("dispatch")
			default:
				if doc, o := s.resume(id); o.code != ExitDone || doc.Resumed != c.begun {
					t.Errorf("exit %d: %+v", o.code, doc)
				}
			}
			used := 1
			if !c.begun {
				used = 2
			}
			s.completed(st, id, used)
			records := s.journals(st, id)
			if last := records[len(records)-1]; c.begun && !c.settled && (last["resumed"] != 1 || last["seeded"] != 0) {
				t.Errorf("the last attempt did not go on: %v", last)
			}
		})
	}
}

// TestResumesSurviveSIGKILL kills the deed that resumes, at every step, and the one after it.
func TestResumesSurviveSIGKILL(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{store.SQLite, store.Postgres} {
		for _, p := range []crashpoint.Point{
			crashpoint.ClaimCommitted, crashpoint.BeginCommitted, crashpoint.DriverStarted, crashpoint.LoopCarriedOut, crashpoint.DriverEnded,
			crashpoint.GateDecided, crashpoint.SettlementWritten,
		} {
			if engine == store.Postgres && p != crashpoint.ClaimCommitted && p != crashpoint.GateDecided {
				continue
			}
			t.Run(engine+"/"+string(p), func(t *testing.T) {
				t.Parallel()
				s := crashSite(t, "native", "steps")
				if engine == store.Postgres {
					s.dsn = pgtest.DSN(t)
				}
				s.killedAt(string(crashpoint.LoopCarriedOut), s.words("steps")...)
				st := s.open()
				id := s.only(st).ID()
				s.killedAt(string(p), "task", "resume", id)
				s.killedAt(string(p), "task", "resume", id)
				if doc, o := s.resume(id); o.code != ExitDone || !doc.Resumed {
					t.Errorf("exit %d: %+v", o.code, doc)
				}
				s.completed(st, id, 1)
			})
		}
	}
}

// No agent gets more tries at the gate because deed is killed between them.
func TestTheGateIsNotOutlastedByCrashes(t *testing.T) {
	t.Parallel()
	for _, point := range []string{string(crashpoint.GateDecided), string(crashpoint.DriverStarted) + "#2"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s := crashSite(t, "native", "stubborn")
			s.killedAt(point, s.words("stubborn", "--max-recoveries", "2")...)
			st := s.open()
			id := s.only(st).ID()
			s.killedAt(point, "task", "resume", id)
			doc, o := s.resume(id)
			if o.code != ExitNotDone || doc.Class != string(failure.Rejected) || doc.Refusals != 2 {
				t.Fatalf("exit %d: %+v", o.code, doc)
			}
			n := 0
			for _, records := range s.journals(st, id) {
				n += records["completion_attempt"]
			}
			if n != 3 {
				t.Errorf("it came to the gate %d times, want 3", n)
			}
			if got := status(t, st, id); got != agentruntime.TaskPermanentFailure {
				t.Errorf("the task is %s", got)
			}
			s.tidy()
		})
	}
}

// When deed is killed after the last refusal and before that is settled, the agent is not asked again.
func TestTheLastRefusalSurvivesSIGKILL(t *testing.T) {
	t.Parallel()
	s := crashSite(t, "native", "stubborn")
	s.killedAt(string(crashpoint.GateDecided), s.words("stubborn", "--max-recoveries", "0")...)
	st := s.open()
	id := s.only(st).ID()
	o := s.deed(nil, "task", "resume", id)
	if o.code != ExitUsage || !strings.Contains(o.stderr, "deed task retry") {
		t.Errorf("exit %d: %s", o.code, o.stderr)
	}
	if got := status(t, st, id); got != agentruntime.TaskPermanentFailure {
		t.Errorf("the task is %s", got)
	}
	s.tidy()
}

// What was used before a crash counts against the budget after it.
func TestBudgetsSurviveSIGKILL(t *testing.T) {
	t.Parallel()
	s := crashSite(t, "native", "steps")
	s.killedAt(string(crashpoint.LoopSettled)+"#3", s.words("steps", "--budget-turns", "3")...) // two answers
	st := s.open()
	id := s.only(st).ID()
	doc, o := s.resume(id) // the third answer is the last
	if o.code != ExitNotDone || doc.Class != string(failure.Budget) || doc.Status != agentruntime.TaskBlocked {
		t.Fatalf("exit %d: %+v", o.code, doc)
	}
	rows, err := st.UsageOfTask(t.Context(), id)
	if sum := store.SumUsage(rows); err != nil || sum.Turns < 3 || sum.ToolCalls < 4 || sum.InputTokens != 1100*sum.Turns {
		t.Errorf("counted: %+v %v", sum, err)
	}
	s.ok("task", "budget", id, "--turns", "20")
	if doc, o := s.resume(id); o.code != ExitDone || !doc.Resumed {
		t.Fatalf("exit %d: %+v", o.code, doc)
	}
	s.completed(st, id, 1)
}

// asking makes the site ask people before the agent uses a shell.
func (s *site) asking(more string) {
	s.t.Helper()
	s.settings("policy:\n  ask: {" + more + "}\n  rules:\n    - {tool: [shell], effect: ask, reason: people look at commands}\n    - {tool: ['*'], effect: allow}\n")
}

// asked is the only open action.
func (s *site) asked(st *store.Store) store.Action {
	s.t.Helper()
	list, err := st.Actions(s.t.Context(), store.ActionFilter{State: store.ActionOpen})
	if err != nil || len(list) != 1 {
		s.t.Fatalf("%d open actions, %v", len(list), err)
	}
	return list[0]
}

// waitsForPermission reports whether the agent of the site's only task waits for a person.
func (s *site) waitsForPermission(st *store.Store) bool {
	list, err := st.Tasks(s.t.Context(), store.TaskFilter{Limit: 10})
	if err != nil || len(list) != 1 || list[0].AttemptID == "" {
		return false
	}
	at, err := st.Attempt(s.t.Context(), list[0].AttemptID)
	return err == nil && at.State == "waiting_for_permission"
}

// A deed that waits for a person is killed. The question outlives it, is answered while nothing runs, and is not asked twice.
func TestAQuestionSurvivesSIGKILL(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ engine, answer string }{{store.SQLite, "approve"}, {store.Postgres, "approve"}, {store.SQLite, "deny"}} {
		t.Run(tc.engine+"/"+tc.answer, func(t *testing.T) {
			t.Parallel()
			s := crashSite(t, "native", "steps")
			if tc.engine == store.Postgres {
				s.dsn = pgtest.DSN(t)
			}
			s.asking("live_seconds: 600")
			s.ok("dispatch") // makes the home
			st := s.open()
			s.killedWhen("it waits for a person", func() bool { return s.waitsForPermission(st) }, s.words("steps")...)
			id, first := s.only(st).ID(), s.asked(st)
			if tc.answer == "deny" {
				s.ok("action", "deny", first.ID, "--reason", "not this one")
			} else {
				s.ok("action", "approve", first.ID, "--always")
			}
			// Its later questions get no answer while it waits.
			s.replace("live_seconds: 600", "live_seconds: 0")
			doc, o := s.resume(id)
			for range 5 {
				if doc.Status != agentruntime.TaskBlocked {
					break
				}
				a := s.asked(st)
				if a.ContextDigest == first.ContextDigest {
					t.Fatalf("it asks the same twice: %s", a.Prompt)
				}
				s.ok("action", "approve", a.ID)
				doc, o = s.resume(id)
			}
			if o.code != ExitDone || !doc.Resumed {
				t.Fatalf("exit %d: %+v", o.code, doc)
			}
			s.completed(st, id, 1)
			list, err := st.Attempts(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			var said bool
			for _, at := range list {
				for _, d := range journaled(t, filepath.Join(s.home, at.BundleDir)).Decisions {
					said = said || d.ActionID == first.ID && d.By != "" && (d.Effect == agentruntime.PolicyAllow) == (tc.answer == "approve")
				}
			}
			if !said {
				t.Error("the evidence does not say what was answered")
			}
		})
	}
}

// replace changes the site's deed.yaml.
func (s *site) replace(old, text string) {
	s.t.Helper()
	file := filepath.Join(s.dir, "deed.yaml")
	data, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(data), old) {
		s.t.Fatalf("%q is not in deed.yaml: %v", old, err)
	}
	writeFile(s.t, file, strings.ReplaceAll(string(data), old, text))
}

// blocked runs an agent until it waits for a person and its task is set aside.
func (s *site) blocked(ask string) (*store.Store, string) {
	s.t.Helper()
	s.asking(ask)
	if o := s.deed(nil, s.words("steps")...); o.code != ExitNotDone {
		s.t.Fatalf("exit %d: %s%s", o.code, o.stdout, o.stderr)
	}
	st := s.open()
	task := s.only(st)
	if task.Record.Status != agentruntime.TaskBlocked {
		s.t.Fatalf("the task is %s", task.Record.Status)
	}
	return st, task.ID()
}

func (s *site) kept() []string {
	s.t.Helper()
	list, err := os.ReadDir(filepath.Join(s.home, "attempts"))
	if err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, filepath.Join(s.home, "attempts", e.Name()))
	}
	return out
}

// When no answer comes in time the default applies, and the task continues by itself.
func TestADeadlineWithNobodyThere(t *testing.T) {
	t.Parallel()
	s := crashSite(t, "native", "steps")
	st, id := s.blocked("live_seconds: 0, deadline_seconds: 1")
	s.until("the task has ended", func() bool {
		s.ok("dispatch")
		got := status(t, st, id)
		return got != agentruntime.TaskBlocked && got != agentruntime.TaskPending && got != agentruntime.TaskRetryableFailure
	})
	acts, err := st.Actions(t.Context(), store.ActionFilter{TaskID: id})
	if err != nil || len(acts) == 0 || acts[0].AnsweredBy != store.ByDeadline {
		t.Errorf("%+v %v", acts, err)
	}
	if left := s.kept(); len(left) > 0 {
		t.Errorf("directories are left: %v", left)
	}
}

func TestABlockedTaskCanBeCancelledOrRetried(t *testing.T) {
	t.Parallel()
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		s := crashSite(t, "native", "steps")
		_, id := s.blocked("live_seconds: 0")
		s.ok("dispatch")
		if left := s.kept(); len(left) != 1 {
			t.Errorf("a blocked task keeps %v", left)
		}
		s.ok("task", "cancel", id)
		s.ok("dispatch")
		s.tidy()
	})
	t.Run("retry", func(t *testing.T) {
		t.Parallel()
		s := crashSite(t, "native", "steps")
		st, id := s.blocked("live_seconds: 0")
		s.replace("effect: ask", "effect: allow")
		s.ok("task", "retry", id)
		s.ok("dispatch")
		s.completed(st, id, 1)
	})
}

// Of two processes that resume a task at once, one does and the other says so.
func TestTwoResumesAtOnce(t *testing.T) {
	t.Parallel()
	s := crashSite(t, "native", "steps")
	s.killedAt(string(crashpoint.LoopSettled), s.words("steps")...)
	st := s.open()
	id := s.only(st).ID()
	s.ok("cleanup")
	var cmds []*exec.Cmd
	var errs []*strings.Builder
	for range 3 {
		c, b := s.command(nil, "task", "resume", id), &strings.Builder{}
		c.Stderr = b
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		cmds, errs = append(cmds, c), append(errs, b)
	}
	done := 0
	for i, c := range cmds {
		if err := c.Wait(); err == nil {
			done++
			continue
		}
		text := errs[i].String()
		if !strings.Contains(text, "is running") && !strings.Contains(text, "taken by another") && !strings.Contains(text, "is completed") {
			t.Errorf("exit %d: %s", c.ProcessState.ExitCode(), text)
		}
	}
	if done != 1 {
		t.Errorf("%d went on", done)
	}
	s.completed(st, id, 1)
}

// A dispatcher that is asked to stop gives its conversations back, and the next one continues them.
func TestServeGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	s := crashSite(t, "native", "slow")
	v := s.serve()
	id := s.add(map[string]any{
		"task_type": "agent-task", "source": "t", "requested_adapter_id": "slow", "payload": map[string]any{"prompt": "write"},
		"deed": map[string]any{"isolation": "process", "max_attempts": 1, "checks": []any{map[string]any{"name": "once", "shell": onceEach}}},
	})
	st := s.open()
	s.until("the agent is in its call", s.wrote)
	v.signal(syscall.SIGTERM)
	s.until("it drains", func() bool { return strings.Contains(v.said(), "draining") })
	v.signal(syscall.SIGTERM) // the second stops what runs
	if code := v.wait(); code != 0 {
		t.Errorf("exit %d\n%s", code, v.said())
	}
	s.noProcess()
	if got := status(t, st, id); got != agentruntime.TaskRetryableFailure || len(s.kept()) != 1 {
		t.Fatalf("the task is %s, kept %v\n%s", got, s.kept(), v.said())
	}
	v = s.serve()
	s.until("the task is completed", func() bool { return status(t, st, id) == agentruntime.TaskCompleted })
	v.signal(syscall.SIGTERM)
	if code := v.wait(); code != 0 {
		t.Errorf("exit %d\n%s", code, v.said())
	}
	s.completed(st, id, 1)
}

// sessions are the conversations that the agents of a task's attempts reported, oldest first.
func (s *site) sessions(st *store.Store, id string) []driver.SessionInfo {
	s.t.Helper()
	list, err := st.Attempts(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	var out []driver.SessionInfo
	for _, at := range list {
		entries, err := journal.Read(filepath.Join(s.home, at.BundleDir, evidence.PathEvents))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, e := range entries {
			var info driver.SessionInfo
			if e.Kind == driver.EventSession && json.Unmarshal(e.Detail, &info) == nil && info.ID != "" {
				out = append(out, info)
			}
		}
	}
	return out
}

// The conversations of real agent programs survive as well: the same session continues.
func TestRealConversationsSurviveSIGKILL(t *testing.T) {
	needBwrap(t)
	for _, kind := range []string{"codex", "claude-code"} {
		for what, tc := range map[string]struct {
			scenario string
			kill     func(s *site, args []string)
		}{
			"in a call": {"slow", func(s *site, args []string) {
				s.killedWhen("the agent is in its call", func() bool { return s.wrote() && s.remembered(kind) }, args...)
			}},
			"refused": {"early", func(s *site, args []string) { s.killedAt(string(crashpoint.GateDecided), args...) }},
		} {
			t.Run(kind+"/"+what, func(t *testing.T) {
				t.Parallel()
				s := crashSite(t, kind, tc.scenario)
				tc.kill(s, s.words(tc.scenario, "--isolation", "namespace"))
				st := s.open()
				id := s.only(st).ID()
				doc, o := s.resume(id)
				if o.code != ExitDone || !doc.Resumed {
					t.Fatalf("exit %d: %+v\n%s", o.code, doc, o.stderr)
				}
				s.completed(st, id, 1)
				records := s.sessions(st, id)
				if n := len(records); n < 2 || records[0].ID != records[n-1].ID || !records[n-1].Resumed {
					t.Errorf("sessions: %+v", records)
				}
			})
		}
	}
	t.Run("claude-code/waiting for a person", func(t *testing.T) {
		t.Parallel()
		s := crashSite(t, "claude-code", "steps")
		s.asking("live_seconds: 600")
		s.ok("dispatch")
		st := s.open()
		s.killedWhen("it waits for a person", func() bool { return s.waitsForPermission(st) }, s.words("steps", "--isolation", "namespace")...)
		id := s.only(st).ID()
		s.ok("action", "approve", s.asked(st).ID)
		s.replace("effect: ask", "effect: allow") // what it does after the break is other calls
		doc, o := s.resume(id)
		if o.code != ExitDone || !doc.Resumed {
			t.Fatalf("exit %d: %+v\n%s", o.code, doc, o.stderr)
		}
		s.completed(st, id, 1)
	})
}
