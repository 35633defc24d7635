package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/agent/driver/drivertest"
	"github.com/deedrun/deed/internal/agent/model/scripted"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
)

// realAgents are the agent programs that the tests install, each with its adapter. @PROGRAM@ is its file, @BASE@ the address of
// the scripted model's scenario.
var realAgents = map[string]struct{ tool, adapter string }{
	"codex":       {"codex", `{kind: codex, command: @PROGRAM@, timeout_ms: 120000, model: gpt-5.5, env: {MARK: "@MARK@", OPENAI_API_KEY: sk-scripted-0f91c7}, provider: {id: scripted, base_url: "@BASE@/v1", wire_api: responses}}`},
	"claude-code": {"claude", `{kind: claude-code, command: @PROGRAM@, timeout_ms: 120000, model: claude-sonnet-4-5, env: {MARK: "@MARK@", ANTHROPIC_API_KEY: sk-scripted-0f91c7, ANTHROPIC_BASE_URL: "@BASE@"}}`},
	"opencode":    {"opencode", `{kind: opencode, command: @PROGRAM@, timeout_ms: 240000, model: scripted/any, env: {MARK: "@MARK@", SCRIPTED_KEY: sk-scripted-0f91c7}, provider: {id: scripted, base_url: "@BASE@/v1", api: chat, key_env: SCRIPTED_KEY}}`},
	"native":      {"", `{kind: native, timeout_ms: 120000, model: any, env: {MARK: "@MARK@", SCRIPTED_KEY: sk-scripted-0f91c7}, provider: {api: anthropic, base_url: "@BASE@", key_env: SCRIPTED_KEY}}`},
}

// agentSite is a project with a failing test and one adapter for each scenario of the scripted model.
func agentSite(t *testing.T, kind string, scenarios ...string) *site {
	t.Helper()
	return scriptedSite(t, "model.yaml", kind, scenarios...)
}

// scriptedSite is an agentSite with the scenarios of a file of its own.
func scriptedSite(t *testing.T, file, kind string, scenarios ...string) *site {
	t.Helper()
	a := realAgents[kind]
	program := ""
	if a.tool != "" {
		program = drivertest.Agent(t, a.tool)
	}
	script, err := scripted.Load(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	server := scripted.New(script)
	if _, err := server.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	s := newSite(t, nil)
	var b strings.Builder
	b.WriteString("adapters:\n")
	for _, name := range scenarios {
		b.WriteString("  " + name + ": " + strings.NewReplacer("@PROGRAM@", program, "@BASE@", server.URL(name), "@MARK@", s.mark).Replace(a.adapter) + "\n")
	}
	if err := os.WriteFile(filepath.Join(s.dir, "deed.yaml"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(s.dir, "project")
	for name, text := range map[string]string{
		"calc.py":      "def add(a, b):\n    return a - b\n",
		"test_calc.py": "from calc import add\nassert add(2, 3) == 5, 'wrong sum'\nprint('ok')\n",
	} {
		if err := os.MkdirAll(project, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func needBwrap(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("missing tool: bwrap: apt-get install bubblewrap")
	}
}

// A ranDoc is what `deed run --json` prints.
type ranDoc struct {
	TaskID   string                  `json:"task_id"`
	Resumed  bool                    `json:"resumed"`
	Status   agentruntime.TaskStatus `json:"status"`
	Class    string                  `json:"class"`
	Error    string                  `json:"error"`
	Bundle   string                  `json:"bundle"`
	Files    []string                `json:"changed_files"`
	Refusals int                     `json:"refusals"`
	Turns    int                     `json:"turns"`
}

func (s *site) agent(args ...string) (ranDoc, outcome) {
	s.t.Helper()
	o := s.deed(nil, append([]string{
		"run", "--json", "--workspace", "project", "--isolation", "namespace", "--toolchain", "python",
		"--check", "python3 test_calc.py", "--protect", "test_calc.py", "--scope", "calc.py",
	}, args...)...)
	var doc ranDoc
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil {
		s.t.Fatalf("exit %d, %v\n%s\n%s", o.code, err, o.stdout, o.stderr)
	}
	return doc, o
}

// journaled is what the journal in a bundle says of the attempt.
func journaled(t *testing.T, bundle string) agentruntime.RuntimeTask {
	t.Helper()
	entries, err := journal.Read(filepath.Join(bundle, evidence.PathEvents))
	if err != nil {
		t.Fatal(err)
	}
	return history.Of(history.Options{}, entries)
}

// Each real agent fixes a failing test in deed's sandbox, with its model as the only host that it can reach, and leaves
// what it did as evidence.
func TestRealAgentsDoTheWork(t *testing.T) {
	needBwrap(t)
	for kind := range realAgents {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := agentSite(t, kind, "fix")
			doc, o := s.agent("--agent", "fix", "make the failing test pass")
			if doc.Status != agentruntime.TaskCompleted || o.code != ExitDone || doc.Refusals != 0 {
				t.Fatalf("exit %d: %s %s: %s", o.code, doc.Status, doc.Class, doc.Error)
			}
			if strings.Join(doc.Files, ",") != "calc.py" {
				t.Errorf("changed: %v", doc.Files)
			}
			task := journaled(t, doc.Bundle)
			if task.Usage == nil || task.Usage.InputTokens < 1100 || task.Usage.OutputTokens < 21 {
				t.Errorf("usage: %+v", task.Usage)
			}
			if len(task.ToolCalls) == 0 || len(task.CompletionAttempts) != 1 || !task.CompletionAttempts[0].Decision.Accepted {
				t.Errorf("%d tool calls, completion attempts %+v", len(task.ToolCalls), task.CompletionAttempts)
			}
			s.ok("verify", doc.Bundle)
			s.lacks(doc.Bundle, "sk-scripted-0f91c7")
		})
	}
}

// Each real agent says that it is done when it is not. It gets the reasons in the same conversation, and repairs its
// work.
func TestRealAgentsAreToldAndRepair(t *testing.T) {
	needBwrap(t)
	for kind := range realAgents {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := agentSite(t, kind, "lazy")
			doc, o := s.agent("--agent", "lazy", "make the failing test pass")
			if doc.Status != agentruntime.TaskCompleted || o.code != ExitDone || doc.Refusals != 1 || doc.Turns != 2 {
				t.Fatalf("exit %d: %s %s, %d refusals: %s", o.code, doc.Status, doc.Class, doc.Refusals, doc.Error)
			}
			task := journaled(t, doc.Bundle)
			if n := len(task.CompletionAttempts); n != 2 || task.CompletionAttempts[0].Decision.Accepted || !task.CompletionAttempts[1].Decision.Accepted {
				t.Errorf("completion attempts: %+v", task.CompletionAttempts)
			}
			if len(task.RecoveryAttempts) != 1 || !task.RecoveryAttempts[0].SameConversation {
				t.Errorf("recoveries: %+v", task.RecoveryAttempts)
			}
		})
	}
}

// No real agent gets past the gate by changing the test, however often it gets the reasons.
func TestRealAgentsCannotCheat(t *testing.T) {
	needBwrap(t)
	for kind := range realAgents {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := agentSite(t, kind, "cheat")
			doc, o := s.agent("--agent", "cheat", "--max-recoveries", "1", "make the failing test pass")
			if doc.Status != agentruntime.TaskPermanentFailure || o.code != ExitNotDone || doc.Class != string(failure.Rejected) {
				t.Fatalf("exit %d: %s %s: %s", o.code, doc.Status, doc.Class, doc.Error)
			}
			for _, want := range []string{"test_calc.py", "files/verdict.json", "check"} {
				if !strings.Contains(doc.Error, want) {
					t.Errorf("the reasons do not name %s: %s", want, doc.Error)
				}
			}
		})
	}
}

// At its deadline each real agent ends with everything that it started, sessions of their own included.
func TestRealAgentsEndWithTheirTrees(t *testing.T) {
	needBwrap(t)
	for kind := range realAgents {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := agentSite(t, kind, "sleep")
			limit := "12s"
			if kind == "opencode" {
				limit = "60s" // it takes its time to start
			}
			doc, o := s.agent("--agent", "sleep", "--timeout", limit, "make the failing test pass")
			if o.code != ExitNotDone || doc.Class != string(failure.Timeout) {
				t.Fatalf("exit %d: %s %s: %s", o.code, doc.Status, doc.Class, doc.Error)
			}
			if task := journaled(t, doc.Bundle); len(task.ToolCalls) == 0 && kind != "opencode" { // which reports a call when it has ended
				t.Error("the agent was ended before it called its tool: the test shows nothing")
			}
			if left := running(t, "41.7351", s.mark); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// running lists the processes whose command line has an argument and whose environment has a mark.
func running(t *testing.T, arg, mark string) []string {
	t.Helper()
	var out []string
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if strings.Contains(string(line), arg) && strings.Contains(string(env), mark) {
			out = append(out, dir+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return out
}

// A failure of a service that an agent needs is reported by its class, and the service's Retry-After is kept.
func TestRealAgentsAndFailingServices(t *testing.T) {
	needBwrap(t)
	for kind := range realAgents {
		if kind == "opencode" && testing.Short() {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			want := map[string]failure.Class{"refused": failure.Config, "limited": failure.RateLimited, "broken": failure.Provider}
			s := agentSite(t, kind, "refused", "limited", "broken")
			for name, class := range want {
				doc, o := s.agent("--agent", name, "--timeout", "100s", "make the failing test pass")
				if o.code != ExitNotDone || doc.Class != string(class) {
					t.Errorf("%s: exit %d: %s %s: %s", name, o.code, doc.Status, doc.Class, doc.Error)
				}
			}
		})
	}
}

// An agent that does the same again and again is ended, by whatever program it is.
func TestRealAgentsInCircles(t *testing.T) {
	needBwrap(t)
	for _, kind := range []string{"codex", "native"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := agentSite(t, kind, "circles")
			doc, o := s.agent("--agent", "circles", "--timeout", "100s", "make the failing test pass")
			if o.code != ExitNotDone || doc.Class != string(failure.Loop) {
				t.Errorf("exit %d: %s %s: %s", o.code, doc.Status, doc.Class, doc.Error)
			}
		})
	}
}

// A rule that asks sets the task aside until a person answers; the conversation then continues, with the answer in
// the evidence. What a rule denies is not done.
func TestPeopleAreAskedOnce(t *testing.T) {
	needBwrap(t)
	for _, kind := range []string{"claude-code", "native"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := agentSite(t, kind, "fix")
			s.settings("policy:\n  ask: {live_seconds: 0}\n  rules:\n    - {tool: [shell], effect: ask, reason: people look at commands}\n    - {tool: ['*'], effect: allow}\n")
			doc, o := s.agent("--agent", "fix", "make the failing test pass")
			if doc.Status != agentruntime.TaskBlocked || o.code != ExitNotDone {
				t.Fatalf("exit %d: %s %s: %s", o.code, doc.Status, doc.Class, doc.Error)
			}
			var list struct {
				Actions []struct {
					ID     string `json:"action_id"`
					Prompt string `json:"prompt"`
				}
			}
			if err := json.Unmarshal([]byte(s.ok("action", "list", "--json")), &list); err != nil || len(list.Actions) != 1 {
				t.Fatalf("%v: %+v", err, list)
			}
			if a := list.Actions[0]; !strings.Contains(a.Prompt, "python3 test_calc.py") {
				t.Errorf("asked: %+v", a)
			}
			s.ok("action", "approve", list.Actions[0].ID)
			var again ranDoc
			if err := json.Unmarshal([]byte(s.ok("task", "resume", "--json", doc.TaskID)), &again); err != nil {
				t.Fatal(err)
			}
			if again.Status != agentruntime.TaskCompleted || !again.Resumed {
				t.Fatalf("%+v", again)
			}
			var approved bool
			for _, d := range journaled(t, again.Bundle).Decisions {
				approved = approved || d.By != "" && d.Effect == agentruntime.PolicyAllow && d.ActionID == list.Actions[0].ID
			}
			if !approved {
				t.Errorf("the evidence does not say who allowed it: %+v", journaled(t, again.Bundle).Decisions)
			}
		})
	}
}

// settings adds to the site's deed.yaml.
func (s *site) settings(text string) {
	s.t.Helper()
	f, err := os.OpenFile(filepath.Join(s.dir, "deed.yaml"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		s.t.Fatal(err)
	}
}

// An orchestrator's request can name any agent: a refusal is answered within the one run, and the bound on turns holds.
func TestAgentsAnswerOrchestrators(t *testing.T) {
	needBwrap(t)
	for _, kind := range []string{"codex", "native"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := agentSite(t, kind, "lazy")
			for _, c := range []struct {
				turns  int
				code   int
				status string
				says   string
			}{{20, ExitDone, "completed", `"executionCount": 2`}, {1, ExitNotDone, "timeout", `"max_turns"`}} {
				file := filepath.Join(s.dir, fmt.Sprintf("request-%d.json", c.turns))
				request := fmt.Sprintf(`{"schema": "wp-codebox/task-input/v1", "goal": "make the failing test pass", "agent": "lazy", "max_turns": %d,
					"workspaces": [{"target": "/workspace/app", "seed": {"type": "directory", "source": %q}}], "verify_steps": [{"shell": "python3 test_calc.py"}]}`,
					c.turns, filepath.Join(s.dir, "project"))
				if err := os.WriteFile(file, []byte(request), 0o600); err != nil {
					t.Fatal(err)
				}
				o := s.deed(nil, "agent-task-run", "--input-file", file, "--json")
				var envelope struct {
					Status string `json:"status"`
				}
				if err := json.Unmarshal([]byte(o.stdout), &envelope); err != nil {
					t.Fatalf("%v\n%s\n%s", err, o.stdout, o.stderr)
				}
				if o.code != c.code || envelope.Status != c.status || !strings.Contains(o.stdout, c.says) || strings.Contains(o.stderr, "WARN") {
					t.Errorf("%d turns: exit %d, %s\n%s\n%s", c.turns, o.code, envelope.Status, o.stdout, o.stderr)
				}
			}
		})
	}
}

// lacks fails when a text is in any file of a bundle.
func (s *site) lacks(dir, text string) {
	s.t.Helper()
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if err == nil && strings.Contains(string(data), text) {
			s.t.Errorf("%s holds the key", p)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}
