package packaged_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/compat/homeboy/packaged"
)

// has reports whether an outcome has a diagnostic of a class.
func has(o homeboy.Outcome, class string) bool {
	return slices.ContainsFunc(o.Diagnostics, func(d homeboy.Diagnostic) bool { return d.Class == class })
}

// Whatever a provider does, one turn ends with one outcome, and the class that follows from it.
func TestEnds(t *testing.T) {
	t.Parallel()
	limits := func(l map[string]any) map[string]any { return map[string]any{"limits": l} }
	for name, c := range map[string]struct {
		script string
		ask    map[string]any
		status homeboy.OutcomeStatus
		class  failure.Class
		code   string
		also   func(*scene, driver.Yield, homeboy.Outcome) bool
	}{
		"a success": {`answer succeeded done`, nil, homeboy.Succeeded, failure.None, "", nil},
		"a no-op":   {`answer no_op nothing`, nil, homeboy.NoOp, failure.None, "", nil},
		"48 empty stdout": {`echo why >&2; exit 3`, nil, homeboy.ProviderError, failure.AgentFailed, "agent_task.provider_empty_stdout", func(_ *scene, y driver.Yield, _ homeboy.Outcome) bool {
			return y.Proc.Code == 3 && strings.Contains(y.Err.Error(), "why")
		}},
		"48 empty stdout, exit 0": {`:`, nil, homeboy.ProviderError, failure.InvalidWord, "agent_task.provider_empty_stdout", nil},
		"79 an outcome in a file alone": {
			`mkdir -p .homeboy/fake; echo '{"schema": "homeboy/agent-task-outcome/v1", "status": "succeeded"}' > .homeboy/fake/outcome.json`,
			nil, homeboy.ProviderError, failure.InvalidWord, "agent_task.provider_empty_stdout", nil,
		},
		"49 malformed":     {`echo '{"status": '`, nil, homeboy.ProviderError, failure.InvalidWord, "agent_task.provider_malformed_json", nil},
		"49 two documents": {`answer succeeded a; answer failed b`, nil, homeboy.ProviderError, failure.InvalidWord, "agent_task.provider_malformed_json", nil},
		"50 SIGTERM":       {`kill -TERM $$`, nil, homeboy.ProviderError, failure.AgentFailed, "agent_task.provider_signal_terminated", nil},
		"50 SIGKILL":       {`kill -KILL $$`, nil, homeboy.ProviderError, failure.AgentFailed, "agent_task.provider_signal_terminated", nil},
		"51 wall timeout": {`sleep 1000`, limits(map[string]any{"timeout_ms": 300}), homeboy.Timeout, failure.Timeout, "agent_task.provider_timeout", func(_ *scene, y driver.Yield, _ homeboy.Outcome) bool {
			return y.Proc.TimedOut && strings.Contains(y.Err.Error(), "longer than 300ms")
		}},
		"51 max_runtime_ms": {`sleep 1000`, limits(map[string]any{"max_runtime_ms": 300}), homeboy.Timeout, failure.Timeout, "agent_task.provider_timeout", nil},
		"52 an outcome, then it hangs": {
			`answer failed 'said before'; exec >&-; sleep 1000`, limits(map[string]any{"timeout_ms": 6000}), homeboy.Failed, failure.Timeout, "agent_task.provider_timeout",
			func(_ *scene, _ driver.Yield, o homeboy.Outcome) bool { return o.Summary == "said before" },
		},
		"54 silence": {
			`sleep 1000`, limits(map[string]any{"timeout_ms": 20_000, "liveness_timeout_ms": 300}), homeboy.Timeout, failure.Timeout, "agent_task.provider_liveness_timeout",
			func(_ *scene, _ driver.Yield, o homeboy.Outcome) bool {
				return o.FailureClassification == homeboy.ClassStalled
			},
		},
		"54 progress keeps it alive": {`for i in 1 2 3 4 5 6 7; do echo . >&2; sleep 1; done; answer succeeded done`, limits(map[string]any{"liveness_timeout_ms": 6000}), homeboy.Succeeded, failure.None, "", nil},
		"54 progress does not outlast the wall": {
			`while :; do echo . >&2; sleep 0.1; done`, limits(map[string]any{"timeout_ms": 8000, "liveness_timeout_ms": 7000}), homeboy.Timeout, failure.Timeout, "agent_task.provider_timeout",
			func(_ *scene, y driver.Yield, o homeboy.Outcome) bool {
				return o.FailureClassification == homeboy.ClassTimeout && y.Proc.TimedOut
			},
		},
		"55 a success and a bad exit": {`answer succeeded done; exit 4`, nil, homeboy.ProviderError, failure.AgentFailed, "agent_task.provider_process_failed", func(_ *scene, y driver.Yield, _ homeboy.Outcome) bool {
			return y.Diagnostics["contradiction"] != nil
		}},
		"55 a failure and a bad exit": {`answer unable_to_remediate 'cannot'; exit 4`, nil, homeboy.UnableToRemediate, failure.AskedFail, "agent_task.provider_process_failed", nil},
		"58 prose is no reason":       {`answer failed 'the test says timeout and 503, rate limit'`, nil, homeboy.Failed, failure.AskedFail, "", nil},
		"59 grandchildren": {`sleep 1000 & setsid sleep 1000 >/dev/null 2>&1 & answer succeeded done`, nil, homeboy.Succeeded, failure.None, "", func(_ *scene, y driver.Yield, _ homeboy.Outcome) bool {
			return y.Proc.Killed >= 1
		}},
		"59 grandchildren of one that is too late": {
			`sleep 1000 & echo $! >pids; setsid sh -c 'trap "" TERM; sleep 1000' >/dev/null 2>&1 & echo $! >>pids; sleep 1000`,
			limits(map[string]any{"timeout_ms": 500}), homeboy.Timeout, failure.Timeout, "agent_task.provider_timeout", func(s *scene, _ driver.Yield, _ homeboy.Outcome) bool {
				for pid := range strings.FieldsSeq(s.read("pids")) {
					if n, err := strconv.Atoi(pid); err != nil || !errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
						return false
					}
				}
				return true
			},
		},
		"60 an escaped grandchild holds stdout": {`setsid sh -c 'trap "" TERM; sleep 1000' & answer succeeded done`, nil, homeboy.Succeeded, failure.None, "agent_task.provider_process_group_survivors", nil},
		"66 too much output":                    {`head -c 3000000 /dev/zero; sleep 1000`, limits(map[string]any{"max_output_bytes": 1_000_000}), homeboy.ProviderError, failure.Limit, "agent_task.provider_output_limit", nil},
		"classes: rate limited": {
			`printf '{"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"provider_error","failure_classification":"rate_limited","metadata":{"retry_after_seconds":90}}'`, nil,
			homeboy.ProviderError, failure.RateLimited, "", func(_ *scene, y driver.Yield, _ homeboy.Outcome) bool { return y.RetryAfter.Seconds() == 90 },
		},
		"classes: transient":     {`printf '{"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"failed","failure_classification":"transient"}'`, nil, homeboy.Failed, failure.Provider, "", nil},
		"classes: invalid input": {`printf '{"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"provider_error","failure_classification":"invalid_input"}'`, nil, homeboy.ProviderError, failure.Config, "", nil},
		"classes: cancelled":     {`answer cancelled 'by itself'`, nil, homeboy.Cancelled, failure.AskedFail, "", nil},
		"classes: follow up":     {`answer follow_up_issue 'file it'`, nil, homeboy.FollowUpIssue, failure.AskedFail, "", nil},
	} {
		for _, isolation := range []string{"process", "namespace"} {
			if isolation == "namespace" && (strings.HasPrefix(name, "59") || strings.HasPrefix(name, "60")) {
				continue // the kernel ends what is left, and it is not counted
			}
			t.Run(name+"/"+isolation, func(t *testing.T) {
				t.Parallel()
				s := play(t, c.script)
				s.ask(c.ask)
				if isolation == "namespace" {
					s.contain()
				}
				y, o := s.run()
				if o.Status != c.status || y.Class != c.class || c.code != "" && !has(o, c.code) || c.also != nil && !c.also(s, y, o) {
					s.fatal(y, o, "want %s, %s, %s", c.status, c.class, c.code)
				}
				if want := driver.YieldEnd; c.class != failure.None && y.Kind != want {
					t.Errorf("kind %s", y.Kind)
				}
				if o.TaskID != "t1" || o.Validate() != nil {
					t.Errorf("task %q: %v", o.TaskID, o.Validate())
				}
			})
		}
	}
}

// Edge cases 56 and 57: what may pass is for the queue to try again; what the package knows to stay is not.
func TestFailuresThatStay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]failure.Class{"the model is gone for good": failure.AskedFail, "the line broke": failure.Provider} {
		s := play(t, `printf '{"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"provider_error","failure_classification":"transient","summary":"'"`+text+`"'"}'`, func(p map[string]any) {
			p["immediate_failure_patterns"] = []any{map[string]any{"id": "gone", "error_contains_any": []string{"gone for good"}, "retryable": false}, map[string]any{"id": "line", "error_contains_any": []string{"line broke"}, "retryable": true}}
		})
		if y, o := s.run(); y.Class != want {
			s.fatal(y, o, "%s: want %s", text, want)
		}
	}
}

// What a provider lacked is reported with the remedy of its package, by the error and by the path.
func TestWhatAProviderLacks(t *testing.T) {
	t.Parallel()
	for text, lacks := range map[string]bool{"Cannot find module /opt/tool/node_modules/x": true, "Cannot find module /srv/other": false, "all is well in /opt/tool": false} {
		s := play(t, `echo '`+text+`' >&2; answer provider_error 'it fell over'`, func(p map[string]any) {
			p["dependency_failure_patterns"] = []any{
				map[string]any{"id": "never", "error_contains_any": []string{""}},
				map[string]any{"id": "node-modules", "label": "the tool's modules", "path_contains": []string{"/opt/tool"}, "error_contains_any": []string{"Cannot find module"}, "remediation": "run npm ci in /opt/tool"},
			}
		})
		y, o := s.run()
		if reported := has(o, homeboy.DiagnosticDependencyFailure); reported != lacks || strings.Contains(fmt.Sprint(o.Diagnostics), "the tool's modules (run npm ci in /opt/tool)") != lacks {
			s.fatal(y, o, "%s: want it told: %v", text, lacks)
		}
		var f *failure.Error
		if !errors.As(y.Err, &f) || (f.Remedy == "run npm ci in /opt/tool") != lacks {
			s.fatal(y, o, "%s: the failure is %v", text, y.Err)
		}
	}
}

// Edge case 51: what a provider says within the grace counts, when it ends by itself.
func TestAnOutcomeInTheGrace(t *testing.T) {
	t.Parallel()
	for limit := 5000; ; limit *= 3 { // the grace is a tenth: a machine that is slower gets more
		s := play(t, `told=$(printf %s "$request" | sed 's/.*"timeout_ms":\([0-9]*\).*/\1/'); echo "$told" >told; sleep `+fmt.Sprint(limit/1000)+`.1; answer timeout 'my own word'`)
		s.ask(map[string]any{"limits": map[string]any{"timeout_ms": limit, "liveness_timeout_ms": 100_000}})
		y, o := s.run()
		if y.Proc.TimedOut && limit < 40_000 {
			continue
		}
		if o.Summary != "my own word" || y.Proc.TimedOut || y.Class != failure.Timeout || s.read("told") != fmt.Sprint(limit) {
			s.fatal(y, o, "told %q", s.read("told"))
		}
		return
	}
}

// Edge case 51: a request without a limit has one all the same, the contract's or a lower one of the adapter.
func TestTheDefaultLimit(t *testing.T) {
	t.Parallel()
	for adapter, want := range map[time.Duration]string{time.Hour: "1200000", time.Minute: "60000"} {
		s := play(t, `printf %s "$request" | sed 's/.*"timeout_ms":\([0-9]*\).*/\1/' >told; answer succeeded done`)
		s.Job.Adapter.Packaged.TimeoutMS, s.Job.Timeout = adapter.Milliseconds(), 0
		s.ask(map[string]any{"limits": map[string]any{}})
		if y, o := s.run(); o.Status != homeboy.Succeeded || s.read("told") != want {
			s.fatal(y, o, "told %q, want %s", s.read("told"), want)
		}
	}
}

// Edge case 61: a child that never reads does not hold up the limit, and closing its standard input early does a child no
// harm.
func TestARequestThatNobodyReads(t *testing.T) {
	t.Parallel()
	big := map[string]any{"inputs": map[string]any{"text": strings.Repeat("x", 5<<20)}, "limits": map[string]any{"timeout_ms": 500}}
	s := stage(t, map[string]string{"run": "#!/bin/sh\nsleep 1000\n"})
	s.ask(big)
	if y, o := s.run(); o.Status != homeboy.Timeout || y.Class != failure.Timeout {
		s.fatal(y, o, "it never reads")
	}
	big["limits"] = map[string]any{"timeout_ms": 30_000}
	s = stage(t, map[string]string{"run": "#!/bin/sh\nexec <&-\n" + `printf '{"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"succeeded"}'` + "\n"})
	s.ask(big)
	if y, o := s.run(); o.Status != homeboy.Succeeded || y.Class != failure.None {
		s.fatal(y, o, "it closes stdin")
	}
}

// Edge case 53: a deadline that has passed starts nothing; one that is near leaves no grace.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	s := play(t, `touch ran; answer succeeded done`)
	s.ask(map[string]any{"limits": map[string]any{"execution_deadline_unix_ms": 1_000}})
	err := s.look()
	var r *driver.Refusal
	if !errors.As(err, &r) || r.Code != packaged.CodeDeadline || r.Class != string(homeboy.ClassTimeout) || failure.ClassOf(err) != failure.Config {
		t.Errorf("%v", err)
	}
	if s.read("ran") != "" {
		t.Error("it was started")
	}
}

// Edge cases 47, 62 and 64: the environment is what is declared.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"process", "namespace"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			s := play(t, `env >env.txt; printf 'protocol=https\nhost=example.invalid\n\n' | git credential fill >credential.txt 2>/dev/null; git init -q . && git remote add origin https://example.invalid/x.git; git push origin HEAD >push.txt 2>&1; echo "exit $?" >>push.txt; git status >/dev/null && echo ok >status.txt; pwd >pwd.txt; answer succeeded done`,
				func(p map[string]any) {
					delete(p, "command")
					p["invocation"] = map[string]any{"argv": []string{"{{runtime_path}}/run"}, "env": []any{map[string]any{"name": "MODE", "value": "{{runtime_path}}/x"}}}
					p["secret_env_requirements"] = []any{map[string]any{"env": []string{"FAKE_TOKEN"}, "required": false}}
				})
			s.ask(map[string]any{
				"executor": map[string]any{"backend": "fake", "config": map[string]any{"temperature": 1}},
				"policy":   map[string]any{"tools": map[string]any{"default_location": "runner", "commands": map[string]any{"mode": "deny_list", "deny": []any{map[string]any{"pattern": "rm **"}}}}},
			})
			// The operator's git would find a password.
			home := strings.TrimPrefix(s.environ[1], "HOME=")
			if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[credential]\n\thelper = \"!f() { echo username=u; echo password=hunter2; }; f\"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if isolation == "namespace" {
				s.contain()
			}
			y, o := s.run()
			if o.Status != homeboy.Succeeded {
				s.fatal(y, o, "")
			}
			env := s.read("env.txt")
			if got := s.read("credential.txt"); strings.Contains(got, "password") {
				t.Errorf("git has a credential: %s", got)
			}
			for _, want := range []string{
				"HOMEBOY_AGENT_TASK_PROVIDER_ID=fake.agent", "HOMEBOY_AGENT_RUNTIME_ID=fake", "HOMEBOY_AGENT_RUNTIME_PATH=" + s.pkg, "HOMEBOY_RUNTIME_PATH=" + s.pkg,
				`HOMEBOY_AGENT_TASK_EXECUTOR_CONFIG_JSON={"runtime_env":{"TMPDIR":`, `"temperature":1`, `"pattern":"rm **"`, "MODE=" + s.pkg + "/x",
				"GIT_TERMINAL_PROMPT=0", "HOMEBOY_AGENT_TASK_ARTIFACTS_DIR=", `"secret_env_names":["FAKE_TOKEN"]`, `"configured":false`,
			} {
				if !strings.Contains(env, want) {
					t.Errorf("no %s in\n%s", want, env)
				}
			}
			for _, hidden := range []string{"AWS_SECRET", "undeclared", "DEED_RESULT_FILE"} {
				if strings.Contains(env, hidden) {
					t.Errorf("%s is in the environment", hidden)
				}
			}
			if s.read("status.txt") != "ok" || strings.Contains(s.read("push.txt"), "exit 0") {
				t.Errorf("git: %q, %q", s.read("status.txt"), s.read("push.txt"))
			}
		})
	}
}

// Edge case 39: the plan of secrets that a provider gets says which there are and where they are from, and not what they are.
func TestThePlanOfSecrets(t *testing.T) {
	t.Parallel()
	const token = "a-token-of-the-operator"
	s := play(t, `printf %s "$HOMEBOY_AGENT_TASK_SECRET_ENV_PLAN_JSON" >plan.json; printf %s "$FAKE_TOKEN" >token.txt; answer succeeded done`, func(p map[string]any) {
		p["secret_requirements"] = []any{map[string]any{"name": "FAKE_TOKEN"}, map[string]any{"name": "OTHER", "required": false}}
	})
	s.driver = packaged.New(packaged.Options{Environ: append([]string{"FAKE_TOKEN=" + token}, s.environ...)})
	s.H.Driver = s.driver
	if y, o := s.run(); o.Status != homeboy.Succeeded || s.read("token.txt") != token {
		s.fatal(y, o, "the provider has %q", s.read("token.txt"))
	}
	text := s.read("plan.json")
	if strings.Contains(text, token) || strings.Contains(text, "an-undeclared-key") {
		t.Errorf("the plan holds a value: %s", text)
	}
	var plan struct {
		Schema       string
		Names        []string `json:"secret_env_names"`
		Requirements []struct {
			Name     string
			Required bool
		}
		Status []struct {
			Name, Source string
			Configured   bool
		}
	}
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if got, want := fmt.Sprint(plan), "{homeboy/secret-env-plan/v1 [FAKE_TOKEN OTHER] [{FAKE_TOKEN true} {OTHER false}] [{FAKE_TOKEN environment true} {OTHER  false}]}"; got != want {
		t.Errorf("the plan is %s, want %s", got, want)
	}
}

// Edge case 67: a command that cannot be run is reported as such, before the start where that can be known.
func TestCommandsThatAreNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		edit  edit
		mode  os.FileMode
	}{
		"it is not there":     {map[string]string{}, func(map[string]any) {}, 0},
		"a directory":         {map[string]string{"run/x": ""}, func(map[string]any) {}, 0},
		"not executable":      {map[string]string{"run": "#!/bin/sh\n"}, func(map[string]any) {}, 0o644},
		"no such interpreter": {map[string]string{"run": "#!/no/such/interpreter\n"}, func(map[string]any) {}, 0},
		"no such program":     {map[string]string{}, func(p map[string]any) { p["command_argv"] = []string{"no-such-program-anywhere"} }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stage(t, c.files, c.edit)
			if c.mode != 0 {
				if err := os.Chmod(filepath.Join(s.pkg, "run"), c.mode); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.look(); err != nil {
				var r *driver.Refusal
				if !errors.As(err, &r) || r.Code != packaged.CodeCommandUnavailable {
					t.Errorf("%v", err)
				}
				return
			}
			y, o := s.run()
			if !has(o, "agent_task.provider_command_unavailable") || y.Class != failure.Spawn {
				s.fatal(y, o, "")
			}
		})
	}
}

// Edge case 65: a working directory that was replaced is not entered.
func TestADirectoryThatWasReplaced(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(old, dir string) error{
		"by a link":            func(old, dir string) error { return os.Symlink(old, dir) },
		"by another directory": func(_, dir string) error { return os.Mkdir(dir, 0o755) },
		"by nothing":           func(string, string) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, `touch ran; answer succeeded done`)
			if err := s.look(); err != nil {
				t.Fatal(err)
			}
			ses, err := s.driver.Start(t.Context(), s.Job)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = ses.Close(context.WithoutCancel(t.Context())) }()
			dir := s.Job.Dirs.Workspace
			if err := errors.Join(os.Rename(dir, dir+".old"), replace(dir+".old", dir)); err != nil {
				t.Fatal(err)
			}
			y, err := ses.Turn(t.Context(), driver.Input{Turn: 1}, driver.Discard)
			var r *driver.Refusal
			if err == nil {
				err = y.Err
			}
			if !errors.As(err, &r) || r.Code != packaged.CodeIdentityChanged {
				t.Errorf("%v", err)
			}
			if _, err := os.Lstat(filepath.Join(dir+".old", "ran")); err == nil {
				t.Error("it was started")
			}
		})
	}
}

// A refusal of the gate is answered by another run, which gets the reasons.
func TestTheGatesReasonsAreTold(t *testing.T) {
	t.Parallel()
	s := play(t, `n=$(ls | grep -c seen); printf %s "$request" >seen-$n.json; answer succeeded "run $n"`)
	if err := s.look(); err != nil {
		t.Fatal(err)
	}
	ses, err := s.driver.Start(t.Context(), s.Job)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ses.Close(context.WithoutCancel(t.Context())) }()
	for turn, text := range []string{"", "The check lint failed."} {
		y, err := ses.Turn(t.Context(), driver.Input{Turn: turn + 1, Text: text}, s)
		if err != nil || y.Kind != driver.YieldCompletion || y.Claim.Summary != fmt.Sprintf("run %d", turn) {
			t.Fatalf("turn %d: %v, %+v", turn+1, err, y)
		}
		if ses.(driver.Finite).Done() {
			t.Error("it is done")
		}
	}
	var q homeboy.Request
	if err := json.Unmarshal([]byte(s.read("seen-1.json")), &q); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(q.Instructions, "Say hello.\n\nThe check lint failed.") || !strings.Contains(string(q.Inputs), `"gate_feedback":"The check lint failed."`) {
		t.Errorf("%q, %s", q.Instructions, q.Inputs)
	}
	for _, name := range []string{"provider-request.json", "provider-request-2.json", "outcome.json", "outcome-2.json", "provider-evidence-2.json"} {
		if !json.Valid([]byte(s.record(name))) {
			t.Errorf("%s is not JSON", name)
		}
	}
}

// Progress lines on stderr become events, others do not; none of them shows a secret.
func TestProgress(t *testing.T) {
	t.Parallel()
	s := play(t, `echo 'HOMEBOY_PROGRESS step 1' >&2; echo 'just a log line about progress' >&2; echo '{"type":"progress","message":"half '$FAKE_TOKEN'","n":50}' >&2
echo '{"type":"log","message":"x"}' >&2; echo '{"progress":0.5' >&2; answer succeeded done`, func(p map[string]any) { p["secret_requirements"] = []any{map[string]any{"name": "FAKE_TOKEN"}} })
	s.Job.Secrets = map[string]string{"FAKE_TOKEN": "a-token-that-is-long"}
	y, o := s.run()
	if n := strings.Count(strings.Join(s.Kinds(), " "), driver.EventProgress); n != 2 {
		s.fatal(y, o, "%d events in %v", n, s.Kinds())
	}
	if strings.Contains(s.ReadFile(y.StderrPath), "a-token") {
		t.Error("the token is in the record")
	}
}

// A provider in each language of the wild: sh, node, python and Go, in the shapes that real packages have.
func TestLanguages(t *testing.T) {
	t.Parallel()
	programs := map[string]struct {
		tool    string
		files   func(t *testing.T) map[string]string
		command []string
	}{
		"node": {"node", func(*testing.T) map[string]string {
			return map[string]string{"lib/say.cjs": "exports.hello = (q) => 'hello ' + q.task_id;\n", "scripts/run.cjs": `
const {hello} = require('../lib/say.cjs');
const fs = require('fs'), path = require('path');
const q = JSON.parse(fs.readFileSync(0, 'utf8'));
const file = path.join('.homeboy', 'fake', 'outcome.json');
fs.mkdirSync(path.dirname(file), {recursive: true});
const o = {schema: 'homeboy/agent-task-outcome/v1', task_id: q.task_id, status: 'succeeded', summary: hello(q),
  diagnostics: [{classification: 'execution', message: 'all good', exit_code: 0}],
  artifacts: [{id: 'outcome', kind: 'report', path: file}], evidence_refs: [{kind: 'log', url: 'https://example.com/1'}]};
fs.writeFileSync(file, JSON.stringify(o));
console.log(JSON.stringify(o));
`}
		}, []string{"node", "{{runtime_path}}/scripts/run.cjs"}},
		"python": {"python3", func(*testing.T) map[string]string {
			return map[string]string{"run.py": `
import json, os, sys
q = json.load(sys.stdin)
os.makedirs('.homeboy/fake', exist_ok=True)
open('.homeboy/fake/outcome.json', 'w').write('{}')
json.dump({'schema': 'homeboy/agent-task-outcome/v1', 'task_id': q['task_id'], 'status': 'succeeded', 'summary': 'hello ' + q['task_id'],
  'diagnostics': [{'classification': 'execution', 'message': 'all good'}], 'artifacts': [{'id': 'outcome', 'kind': 'report', 'path': os.path.abspath('.homeboy/fake/outcome.json')}],
  'evidence_refs': [{'kind': 'log', 'url': 'https://example.com/1'}]}, sys.stdout)
`}
		}, []string{"python3", "{{runtime_path}}/run.py"}},
		"go": {"go", goProvider, []string{"{{runtime_path}}/provider"}},
	}
	for name, p := range programs {
		for _, isolation := range []string{"process", "namespace"} {
			t.Run(name+"/"+isolation, func(t *testing.T) {
				t.Parallel()
				search, argv := os.Getenv("PATH"), slices.Clone(p.command)
				if isolation == "namespace" && name != "go" {
					search = "/usr/local/bin:/usr/bin:/bin" // the sandbox of this test shows no other
				}
				file, err := proc.LookPath(p.tool, search, "/")
				if err != nil {
					t.Skipf("missing tool: %s: apt-get install it: %v", p.tool, err)
				}
				if argv[0] == p.tool {
					argv[0] = file
				}
				s := stage(t, p.files(t), func(m map[string]any) {
					delete(m, "command")
					m["invocation"] = map[string]any{"argv": argv}
					m["workspace_materialization"] = map[string]any{"cwd": "request_workspace", "write_scope": "artifacts", "artifact_paths": []string{".homeboy/fake"}}
				})
				if isolation == "namespace" {
					s.contain()
				}
				y, o := s.run()
				if o.Status != homeboy.Succeeded || o.Summary != "hello t1" || y.Kind != driver.YieldCompletion {
					s.fatal(y, o, "")
				}
				if len(o.EvidenceRefs) == 0 || o.EvidenceRefs[0].URI != "https://example.com/1" || len(o.Artifacts) != 1 || o.Artifacts[0].SHA256 == "" {
					s.fatal(y, o, "evidence and artifacts")
				}
				// What it left for artifacts is an artifact of the attempt, and no change of the workspace.
				if _, err := os.Lstat(filepath.Join(s.Job.Dirs.Artifacts, packaged.ArtifactTree, ".homeboy/fake/outcome.json")); err != nil {
					t.Error(err)
				}
				if left, err := os.ReadDir(s.Job.Dirs.Workspace); err != nil || len(left) != 0 {
					t.Errorf("the workspace holds %v, %v", left, err)
				}
				if len(y.Records) < 3 {
					t.Errorf("records: %v", y.Records)
				}
			})
		}
	}
}

// goProvider builds a provider in Go.
func goProvider(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module provider\n\ngo 1.26\n", "main.go": `package main

import (
	"encoding/json"
	"os"
)

func main() {
	var q struct{ TaskID string ` + "`json:\"task_id\"`" + ` }
	if err := json.NewDecoder(os.Stdin).Decode(&q); err != nil {
		os.Exit(2)
	}
	_ = os.MkdirAll(".homeboy/fake", 0o755)
	_ = os.WriteFile(".homeboy/fake/outcome.json", []byte("{}"), 0o644)
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"schema": "homeboy/agent-task-outcome/v1", "task_id": q.TaskID, "status": "succeeded", "summary": "hello " + q.TaskID,
		"artifacts": []any{map[string]any{"id": "outcome", "kind": "report", "path": ".homeboy/fake/outcome.json"}},
		"evidence_refs": []any{map[string]any{"kind": "log", "url": "https://example.com/1"}},
	})
}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := proc.Tool(t.Context(), proc.ToolSpec{Argv: []string{"go", "build", "-buildvcs=false", "-o", "provider", "."}, Dir: dir, Env: append(os.Environ(), "CGO_ENABLED=0"), MaxOutput: 1 << 20})
	if err == nil {
		err = r.Check()
	}
	if err != nil {
		t.Fatalf("build the provider: %v", err)
	}
	binary, err := os.ReadFile(filepath.Join(dir, "provider"))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"provider": string(binary)}
}

// A program that npm installed is a link on the PATH to a script, which starts files of the package next to it.
func TestProgramsOfNpm(t *testing.T) {
	t.Parallel()
	s := play(t, `answer succeeded "$("$AGENT_BIN")"`, func(p map[string]any) {
		p["runner_readiness"] = []any{map[string]any{"id": "agent", "executable": map[string]any{"env": []string{"AGENT_BIN"}, "candidates": []string{"agent"}}}}
	})
	modules := filepath.Join(t.TempDir(), "lib", "node_modules")
	for name, text := range map[string]string{
		"@x/agent/package.json": "{}", "@x/agent/bin/agent.sh": "#!/bin/sh\nexec \"${0%/*}/../../native/run\"\n", "@x/native/run": "#!/bin/sh\necho from the native one\n",
	} {
		file := filepath.Join(modules, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	bin := t.TempDir()
	if err := os.Symlink(filepath.Join(modules, "@x", "agent", "bin", "agent.sh"), filepath.Join(bin, "agent")); err != nil {
		t.Fatal(err)
	}
	s.environ[0] += string(filepath.ListSeparator) + bin
	s.contain()
	if _, o := s.run(); o.Summary != "from the native one" {
		t.Errorf("%s: %s", o.Status, o.Summary)
	}
}

// A check without a variable passes nothing on about the program that it found: in a sandbox the program can still be called by
// its name, with the files next to it.
func TestProgramsByTheirNames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		link  string // what the name on the PATH leads to; empty: it is a file there
	}{
		"a file": {map[string]string{"agent": "#!/bin/sh\necho found\n"}, ""},
		"a link": {map[string]string{"opt/agent-1.2": "#!/bin/sh\necho found\n"}, "opt/agent-1.2"},
		"npm":    {map[string]string{"lib/node_modules/@x/agent/run.sh": "#!/bin/sh\nexec \"$(dirname \"$(readlink -f \"$0\")\")/../native/run\"\n", "lib/node_modules/@x/native/run": "#!/bin/sh\necho found\n"}, "lib/node_modules/@x/agent/run.sh"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			bin := filepath.Join(dir, "bin")
			if err := os.Mkdir(bin, 0o755); err != nil {
				t.Fatal(err)
			}
			for file, text := range c.files {
				at := filepath.Join(dir, file)
				if c.link == "" {
					at = filepath.Join(bin, file)
				}
				if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o755)); err != nil {
					t.Fatal(err)
				}
			}
			if c.link != "" {
				if err := os.Symlink(filepath.Join(dir, c.link), filepath.Join(bin, "agent")); err != nil {
					t.Fatal(err)
				}
			}
			s := play(t, `answer succeeded "$(agent)"`, func(p map[string]any) {
				p["runner_readiness"] = []any{map[string]any{"id": "agent", "executable": map[string]any{"candidates": []string{"agent", "sh"}}}}
			})
			s.environ[0] += string(filepath.ListSeparator) + bin
			s.contain()
			if _, o := s.run(); o.Summary != "found" {
				t.Errorf("%s: %s", o.Status, o.Summary)
			}
			if entries, err := os.ReadDir(filepath.Join(s.Job.Dirs.Home, ".local", "bin")); err != nil || len(entries) != 1 || entries[0].Name() != "agent" {
				t.Errorf("%v, %v", entries, err)
			}
		})
	}
}
