package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/acp"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/agent/driver/drivertest"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

func TestMain(m *testing.M) {
	if os.Getenv(standInMode) != "" {
		os.Exit(standInMain())
	}
	if sandbox.IsInner(os.Args) {
		os.Exit(sandbox.InnerMain(os.Args))
	}
	drivertest.Main(m, func(m *testing.M) { goleak.VerifyTestMain(m) })
}

// shellAgent is an agent that says nothing of the protocol before its work is done.
const shellAgent = `
say() { printf '%s\n' "$*"; }
answer() { read -r request; say "{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":$2}"; }
ready() { answer 1 '{"protocolVersion":1}'; answer 2 '{"sessionId":"s-1"}'; }
update() { say "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s-1\",\"update\":$1}}"; }
ended() { ready; update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"That is all."}}'; answer 3 '{"stopReason":"end_turn"}'; }
finish() { printf '%s' "$1" >"$DEED_RESULT_FILE"; echo; ended; }
`

func adapter(command string, timeout time.Duration) agentruntime.AdapterConfig {
	return agentruntime.AdapterConfig{ACP: &agentruntime.ACPAdapter{AdapterID: "a", Kind: agentruntime.KindACP, Command: command, TimeoutMS: timeout.Milliseconds()}}
}

func harness() drivertest.Harness {
	return drivertest.Harness{Driver: acp.New(), Prelude: shellAgent, Adapter: adapter}
}

func TestConformance(t *testing.T) { drivertest.Run(t, harness()) }

// A bench is a job for the stand-in, and the events of that job.
type bench struct {
	*drivertest.Bench
	mu     sync.Mutex
	events []event
}

type event struct {
	kind   string
	detail any
}

func (b *bench) Event(kind string, detail any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, event{kind, detail})
}

// eventsOf returns the details of one kind.
func eventsOf[T any](b *bench, kind string) []T {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []T
	for _, e := range b.events {
		if e.kind == kind {
			out = append(out, e.detail.(T))
		}
	}
	return out
}

// newBench makes a bench for a scenario of the stand-in.
func newBench(t *testing.T, scenario string, env map[string]string) *bench {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Bench: drivertest.New(t, harness(), "")}
	a := b.Job.Adapter.ACP
	a.Command, a.Env = exe, map[string]string{standInMode: scenario}
	maps.Copy(a.Env, env)
	return b
}

func (b *bench) start() driver.Session {
	b.T.Helper()
	s, err := b.H.Driver.Start(b.T.Context(), b.Job)
	if err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

func (b *bench) turn(ctx context.Context, s driver.Session, in driver.Input) driver.Yield {
	b.T.Helper()
	y, err := s.Turn(ctx, in, b)
	if err != nil {
		b.T.Fatal(err)
	}
	b.MustBeGone()
	return y
}

// run takes one turn.
func (b *bench) run() driver.Yield {
	b.T.Helper()
	return b.turn(b.T.Context(), b.start(), driver.Input{Turn: 1})
}

// notes is what the stand-in wrote down.
func (b *bench) notes() string {
	data, _ := os.ReadFile(filepath.Join(b.Job.Dirs.Workspace, "notes"))
	return string(data)
}

func (b *bench) mustNote(parts ...string) {
	b.T.Helper()
	for _, p := range parts {
		if !strings.Contains(b.notes(), p) {
			b.T.Errorf("%q is not in\n%s", p, b.notes())
		}
	}
}

func TestAWholeTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t, "works", nil)
	s := b.start()
	y := b.turn(t.Context(), s, driver.Input{Turn: 1})
	if y.Kind != driver.YieldCompletion || y.Claim == nil || y.Claim.Source != driver.SourceStream || y.Claim.Summary != "All done." {
		t.Fatalf("%s, %s, %v, %+v", y.Kind, y.Class, y.Err, y.Claim)
	}
	b.mustNote("new "+b.Job.Dirs.Workspace, "prompt Do the work.")
	if got := b.ReadFile(y.LastMessagePath); got != "All done." {
		t.Errorf("last message: %q", got)
	}
	if !strings.Contains(s.Ref(), "ses-1") || y.Diagnostics["stop_reason"] != "end_turn" || y.Diagnostics["conversation"] != nil {
		t.Errorf("%s, %v", s.Ref(), y.Diagnostics)
	}
	if got := eventsOf[driver.SessionInfo](b, driver.EventSession); len(got) != 1 || got[0].ID != "ses-1" || got[0].Version != "stand-in 7" || got[0].Resumed {
		t.Errorf("sessions: %+v", got)
	}
	var texts []string
	for _, x := range eventsOf[driver.Text](b, driver.EventText) {
		texts = append(texts, fmt.Sprint(x.Text, x.Thinking))
	}
	if want := []string{"hmmtrue", "I look.false", "plan:\n- [pending] look\ntrue", "All done.false"}; !slices.Equal(texts, want) {
		t.Errorf("texts: %q", texts)
	}
	calls := eventsOf[agentruntime.ToolCall](b, driver.EventToolCall)
	if len(calls) != 2 || calls[0].Tool != "read" || string(calls[0].Input) != `{"path":"main.go"}` || calls[1].Tool != "execute" || !strings.Contains(string(calls[1].Input), "go test") {
		t.Errorf("calls: %+v", calls)
	}
	results := eventsOf[agentruntime.ToolResult](b, driver.EventToolResult)
	if len(results) != 2 || results[0].Output != "package main" || results[0].Status != agentruntime.ToolSuccess || results[1].Status != agentruntime.ToolFailure || results[1].Output != "it failed" {
		t.Errorf("results: %+v", results)
	}
	var sum agentruntime.Usage
	for _, u := range eventsOf[agentruntime.Usage](b, driver.EventUsage) {
		sum.InputTokens += u.InputTokens
		sum.OutputTokens += u.OutputTokens
		if u.CostMicroUSD != nil {
			sum.CacheWriteTokens += *u.CostMicroUSD
		}
	}
	if sum.InputTokens != 100 || sum.OutputTokens != 27 || sum.CacheWriteTokens != 500_000 {
		t.Errorf("usage: %+v", sum)
	}
	if turns := eventsOf[agentruntime.Turn](b, driver.EventTurn); len(turns) != 3 || turns[2].StopReason != "end_turn" || turns[2].Index != 3 {
		t.Errorf("turns: %+v", turns)
	}
}

// A guard gives the answers that it was set up with.
type guard struct {
	effect agentruntime.PolicyEffect
	err    error

	mu     sync.Mutex
	before []agentruntime.ToolCall
	after  []agentruntime.ToolResult
}

func (g *guard) Before(_ context.Context, c agentruntime.ToolCall) (agentruntime.PolicyDecision, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.before = append(g.before, c)
	return agentruntime.PolicyDecision{Effect: g.effect, Reason: "the rule says so"}, g.err
}

func (g *guard) After(_ context.Context, _ agentruntime.ToolCall, r agentruntime.ToolResult) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.after = append(g.after, r)
	return "", nil
}

func (*guard) Ask(context.Context, string) (string, error) { return "", driver.ErrAsked }

func TestPermissions(t *testing.T) {
	t.Parallel()
	all := "allow_always allow_once reject_once reject_always"
	for name, tc := range map[string]struct {
		guard         driver.Guard
		options, want string
		class         failure.Class
		trusted       bool
	}{
		"allowed":             {guard: &guard{effect: agentruntime.PolicyAllow}, options: all, want: "id-allow_once"},
		"denied":              {guard: &guard{effect: agentruntime.PolicyDeny}, options: all, want: "id-reject_once"},
		"asked of nobody":     {guard: &guard{effect: agentruntime.PolicyAsk}, options: all, want: "id-reject_once"},
		"never for ever":      {guard: &guard{effect: agentruntime.PolicyAllow}, options: "allow_always reject_once", want: "cancelled"},
		"denied for ever":     {guard: &guard{effect: agentruntime.PolicyDeny}, options: "allow_always reject_always", want: "id-reject_always"},
		"no way to deny":      {guard: &guard{effect: agentruntime.PolicyDeny}, options: "allow_once", want: "cancelled"},
		"no options":          {guard: &guard{effect: agentruntime.PolicyAllow}, options: "", want: "cancelled"},
		"nobody here":         {options: all, want: "id-reject_once"},
		"nobody, trusted":     {options: all, want: "id-allow_once", trusted: true},
		"a person is asked":   {guard: &guard{err: driver.ErrAsked}, options: all, class: failure.Blocked},
		"the guard fails":     {guard: &guard{err: errors.New("no store")}, options: all, class: failure.Infra},
		"the guard has class": {guard: &guard{err: failure.New(failure.Loop, "watch", errors.New("circles"), "")}, options: all, class: failure.Loop},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "asks", map[string]string{"OPTIONS": tc.options})
			b.Job.Guard = tc.guard
			if tc.trusted {
				b.Job.Adapter.ACP.Sandbox, b.Job.Adapter.ACP.Autonomy = agentcli.FullAccess, &agentruntime.HarnessAutonomy{Profile: agentruntime.AutonomyTrustedVM}
			}
			y := b.run()
			if tc.class == "" {
				tc.class = failure.None
				b.mustNote("permission " + tc.want)
			}
			if y.Class != tc.class || (y.Kind == driver.YieldRequiredAction) != (tc.class == failure.Blocked) {
				t.Errorf("%s, %s, %v", y.Kind, y.Class, y.Err)
			}
			if g, ok := tc.guard.(*guard); ok && (len(g.before) != 1 || g.before[0].CallID != "p1" || string(g.before[0].Input) != `{"command":"rm -rf x"}`) {
				t.Errorf("asked was %+v", g.before)
			}
			if calls := eventsOf[agentruntime.ToolCall](b, driver.EventToolCall); len(calls) != 1 {
				t.Errorf("told is %+v", calls)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t, "files", nil)
	g := &guard{effect: agentruntime.PolicyAllow}
	b.Job.Guard = g
	ws := b.Job.Dirs.Workspace
	at := func(name string) string { return filepath.Join(ws, name) }
	outside := filepath.Join(t.TempDir(), "victim")
	for _, err := range []error{
		os.WriteFile(at("a.txt"), []byte("one\ntwo\nthree\n"), 0o640), os.WriteFile(outside, []byte("secret"), 0o600),
		os.Symlink(outside, at("link")), os.Symlink(filepath.Dir(outside), at("dirlink")), os.Symlink("a.txt", at("inner")),
		syscall.Mkfifo(at("fifo"), 0o600), os.Mkdir(at("dir"), 0o700),
		os.WriteFile(at("big"), make([]byte, 5<<20), 0o600), os.WriteFile(at("latin"), []byte("caf\xe9"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	steps := [][3]string{
		{"read", at("a.txt")},
		{"read", at("a.txt"), "lines"},
		{"read", at("inner")},
		{"read", at("latin")},
		{"write", at("new/deep.txt"), "hello"},
		{"read", at("new/deep.txt")},
		{"write", at("a.txt"), "x"},
		{"read", at("a.txt")},
		{"read", at("link")},
		{"write", at("link"), "pwned"},
		{"read", at("dirlink/victim")},
		{"write", at("dirlink/other"), "pwned"},
		{"read", outside},
		{"write", outside, "pwned"},
		{"read", at("../victim")},
		{"read", "a.txt"},
		{"read", "/etc/passwd"},
		{"read", at("fifo")},
		{"write", at("fifo"), "x"},
		{"read", at("dir")},
		{"write", at("dir"), "x"},
		{"read", ws},
		{"read", at("big")},
		{"read", at("none")},
		{"read", at("nul\x00l")},
	}
	data, err := json.Marshal(steps)
	if err != nil {
		t.Fatal(err)
	}
	b.Job.Adapter.ACP.Env["FILES"] = string(data)
	if y := b.run(); y.Kind != driver.YieldCompletion {
		t.Fatalf("%s, %v", y.Class, y.Err)
	}
	b.mustNote(`a.txt: "one\ntwo\nthree\n"`, `a.txt: "two\n"`, `inner: "one\ntwo\nthree\n"`, "latin: \"caf\ufffd\"", `deep.txt: written`, `deep.txt: "hello"`, `a.txt: "x"`)
	lines := strings.Split(b.notes(), "\n")
	for _, s := range steps[8:] {
		want := fmt.Sprintf("%s %s: refused", s[0], s[1])
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("not refused: %q", s)
		}
	}
	if strings.Contains(b.notes(), "secret") {
		t.Errorf("a file outside was read:\n%s", b.notes())
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != "secret" {
		t.Errorf("a file outside was written: %q, %v", data, err)
	}
	if left, err := os.ReadDir(filepath.Dir(outside)); err != nil || len(left) != 1 {
		t.Errorf("files outside: %v, %v", left, err)
	}
	if len(g.before) != len(steps) || g.before[0].Tool != "fs/read_text_file" || g.before[4].Tool != "fs/write_text_file" || len(g.after) != len(steps) {
		t.Errorf("asked %d times, told %d times", len(g.before), len(g.after))
	}

	denied := newBench(t, "files", map[string]string{"FILES": `[["write", "` + at("denied") + `", "x"]]`})
	denied.Job.Dirs.Workspace = ws
	denied.Job.Guard = &guard{effect: agentruntime.PolicyDeny}
	denied.run()
	if _, err := os.Lstat(at("denied")); err == nil {
		t.Error("a file was written that was denied")
	}
	denied.mustNote("not allowed: the rule says so")
}

func TestTerminals(t *testing.T) {
	t.Parallel()
	b := newBench(t, "terminals", map[string]string{"COMMANDS": `["echo $DEED_TASK_ID; pwd; exit 3", "sleep 1000", "seq 1000", "echo to stderr >&2", "(setsid sleep 1000 &) ; echo left"]`})
	g := &guard{effect: agentruntime.PolicyAllow}
	b.Job.Guard = g
	if y := b.run(); y.Kind != driver.YieldCompletion {
		t.Fatalf("%s, %v", y.Class, y.Err)
	}
	b.mustNote("exit 3, cut false: "+b.Job.TaskID+"\n"+b.Job.Dirs.Workspace, "exit 0, cut true", "999\n1000", "exit 0, cut false: to stderr", "exit 0, cut false: left")
	if strings.Contains(b.notes(), "\n500\n") {
		t.Error("too much of an output was kept")
	}
	if len(g.before) != 5 || g.before[0].Tool != "terminal/create" || !strings.Contains(string(g.before[1].Input), "sleep 1000") {
		t.Errorf("asked was %+v", g.before)
	}

	b = newBench(t, "terminals", map[string]string{"COMMANDS": `["touch done"]`})
	b.Job.Guard = &guard{effect: agentruntime.PolicyDeny}
	b.run()
	b.mustNote("refused: ", "the rule says so")
	if _, err := os.Lstat(filepath.Join(b.Job.Dirs.Workspace, "done")); err == nil {
		t.Error("a command was run that was denied")
	}

	// The environment of a command is part of what the guard decides on.
	b = newBench(t, "terminals", map[string]string{"COMMANDS": `["git status"]`, "COMMAND_PATH": "/workspace/evil"})
	g = &guard{effect: agentruntime.PolicyDeny}
	b.Job.Guard = g
	b.run()
	if len(g.before) != 1 || !strings.Contains(string(g.before[0].Input), `{"name":"PATH","value":"/workspace/evil"}`) {
		t.Errorf("asked was %+v", g.before)
	}
}

// What a turn leaves running in terminals is gone when it is over.
func TestTerminalsEndWithTheTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t, "leaves", nil)
	b.Job.Guard = &guard{effect: agentruntime.PolicyAllow}
	if y := b.run(); y.Kind != driver.YieldCompletion {
		t.Errorf("%s, %v", y.Class, y.Err)
	}
}

func TestHowAPromptEnds(t *testing.T) {
	t.Parallel()
	for scenario, want := range map[string]failure.Class{
		"max_tokens": failure.Turns, "max_turn_requests": failure.Turns, "refusal": failure.AskedFail, "cancelled": failure.AgentFailed, "bored": failure.InvalidWord,
		"limited": failure.RateLimited, "broken": failure.Provider, "login": failure.Config, "old": failure.Config, "stays": failure.None,
	} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, scenario, nil)
			y := b.run()
			if y.Class != want || (y.Err == nil) != (want == failure.None) || y.ExitStatus != want.Rule().Exit {
				t.Errorf("%s, %s, %v", y.Kind, y.Class, y.Err)
			}
			if scenario == "stays" && (y.Kind != driver.YieldCompletion || y.Proc.Canceled) {
				t.Errorf("%s, %+v", y.Kind, y.Proc)
			}
		})
	}
}

func TestTheConversationGoesOn(t *testing.T) {
	t.Parallel()
	for scenario, tc := range map[string]struct {
		method    string
		restarted bool
	}{
		"resume load": {"resume ses-1\nprompt Add tests.\n", false}, "load": {"load ses-1\nprompt Add tests.\n", false},
		"load forgets": {"load ses-1\nnew ", true}, "plain": {"new ", true},
		"resume load unresumed": {"resume ses-1\nload ses-1\nprompt Add tests.\n", false}, "resume unresumed": {"resume ses-1\nnew ", true},
		"resume load unresumed forgets": {"resume ses-1\nload ses-1\nnew ", true},
	} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			for _, anew := range []bool{false, true} { // in one session, and in one that another process of deed starts
				b := newBench(t, scenario, nil)
				s := b.start()
				b.turn(t.Context(), s, driver.Input{Turn: 1})
				if anew {
					b.Job.Resume = s.Ref()
					s = b.start()
				}
				y := b.turn(t.Context(), s, driver.Input{Turn: 2, Text: "Add tests."})
				if y.Kind != driver.YieldCompletion || (y.Diagnostics["conversation"] == "restarted") != tc.restarted {
					t.Errorf("%s, %s, %v, %v", y.Kind, y.Class, y.Err, y.Diagnostics)
				}
				b.mustNote(tc.method)
				if tc.restarted {
					b.mustNote("prompt Do the work.\n\n\nAdd tests.")
				}
				for _, x := range eventsOf[driver.Text](b, driver.EventText) {
					if x.Text != "All done." {
						t.Errorf("told is %q", x.Text)
					}
				}
				if n := len(eventsOf[driver.Restart](b, driver.EventRestart)); n > 1 || (n == 1) != tc.restarted {
					t.Errorf("%d times it began anew", n)
				}
				if infos := eventsOf[driver.SessionInfo](b, driver.EventSession); len(infos) != 2 || infos[1].Resumed == tc.restarted {
					t.Errorf("sessions: %+v", infos)
				}
				if y.StdoutPath != filepath.Join(b.Job.Dirs.Run, "stdout-2.log") {
					t.Errorf("stdout is at %s", y.StdoutPath)
				}
			}
		})
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		scenario, model, note string
		class                 failure.Class
	}{
		"chosen":        {"options", "large", "option m large", failure.None},
		"there already": {"options", "small", "prompt", failure.None},
		"unknown":       {"options", "unknown", "new", failure.Config},
		"no choice":     {"plain", "large", "new", failure.Config},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tc.scenario, nil)
			b.Job.Model = tc.model
			if y := b.run(); y.Class != tc.class {
				t.Errorf("%s, %v", y.Class, y.Err)
			}
			b.mustNote(tc.note)
			if infos := eventsOf[driver.SessionInfo](b, driver.EventSession); tc.class == failure.None && (len(infos) != 1 || infos[0].Served != tc.model || infos[0].Requested != tc.model) {
				t.Errorf("sessions: %+v", infos)
			}
		})
	}
}

func TestAnAgentIsAskedToStop(t *testing.T) {
	t.Parallel()
	b := newBench(t, "hangs", nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for !strings.Contains(b.notes(), "up") && t.Context().Err() == nil {
			<-tick.C
		}
		cancel(driver.ErrCanceled)
	}()
	y := b.turn(ctx, b.start(), driver.Input{Turn: 1})
	<-watched
	if y.Kind != driver.YieldEnd || y.Class != failure.Canceled || !y.Proc.Canceled {
		t.Errorf("%s, %s, %v, %+v", y.Kind, y.Class, y.Err, y.Proc)
	}
	b.mustNote("cancelled")
	if got := b.ReadFile(y.StderrPath); !strings.Contains(got, "I stop.") {
		t.Errorf("stderr: %q", got)
	}
}

// TestBrokenAgents speak the protocol badly, or not at all.
func TestBrokenAgents(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script  string
		class   failure.Class
		wantErr string
	}{
		"never answers":       {`cat >/dev/null; sleep 1000`, failure.Provider, "not ready"},
		"never reads":         {`sleep 1000`, failure.Provider, "not ready"},
		"dies at once":        {`echo 'no such module' >&2; exit 7`, failure.AgentFailed, "no such module"},
		"ends at once":        {`exit 0`, failure.InvalidWord, "without an event"},
		"dies in its prompt":  {`ready; read -r p; echo boom >&2; kill -9 $$`, failure.AgentFailed, "SIGKILL"},
		"ends in its prompt":  {`ready; read -r p; exit 0`, failure.InvalidWord, "without an event"},
		"answers with junk":   {`answer 1 '"hello"'`, failure.InvalidWord, "initialize"},
		"no session id":       {`answer 1 '{"protocolVersion":1}'; answer 2 '{}'`, failure.InvalidWord, "sessionId"},
		"speaks another":      {`answer 1 '{"protocolVersion":2}'`, failure.Config, "version"},
		"garbage all around":  {`say hello; say '{'; say '[]'; say 'null'; say '{"id":77,"result":1}'; say '{"method":"x/y"}'; update '{"sessionUpdate":"new_kind"}'; update '7'; ended; say bye`, failure.None, ""},
		"a giant line":        {`head -c 20000000 /dev/zero | tr '\0' x; echo; ended`, failure.None, ""},
		"asks the unknown":    {`ready; say '{"jsonrpc":"2.0","id":"q","method":"fs/format_disk"}'; read -r one; read -r two; case "$one$two" in *-32601*) say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}';; esac`, failure.None, ""},
		"asks without end":    {`ready; i=0; while [ $i -lt 5000 ]; do i=$((i+1)); say "{\"jsonrpc\":\"2.0\",\"id\":$i,\"method\":\"terminal/wait_for_exit\",\"params\":{\"terminalId\":\"x\"}}"; done; sleep 1000`, failure.AgentFailed, "more than"},
		"twice the same id":   {`ready; answer 3 '{"stopReason":"end_turn"}'; say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"refusal"}}'`, failure.None, ""},
		"an error, then gone": {`answer 1 '{"protocolVersion":1}'; read -r p; say '{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"disk full"}}'; exit 1`, failure.Provider, "disk full"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness()
			if tc.wantErr == "not ready" {
				h.Driver = acp.NewHasty(2 * time.Second)
			}
			b := drivertest.New(t, h, tc.script)
			y := b.Turn(t.Context())
			if y.Class != tc.class || tc.wantErr != "" && !strings.Contains(fmt.Sprint(y.Err), tc.wantErr) {
				t.Errorf("%s, %s, %v", y.Kind, y.Class, y.Err)
			}
		})
	}
}

func TestSandboxModesThatCannotBeHeld(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{agentcli.ReadOnly, agentcli.Workspace} {
		b := newBench(t, "plain", nil)
		b.Job.Adapter.ACP.Sandbox = mode
		if _, err := b.H.Driver.Start(t.Context(), b.Job); failure.ClassOf(err) != failure.Config {
			t.Errorf("%s: %v", mode, err)
		}
	}
}
