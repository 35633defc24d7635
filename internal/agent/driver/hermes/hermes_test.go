package hermes_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/drivertest"
	"github.com/deedrun/deed/internal/agent/driver/hermes"
	"github.com/deedrun/deed/internal/base/failure"
)

func TestMain(m *testing.M) { drivertest.Main(m, func(m *testing.M) { os.Exit(m.Run()) }) }

// prelude makes an agent of the suite's end as Hermes does.
const prelude = `
say() { printf '%s\n' "$*"; }
finish() { printf '%s' "$1" >"$DEED_RESULT_FILE"; echo; ended; }
ended() {
	say '{"type":"result","session_id":"s1","exit_code":0,"text":"That is all.","tokens":{"input":10,"output":2,"total":12}}'
}
`

func adapter(command string, timeout time.Duration) agentruntime.AdapterConfig {
	return agentruntime.AdapterConfig{HermesAgent: &agentruntime.HermesAgentAdapter{
		AdapterID: "h", Kind: agentruntime.KindHermesAgent, Command: command, TimeoutMS: timeout.Milliseconds(), Model: "some-model",
		Env: map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"},
	}}
}

func harness() drivertest.Harness {
	return drivertest.Harness{Driver: hermes.New(), Prelude: prelude, Adapter: adapter}
}

func TestConformance(t *testing.T) { drivertest.Run(t, harness()) }

// standIn is a bench for the stand-in of the whole command line.
func standIn(t *testing.T, brief string) (*drivertest.Bench, *record) {
	t.Helper()
	b := drivertest.New(t, harness(), "")
	file, err := filepath.Abs("testdata/hermes")
	if err != nil {
		t.Fatal(err)
	}
	b.Job.Adapter.HermesAgent.Command, b.Job.Brief = file, brief
	return b, &record{}
}

type record struct {
	mu     sync.Mutex
	kinds  []string
	detail []any
}

func (r *record) Event(kind string, detail any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kinds, r.detail = append(r.kinds, kind), append(r.detail, detail)
}

// last returns the detail of the last event of a kind.
func last[T any](t *testing.T, r *record, kind string) T {
	t.Helper()
	for i, k := range slices.Backward(r.kinds) {
		if k == kind {
			return r.detail[i].(T)
		}
	}
	t.Fatalf("no event %s in %v", kind, r.kinds)
	panic("not reached")
}

func start(t *testing.T, b *drivertest.Bench) driver.Session {
	t.Helper()
	s, err := hermes.New().Start(t.Context(), b.Job)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(t.Context()) })
	return s
}

func turn(t *testing.T, s driver.Session, in driver.Input, sink driver.Sink) driver.Yield {
	t.Helper()
	y, err := s.Turn(t.Context(), in, sink)
	if err != nil {
		t.Fatal(err)
	}
	return y
}

func TestItLiesIsToldAndRepairsInTheSameConversation(t *testing.T) {
	t.Parallel()
	b, r := standIn(t, "make answer.txt say right")
	s := start(t, b)
	y := turn(t, s, driver.Input{Turn: 1}, r)
	if y.Kind != driver.YieldCompletion || y.Claim == nil || y.Claim.Summary != "All done." || y.Claim.Source != driver.SourceStream {
		t.Fatalf("got %s, %v, %+v", y.Kind, y.Err, y.Claim)
	}
	answer := filepath.Join(b.Job.Dirs.Workspace, "answer.txt")
	if _, err := os.Stat(answer); err == nil {
		t.Fatal("it did not lie")
	}
	b.Job.Resume = s.Ref() // and another process of deed's goes on
	y = turn(t, start(t, b), driver.Input{Turn: 2, Text: "answer.txt is wrong"}, r)
	if y.Kind != driver.YieldCompletion || !strings.HasPrefix(y.Claim.Summary, "Fixed") {
		t.Fatalf("got %s, %v, %+v", y.Kind, y.Err, y.Claim)
	}
	if got := b.ReadFile(answer); got != "right\n" {
		t.Errorf("answer is %q", got)
	}
	sessions, err := filepath.Glob(filepath.Join(b.Job.Dirs.Home, ".hermes-agent", "sessions", "*"))
	if err != nil || len(sessions) != 1 || !strings.Contains(b.ReadFile(sessions[0]), "say right\nanswer.txt is wrong") {
		t.Errorf("conversations are %v, %v", sessions, err)
	}
	if info := last[driver.SessionInfo](t, r, driver.EventSession); info.ID != "20261115_101500_abc123" || info.Requested != "some-model" || !info.Resumed {
		t.Errorf("session %+v", info)
	}
	if u := last[agentruntime.Usage](t, r, driver.EventUsage); u.InputTokens != 1100 || u.OutputTokens != 50 || u.CachedInputTokens != 100 || u.Model != "some-model" {
		t.Errorf("usage %+v", u)
	}
	if c := last[agentruntime.ToolCall](t, r, driver.EventToolCall); c.Tool != "terminal" || c.CallID != "t1" || c.Turn != 2 {
		t.Errorf("call %+v", c)
	}
	if res := last[agentruntime.ToolResult](t, r, driver.EventToolResult); res.Output != "right" || res.Status != agentruntime.ToolSuccess {
		t.Errorf("result %+v", res)
	}
	if text := last[driver.Text](t, r, driver.EventText); text.Text != "I will fix it." {
		t.Errorf("text %+v", text)
	}
}

func TestHowItEnds(t *testing.T) {
	t.Parallel()
	for brief, want := range map[string]struct {
		class   failure.Class
		wantErr string
	}{
		"please fail 401": {failure.Config, "key"},
		"please fail 429": {failure.RateLimited, "429"},
		"please fail 500": {failure.Provider, "500"},
		"stay silent":     {failure.InvalidWord, "succeeded"},
		"interrupt it":    {failure.AgentFailed, "Interrupted"},
		"cut it":          {failure.InvalidWord, "succeeded"},
	} {
		b, r := standIn(t, brief)
		y := turn(t, start(t, b), driver.Input{Turn: 1}, r)
		if y.Kind != driver.YieldEnd || y.Class != want.class || !strings.Contains(y.Err.Error(), want.wantErr) {
			t.Errorf("%s: got %s, %s, %v", brief, y.Kind, y.Class, y.Err)
		}
	}
}

func TestItsGuardsAreLiftedOnlyWhereThatIsDeclared(t *testing.T) {
	t.Parallel()
	b, r := standIn(t, "fix it")
	if y := turn(t, start(t, b), driver.Input{Turn: 1}, r); y.Claim == nil || y.Claim.Summary != "Fixed; yolo=." {
		t.Errorf("restricted: got %+v, %v", y.Claim, y.Err)
	}
	config := filepath.Join(b.Job.Dirs.Home, ".hermes-agent", "config.yaml")
	if got := b.ReadFile(config); !strings.Contains(got, `"single_query_mode":"deny"`) || !strings.Contains(got, `"base_url":"http://127.0.0.1:1/v1"`) {
		t.Errorf("config.yaml is %s", got)
	}
	b, r = standIn(t, "fix it")
	a := b.Job.Adapter.HermesAgent
	a.Sandbox, a.Autonomy = "danger-full-access", &agentruntime.HarnessAutonomy{Profile: agentruntime.AutonomyTrustedVM}
	if y := turn(t, start(t, b), driver.Input{Turn: 1}, r); y.Claim == nil || y.Claim.Summary != "Fixed; yolo=1." {
		t.Errorf("trusted-vm: got %+v, %v", y.Claim, y.Err)
	}
}

func TestAdaptersThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*agentruntime.HermesAgentAdapter){
		"yolo":                    func(a *agentruntime.HermesAgentAdapter) { a.ExtraArgs = []string{"--yolo"} },
		"a prompt on argv":        func(a *agentruntime.HermesAgentAdapter) { a.ExtraArgs = []string{"-q", "do it"} },
		"full access":             func(a *agentruntime.HermesAgentAdapter) { a.Sandbox = "danger-full-access" },
		"isolation that it lacks": func(a *agentruntime.HermesAgentAdapter) { a.Sandbox = "workspace-write" },
		"another home":            func(a *agentruntime.HermesAgentAdapter) { a.Env["HERMES_HOME"] = "/h" },
	} {
		b, _ := standIn(t, "x")
		change(b.Job.Adapter.HermesAgent)
		if _, err := hermes.New().Start(t.Context(), b.Job); failure.ClassOf(err) != failure.Config {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env  map[string]string
		want []string
	}{
		"an endpoint":   {map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:8080/v1", "OPENAI_API_KEY": "k"}, []string{"127.0.0.1:8080"}},
		"without port":  {map[string]string{"OPENAI_BASE_URL": "https://models.example.com/v1"}, []string{"models.example.com:443"}},
		"by its key":    {map[string]string{"ANTHROPIC_API_KEY": "k"}, []string{"api.anthropic.com:443"}},
		"nothing known": {nil, nil},
	} {
		a := adapter("/bin/true", time.Minute)
		a.HermesAgent.Env = tc.env
		if got, err := hermes.New().Hosts(a); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}
