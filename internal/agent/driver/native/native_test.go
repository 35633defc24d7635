package native_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/native"
	"github.com/deedrun/deed/internal/agent/model/scripted"
	"github.com/deedrun/deed/internal/agent/tool"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

func TestMain(m *testing.M) {
	switch {
	case proc.IsSupervisor(os.Args):
		os.Exit(proc.SupervisorMain(os.Args))
	case sandbox.IsInner(os.Args):
		os.Exit(sandbox.InnerMain(os.Args))
	case tool.IsHost(os.Args):
		os.Exit(tool.HostMain(os.Args))
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"), // idle connections of the shared client
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"))
}

// The work: a shell script that adds wrongly, and a test that says so. It needs nothing but a shell.
const (
	wrong = "echo $(($1 - $2))\n"
	test  = `[ "$(sh add.sh 2 3)" = 5 ] && echo PASS || { echo "FAIL: got $(sh add.sh 2 3)"; exit 1; }` + "\n"
)

const scenarios = `
schema: deed/model-script/v1
scenarios:
  fix:
    steps:
      - {tool: read, path: add.sh}
      - {tool: shell, command: sh test.sh}
      - {tool: write, path: add.sh, content: "echo $(($1 + $2))\n"}
      - {tool: shell, command: sh test.sh}
      - {tool: complete, summary: "add.sh adds now; the test passes."}
  lazy:
    turns:
      - - {tool: complete, summary: "All tests pass."}
      - - {tool: write, path: add.sh, content: "echo $(($1 + $2))\n"}
        - {tool: shell, command: sh test.sh}
        - {text: "Now it adds."}
  spy:
    steps:
      - {tool: shell, command: "env | sort; ls -a /proc/$PPID/root/ >/dev/null; echo $THE_SECRET"}
      - {text: "looked"}
  hang:
    steps:
      - {tool: shell, command: "touch up; trap '' TERM; (setsid sleep 1000 &) ; while :; do sleep 1000; done"}
  killer:
    steps:
      - {tool: shell, command: "p=$PPID; while read -r n v r; do [ \"$n\" = PPid: ] && kill -9 $v && break; done </proc/$p/status; sleep 100"}
      - {tool: list, path: .}
      - {text: "still here"}
  forger:
    steps:
      - {tool: shell, command: "for f in /proc/[0-9]*/fd/*; do case $f in /proc/$$/*) ;; *) printf 'd\\000\\000\\000\\002{}' 2>/dev/null >$f;; esac; done 2>/dev/null; echo honest; exit 7"}
      - {tool: read, path: add.sh}
      - {text: "forged"}
  result:
    steps:
      - {tool: shell, command: "echo '{\"status\": \"permanent_failure\", \"operator_summary\": \"cannot\"}' >$DEED_RESULT_FILE"}
      - {text: "I cannot do it."}
  nokey:
    steps:
      - {error: 401}
`

type bench struct {
	t      *testing.T
	server *scripted.Server
	job    driver.Job

	mu     sync.Mutex // events come from several goroutines
	events []string
	usage  int64
	detail map[string][]any
}

func newBench(t *testing.T, scenario string, kind sandbox.Kind) *bench {
	t.Helper()
	script, err := scripted.Parse([]byte(scenarios))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, server: scripted.New(script), detail: map[string][]any{}}
	if _, err := b.server.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.server.Close() })
	dir := t.TempDir()
	mk := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	d := driver.Dirs{Workspace: mk("workspace"), Home: mk("home"), Tmp: mk("tmp"), Artifacts: mk("artifacts"), Exchange: mk("exchange"), Run: mk("run")}
	for name, text := range map[string]string{"add.sh": wrong, "test.sh": test} {
		if err := os.WriteFile(filepath.Join(d.Workspace, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	spec := sandbox.Spec{Kind: kind}
	if kind == sandbox.Namespace {
		if testing.Short() {
			t.Skip("short: needs a sandbox")
		}
		spec.Mounts = []sandbox.Mount{
			{Source: d.Workspace, Target: "/workspace", Writable: true},
			{Source: d.Home, Target: "/home/agent", Writable: true},
			{Source: d.Tmp, Target: "/tmp", Writable: true},
			{Source: d.Exchange, Target: "/run/deed/exchange", Writable: true},
			{Source: d.Artifacts, Target: "/run/deed/artifacts", Writable: true},
		}
	}
	box, err := sandbox.New(t.Context(), spec)
	if failure.ClassOf(err) == failure.Isolation {
		t.Skipf("missing tool: bwrap: apt-get install bubblewrap (%v)", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	sup, err := proc.NewSupervisor(t.Context(), proc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sup.Close(); err != nil {
			t.Error(err)
		}
	})
	b.job = driver.Job{
		TaskID: uuid.NewString(), AttemptID: uuid.NewString(), Brief: "Make the test pass.", Dirs: d, Grace: 100 * time.Millisecond,
		Supervisor: sup, Sandbox: box, Redactor: redact.New(map[string]string{"KEY": theKey}),
		Adapter: agentruntime.AdapterConfig{Native: &agentruntime.NativeAdapter{
			AdapterID: "own", Kind: agentruntime.KindNative, Model: "scripted", TimeoutMS: 60_000, Env: map[string]string{"MODEL_KEY": theKey, "OTHER": "x"},
			Provider: agentruntime.NativeProvider{API: agentruntime.APIAnthropic, BaseURL: b.server.URL(scenario), KeyEnv: "MODEL_KEY"},
		}},
	}
	return b
}

const theKey = "sk-test-0123456789abcdef"

func (b *bench) Event(kind string, detail any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, kind)
	b.detail[kind] = append(b.detail[kind], detail)
	if u, ok := detail.(agentruntime.Usage); ok && kind == driver.EventUsage {
		b.usage += u.InputTokens
	}
}

func (b *bench) start() driver.Session {
	b.t.Helper()
	s, err := native.New().Start(b.t.Context(), b.job)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

// turn takes a turn and checks what holds for every one.
func (b *bench) turn(ctx context.Context, s driver.Session, in driver.Input) driver.Yield {
	b.t.Helper()
	y, err := s.Turn(ctx, in, b)
	if err != nil {
		b.t.Fatal(err)
	}
	if left, err := proc.FindByEnv("DEED_ATTEMPT_ID", b.job.AttemptID); err != nil || len(left) > 0 {
		b.t.Errorf("processes left: %v, %v", left, err)
	}
	if (y.Err == nil) != (y.Class == failure.None) || y.ExitStatus != y.Class.Rule().Exit || y.Kind == "" {
		b.t.Errorf("%+v", y)
	}
	for _, path := range []string{y.StdoutPath, y.LastMessagePath, y.ResultPath} {
		if path == "" {
			continue
		}
		if data, err := os.ReadFile(path); err != nil || strings.Contains(string(data), theKey) {
			b.t.Errorf("%s: %v", path, err)
		}
	}
	return y
}

func (b *bench) fixed() bool {
	data, err := os.ReadFile(filepath.Join(b.job.Dirs.Workspace, "add.sh"))
	return err == nil && strings.Contains(string(data), "+")
}

func kinds(t *testing.T, run func(t *testing.T, kind sandbox.Kind)) {
	for _, kind := range []sandbox.Kind{sandbox.Process, sandbox.Namespace} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			run(t, kind)
		})
	}
}

// TestFixesATest works through every interface, contained and not.
func TestFixesATest(t *testing.T) {
	t.Parallel()
	for api, path := range map[string]string{
		agentruntime.APIAnthropic: "", agentruntime.APIOpenAIResponses: "/v1", agentruntime.APIOpenAIChat: "/v1", agentruntime.APIOllama: "",
	} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			kinds(t, func(t *testing.T, kind sandbox.Kind) {
				b := newBench(t, "fix", kind)
				b.job.Adapter.Native.Provider.API = api
				b.job.Adapter.Native.Provider.BaseURL += path
				y := b.turn(t.Context(), b.start(), driver.Input{Turn: 1})
				if y.Kind != driver.YieldCompletion || y.Claim == nil || y.Claim.Source != driver.SourceStream || y.Claim.Summary != "add.sh adds now; the test passes." || !b.fixed() {
					t.Fatalf("%+v", y)
				}
				transcript, err := os.ReadFile(y.StdoutPath)
				if err != nil {
					t.Fatal(err)
				}
				for _, want := range []string{"FAIL: got -1", "[exit code 1]", "PASS"} {
					if !strings.Contains(string(transcript), want) {
						t.Errorf("%q is not in\n%s", want, transcript)
					}
				}
				if message, err := os.ReadFile(y.LastMessagePath); err != nil || string(message) != y.Claim.Summary {
					t.Errorf("%q, %v", message, err)
				}
				all := strings.Join(b.events, " ")
				for _, want := range []string{"session", "process_started", "usage", "turn", "tool_call", "tool_result", "process_ended", "claim"} {
					if !strings.Contains(all, want) {
						t.Errorf("no event %s in %s", want, all)
					}
				}
				if strings.Count(all, "process_started") != 1 || b.usage == 0 {
					t.Errorf("%d tokens, %s", b.usage, all)
				}
			})
		})
	}
}

// TestStopsTooEarly: an agent that stops too early is refused, gets the reason in the same conversation, and fixes its work; in the same
// session, and in another one.
func TestStopsTooEarly(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		b := newBench(t, "lazy", sandbox.Process)
		s := b.start()
		y := b.turn(t.Context(), s, driver.Input{Turn: 1})
		if y.Kind != driver.YieldCompletion || b.fixed() {
			t.Fatalf("%+v", y)
		}
		if again {
			b.job.Resume = s.Ref()
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			s = b.start()
		}
		y = b.turn(t.Context(), s, driver.Input{Turn: 2, Text: "Not accepted: sh test.sh: exit 1"})
		if y.Kind != driver.YieldCompletion || y.Claim.Summary != "Now it adds." || !b.fixed() || !strings.HasSuffix(y.StdoutPath, "stdout-2.log") {
			t.Fatalf("%+v", y)
		}
		var first, second driver.SessionInfo
		first, _ = b.detail[driver.EventSession][0].(driver.SessionInfo)
		second, _ = b.detail[driver.EventSession][1].(driver.SessionInfo)
		if first.ID == "" || first.ID != second.ID || second.Resumed != again {
			t.Errorf("%+v, %+v", first, second)
		}
		requests := b.server.Requests()
		if body := string(requests[len(requests)-1].Body); !strings.Contains(body, "Not accepted: sh test.sh") || !strings.Contains(body, "Make the test pass.") {
			t.Errorf("another conversation: %s", body)
		}
	}
}

func TestTheKeyStaysOutside(t *testing.T) {
	t.Parallel()
	b := newBench(t, "spy", sandbox.Process)
	b.job.Secrets = map[string]string{"THE_SECRET": "very-secret-value-1"}
	b.job.Redactor = redact.New(map[string]string{"THE_SECRET": "very-secret-value-1", "MODEL_KEY": theKey})
	if y := b.turn(t.Context(), b.start(), driver.Input{Turn: 1}); y.Kind != driver.YieldCompletion {
		t.Fatalf("%+v", y)
	}
	requests := b.server.Requests()
	body := string(requests[len(requests)-1].Body)
	if strings.Contains(body, "MODEL_KEY") || strings.Contains(body, theKey) || strings.Contains(body, "very-secret-value-1") {
		t.Errorf("the model was told: %s", body)
	}
	if !strings.Contains(body, "OTHER=x") || !strings.Contains(body, "DEED_ATTEMPT_ID") {
		t.Errorf("the environment: %s", body)
	}
	creds, err := native.New().Credentials(b.job.Adapter)
	if err != nil || creds["MODEL_KEY"] != theKey {
		t.Errorf("%v, %v", creds, err)
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	budget := failure.New(failure.Budget, "meter", errors.New("used up"), "")
	for name, tc := range map[string]struct {
		cause error // nil: the timeout
		class failure.Class
	}{
		"timeout": {nil, failure.Timeout}, "canceled": {driver.ErrCanceled, failure.Canceled}, "interrupted": {driver.ErrInterrupted, failure.Interrupted}, "budget": {budget, failure.Budget},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kinds(t, func(t *testing.T, kind sandbox.Kind) {
				b := newBench(t, "hang", kind)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if tc.cause == nil {
					b.job.Timeout = 2 * time.Second
				} else {
					go func() {
						tick := time.NewTicker(10 * time.Millisecond)
						defer tick.Stop()
						for {
							if _, err := os.Stat(filepath.Join(b.job.Dirs.Workspace, "up")); err == nil {
								cancel(tc.cause)
								return
							}
							select {
							case <-tick.C:
							case <-ctx.Done():
								return
							}
						}
					}()
				}
				y := b.turn(ctx, b.start(), driver.Input{Turn: 1})
				if y.Kind != driver.YieldEnd || y.Class != tc.class || y.Proc.TimedOut != (tc.cause == nil) || y.Proc.Canceled != (tc.cause != nil) {
					t.Errorf("%+v", y)
				}
			})
		})
	}
}

func TestSurvivesItsOwnCommands(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind sandbox.Kind) {
		b := newBench(t, "killer", kind)
		y := b.turn(t.Context(), b.start(), driver.Input{Turn: 1})
		if y.Kind != driver.YieldCompletion || y.Claim.Summary != "still here" {
			t.Fatalf("%+v", y)
		}
		var first agentruntime.ToolResult
		if first, _ = b.detail[driver.EventToolResult][0].(agentruntime.ToolResult); first.ErrorType != tool.TypeHostLost {
			t.Errorf("%+v", first)
		}
	})
}

// What a contained command writes into the pipes of those who watch over it is no answer of theirs, and their environment is
// not for it to read.
func TestACommandForgesNoAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, "forger", sandbox.Namespace)
	b.turn(t.Context(), b.start(), driver.Input{Turn: 1})
	var results []agentruntime.ToolResult
	for _, d := range b.detail[driver.EventToolResult] {
		r, _ := d.(agentruntime.ToolResult)
		results = append(results, r)
	}
	// Its own call is lost by that, as when it kills the host. Nothing of it is taken for what came of this call or of the next.
	if len(results) != 2 || results[0].ErrorType != tool.TypeHostLost || !strings.Contains(results[0].Output, "somebody else wrote it") || !strings.Contains(results[1].Output, "echo $(($1") {
		t.Errorf("%+v", results)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	b := newBench(t, "result", sandbox.Process)
	y := b.turn(t.Context(), b.start(), driver.Input{Turn: 1})
	if y.Kind != driver.YieldEnd || y.Class != failure.AskedFail || y.Claim.Source != driver.SourceResultFile || y.ResultPath == "" {
		t.Errorf("%+v", y)
	}
	b = newBench(t, "nokey", sandbox.Process)
	if y := b.turn(t.Context(), b.start(), driver.Input{Turn: 1}); y.Class != failure.Config {
		t.Errorf("%+v", y)
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*driver.Job){
		"another kind": func(j *driver.Job) { j.Adapter = agentruntime.AdapterConfig{Script: &agentruntime.ScriptAdapter{}} },
		"no key":       func(j *driver.Job) { j.Adapter.Native.Provider.KeyEnv = "DEED_TEST_NO_SUCH_KEY" },
		"a guest that wants a variable of deed's": func(j *driver.Job) { j.Guest, j.Adapter.Native.Provider.KeyEnv = true, "PATH" },
		"no timeout":            func(j *driver.Job) { j.Adapter.Native.TimeoutMS = 0 },
		"no model":              func(j *driver.Job) { j.Adapter.Native.Model = "" },
		"an unknown interface":  func(j *driver.Job) { j.Adapter.Native.Provider.API = "telepathy" },
		"an odd address":        func(j *driver.Job) { j.Adapter.Native.Provider.BaseURL = "ftp://x" },
		"a conversation gone":   func(j *driver.Job) { j.Resume = "conv" },
		"a variable of deed's":  func(j *driver.Job) { j.Adapter.Native.Env = map[string]string{"DEED_X": "1", "MODEL_KEY": "k"} },
		"an environment file …": func(j *driver.Job) { j.Adapter.Native.EnvFile = "/nonexistent" },
	} {
		b := newBench(t, "fix", sandbox.Process)
		spoil(&b.job)
		if _, err := native.New().Start(t.Context(), b.job); failure.ClassOf(err) != failure.Config {
			t.Errorf("%s: %v", name, err)
		}
		if r := native.New().Ready(t.Context(), b.job.Adapter); r.Ready && (name == "no key" || name == "an unknown interface" || name == "another kind") {
			t.Errorf("%s: ready", name)
		}
	}
	b := newBench(t, "fix", sandbox.Process)
	if r := native.New().Ready(t.Context(), b.job.Adapter); !r.Ready {
		t.Errorf("%+v", r)
	}
	for name, allow := range map[string]func(*driver.Job){
		"the operator's own":            func(j *driver.Job) { j.Guest = false },
		"a guest with a key of its own": func(j *driver.Job) { j.Adapter.Native.Env = map[string]string{"PATH": "key-of-its-own"} },
		"a guest that is given it":      func(j *driver.Job) { j.Secrets = map[string]string{"PATH": "key-of-the-task"} },
	} {
		b := newBench(t, "fix", sandbox.Process)
		b.job.Guest, b.job.Adapter.Native.Provider.KeyEnv = true, "PATH"
		allow(&b.job)
		if s, err := native.New().Start(t.Context(), b.job); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestAnEarlierConversationIsKept starts a new conversation where another one was.
func TestAnEarlierConversationIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t, "fix", sandbox.Process)
	s := b.start()
	first := s.Ref()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if second := b.start().Ref(); second == first || second == "" {
		t.Errorf("%s, %s", first, second)
	}
	found, err := filepath.Glob(filepath.Join(b.job.Dirs.Run, "earlier-*", "conversation.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	data, err := os.ReadFile(found[0])
	var line struct {
		Detail struct {
			ID string `json:"id"`
		} `json:"detail"`
	}
	if err == nil {
		err = json.Unmarshal(data, &line)
	}
	if err != nil || line.Detail.ID != first {
		t.Errorf("%+v, %v", line, err)
	}
}
