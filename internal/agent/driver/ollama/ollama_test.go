package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/model/scripted"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// serve starts the scripted model.
func serve(t *testing.T, script string) *scripted.Server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script.yaml")
	if err := os.WriteFile(file, []byte("schema: deed/model-script/v1\nusage: {input: 120, output: 30}\nscenarios:\n"+script), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := scripted.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	srv := scripted.New(s)
	if _, err := srv.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	return srv
}

// A bench is a job with directories of its own, and the events of its session.
type bench struct {
	*testing.T
	job driver.Job

	mu     sync.Mutex
	events []string
	detail map[string]any // the last of each kind
}

func newBench(t *testing.T, endpoint, model string) *bench {
	t.Helper()
	b := &bench{T: t, detail: map[string]any{}}
	dir := t.TempDir()
	for name, dst := range map[string]*string{
		"workspace": &b.job.Dirs.Workspace, "home": &b.job.Dirs.Home, "tmp": &b.job.Dirs.Tmp, "artifacts": &b.job.Dirs.Artifacts,
		"exchange": &b.job.Dirs.Exchange, "run": &b.job.Dirs.Run,
	} {
		*dst = filepath.Join(dir, name)
		if err := os.Mkdir(*dst, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.job.AttemptID, b.job.Brief = "attempt-1", "Say what the answer is."
	b.job.Adapter = agentruntime.AdapterConfig{OllamaGenerate: &agentruntime.OllamaGenerateAdapter{
		AdapterID: "o", Kind: agentruntime.KindOllamaGenerate, Endpoint: endpoint, Model: model, TimeoutMS: 60_000,
	}}
	return b
}

func (b *bench) Event(kind string, detail any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, kind)
	b.detail[kind] = detail
}

func (b *bench) start() driver.Session {
	b.Helper()
	s, err := New().Start(b.Context(), b.job)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

func (b *bench) turn(ctx context.Context, s driver.Session, in driver.Input) driver.Yield {
	b.Helper()
	y, err := s.Turn(ctx, in, b)
	if err != nil {
		b.Fatal(err)
	}
	if y.ExitStatus != y.Class.Rule().Exit || (y.Class != failure.None) != (y.Err != nil) || y.Class != failure.ClassOf(y.Err) {
		b.Errorf("the yield contradicts itself: %+v", y)
	}
	for _, p := range []string{y.StdoutPath, y.StderrPath, y.ResultPath, y.LastMessagePath} {
		if p == "" {
			continue
		}
		if fi, err := os.Lstat(p); err != nil || !fi.Mode().IsRegular() || filepath.Dir(p) != b.job.Dirs.Run {
			b.Errorf("%s: %v", p, err)
		}
	}
	return y
}

func (b *bench) read(path string) string {
	b.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		b.Error(err)
	}
	return string(data)
}

// TestTheTimeLimitIsOfAllTurns: a turn has what the ones before it left.
func TestTheTimeLimitIsOfAllTurns(t *testing.T) {
	t.Parallel()
	srv := serve(t, `  fine: {steps: [{text: "The answer is 42."}, {text: "It is 43."}]}`)
	b := newBench(t, srv.URL("fine"), "scn-fine")
	s := b.start()
	if y := b.turn(t.Context(), s, driver.Input{Turn: 1}); y.Class != failure.None || s.(*session).spent <= 0 {
		t.Fatalf("%s %v, %v spent", y.Class, y.Err, s.(*session).spent)
	}
	s.(*session).spent = s.(*session).timeout
	if y := b.turn(t.Context(), s, driver.Input{Turn: 2, Text: "no"}); y.Class != failure.Timeout || !y.Proc.TimedOut {
		t.Errorf("%s %v", y.Class, y.Err)
	}
}

func TestAnAnswerIsTheWork(t *testing.T) {
	t.Parallel()
	srv := serve(t, `  fine: {steps: [{text: "The answer is 42."}]}`)
	b := newBench(t, srv.URL("fine"), "scn-fine")
	y := b.turn(t.Context(), b.start(), driver.Input{Turn: 1})
	if y.Kind != driver.YieldCompletion || y.Class != failure.None {
		t.Fatalf("%s %s %v", y.Kind, y.Class, y.Err)
	}
	if c := y.Claim; c == nil || c.Status != agentruntime.TaskCompleted || c.Summary != "The answer is 42." || c.Source != driver.SourceStream {
		t.Errorf("claim: %+v", c)
	}
	for what, text := range map[string]string{"stdout": b.read(y.StdoutPath), "message": b.read(y.LastMessagePath), "artifact": b.read(filepath.Join(b.job.Dirs.Artifacts, ResponseFile))} {
		if strings.TrimSpace(text) != "The answer is 42." {
			t.Errorf("%s: %q", what, text)
		}
	}
	u, _ := b.detail[driver.EventUsage].(agentruntime.Usage)
	if u.InputTokens != 120 || u.OutputTokens != 30 || u.Model != "scn-fine" {
		t.Errorf("usage: %+v", u)
	}
	turn, _ := b.detail[driver.EventTurn].(agentruntime.Turn)
	if turn.Index != 1 || turn.ID == "" || turn.Usage == nil || turn.StopReason != "end" {
		t.Errorf("turn: %+v", turn)
	}
	info, _ := b.detail[driver.EventSession].(driver.SessionInfo)
	if info.ID == "" || info.Requested != "scn-fine" || info.Served != "scn-fine" {
		t.Errorf("session: %+v", info)
	}
	if text, _ := b.detail[driver.EventText].(driver.Text); text.Text != "The answer is 42." || text.Cut {
		t.Errorf("text: %+v", text)
	}
	var req struct {
		Prompt string `json:"prompt"`
		Model  string `json:"model"`
		Stream bool   `json:"stream"`
	}
	list := srv.Requests()
	if err := json.Unmarshal(list[len(list)-1].Body, &req); err != nil || req.Prompt != b.job.Brief || !req.Stream || !strings.HasSuffix(list[len(list)-1].Path, "/api/generate") {
		t.Errorf("%+v %v", req, err)
	}
}

// What an answer says of itself, and what follows.
func TestWords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer string
		kind   driver.YieldKind
		class  failure.Class
	}{
		"a claim":               {`Done. {"status": "completed", "operator_summary": "all of it"}`, driver.YieldCompletion, failure.None},
		"a claim in a fence":    {"```json\n{\"status\": \"completed\"}\n```", driver.YieldCompletion, failure.None},
		"blocked":               {`{"status": "blocked", "operator_summary": "which one?"}`, driver.YieldRequiredAction, failure.Blocked},
		"cannot":                {`{"status": "permanent_failure"}`, driver.YieldEnd, failure.AskedFail},
		"again":                 {`{"status": "retryable_failure", "retry_after_seconds": 7}`, driver.YieldEnd, failure.AskedRetry},
		"a word nobody knows":   {`{"status": "great success"}`, driver.YieldEnd, failure.InvalidWord},
		"JSON that is the work": {`Here: {"name": "x", "values": [1, 2]}`, driver.YieldCompletion, failure.None},
		"half of JSON":          {`Use {"status": "comp`, driver.YieldCompletion, failure.None},
		"contradiction":         {`{"status": "completed", "machine_status": "failed"}`, driver.YieldEnd, failure.InvalidWord},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := json.Marshal(c.answer)
			if err != nil {
				t.Fatal(err)
			}
			b := newBench(t, serve(t, `  s: {steps: [{text: `+string(text)+`}]}`).URL("s"), "scn-s")
			y := b.turn(t.Context(), b.start(), driver.Input{Turn: 1})
			if y.Kind != c.kind || y.Class != c.class {
				t.Errorf("%s %s %v", y.Kind, y.Class, y.Err)
			}
			if name == "again" && y.RetryAfter != 7*time.Second {
				t.Errorf("wait %s", y.RetryAfter)
			}
			if got := strings.TrimSpace(b.read(filepath.Join(b.job.Dirs.Artifacts, ResponseFile))); got != c.answer {
				t.Errorf("artifact %q", got)
			}
		})
	}
}

// Failures of the service have their classes, and leave nothing that reads as an answer.
func TestFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step    string
		class   failure.Class
		wantErr string
		wait    time.Duration
	}{
		"busy":        {`{error: 429, retry_after: 11}`, failure.RateLimited, "429", 11 * time.Second},
		"no room":     {`{error: 503, retry_after: 3}`, failure.Provider, "503", 3 * time.Second},
		"broken":      {`{error: 500, message: "runner has died"}`, failure.Provider, "runner has died", 0},
		"cut":         {`{cut: true}`, failure.Provider, "middle", 0},
		"garbage":     {`{garbage: html}`, failure.Provider, "", 0},
		"nonsense":    {`{garbage: sse}`, failure.Provider, "", 0},
		"no model":    {`{error: 404, message: "model 'x' not found"}`, failure.Config, "ollama pull", 0},
		"refused":     {`{error: 400, message: "bad options"}`, failure.Config, "bad options", 0},
		"no key":      {`{error: 401}`, failure.Config, "key", 0},
		"too long":    {`{error: context_too_long}`, failure.Config, "window", 0},
		"cut short":   {`{text: "The ans", stop: length}`, failure.InvalidWord, "cut", 0},
		"says naught": {`{text: "  "}`, failure.InvalidWord, "nothing", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, serve(t, `  s: {steps: [`+c.step+`, {text: late}]}`).URL("s"), "scn-s")
			s := b.start()
			y := b.turn(t.Context(), s, driver.Input{Turn: 1})
			if y.Kind != driver.YieldEnd || y.Class != c.class || y.Claim != nil {
				t.Fatalf("%s %s %v %+v", y.Kind, y.Class, y.Err, y.Claim)
			}
			if !strings.Contains(y.Err.Error(), c.wantErr) {
				t.Errorf("%q lacks %q", y.Err, c.wantErr)
			}
			if y.RetryAfter != c.wait {
				t.Errorf("wait %s", y.RetryAfter)
			}
			if s.Ref() == "" {
				t.Error("the conversation is lost")
			}
		})
	}
	t.Run("nobody there", func(t *testing.T) {
		t.Parallel()
		srv := serve(t, `  s: {steps: [{text: x}]}`)
		b := newBench(t, srv.URL("s"), "m")
		if err := srv.Close(); err != nil {
			t.Fatal(err)
		}
		if y := b.turn(t.Context(), b.start(), driver.Input{Turn: 1}); y.Class != failure.Provider {
			t.Errorf("%s %v", y.Class, y.Err)
		}
	})
}

// Time limits and cancels end a turn at once, whatever the endpoint does.
func TestEnds(t *testing.T) {
	t.Parallel()
	over := failure.New(failure.Budget, "stop", errors.New("used up"), "")
	for name, c := range map[string]struct {
		cause   error
		timeout time.Duration
		class   failure.Class
	}{
		"timeout":     {nil, 200 * time.Millisecond, failure.Timeout},
		"cancelled":   {driver.ErrCanceled, time.Minute, failure.Canceled},
		"interrupted": {driver.ErrInterrupted, time.Minute, failure.Interrupted},
		"bare":        {context.Canceled, time.Minute, failure.Interrupted},
		"a bound":     {over, time.Minute, failure.Budget},
	} {
		for _, where := range []string{"headers", "stream"} {
			t.Run(name+" in "+where, func(t *testing.T) {
				t.Parallel()
				srv := serve(t, `  s: {steps: [{hang: `+where+`}, {text: late}]}`)
				b := newBench(t, srv.URL("s"), "scn-s")
				b.job.Timeout = c.timeout
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if c.cause != nil {
					go func() {
						tick := time.NewTicker(2 * time.Millisecond)
						defer tick.Stop()
						for len(srv.Requests()) == 0 && ctx.Err() == nil {
							<-tick.C
						}
						cancel(c.cause)
					}()
				}
				y := b.turn(ctx, b.start(), driver.Input{Turn: 1})
				if y.Kind != driver.YieldEnd || y.Class != c.class || y.Proc.TimedOut != (c.class == failure.Timeout) {
					t.Errorf("%s %s %v", y.Kind, y.Class, y.Err)
				}
			})
		}
	}
}

// A refusal goes back with all that was said, and another process can go on with it.
func TestTheConversationGoesOn(t *testing.T) {
	t.Parallel()
	srv := serve(t, `  s:
    steps: [{text: first try}]
    on:
      - {contains: "third question", steps: [{text: third try}]}
      - {contains: "the gate says no", steps: [{text: second try}]}
`)
	b := newBench(t, srv.URL("s"), "scn-s")
	s := b.start()
	if s.Ref() != "" {
		t.Error("there is no conversation yet")
	}
	b.turn(t.Context(), s, driver.Input{Turn: 1})
	y := b.turn(t.Context(), s, driver.Input{Turn: 2, Text: "the gate says no: missing word"})
	if y.Claim == nil || y.Claim.Summary != "second try" {
		t.Fatalf("%+v %v", y.Claim, y.Err)
	}
	if filepath.Base(y.StdoutPath) != "stdout-2.log" || b.read(filepath.Join(b.job.Dirs.Artifacts, ResponseFile)) != "second try\n" {
		t.Errorf("%s", y.StdoutPath)
	}
	ref := s.Ref()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Turn(t.Context(), driver.Input{Turn: 3}, b); !errors.Is(err, driver.ErrLastTurn) {
		t.Errorf("after the end: %v", err)
	}
	b.job.Resume, b.job.AttemptID = ref, "attempt-2"
	y = b.turn(t.Context(), b.start(), driver.Input{Turn: 3, Text: "third question"})
	if y.Claim == nil || y.Claim.Summary != "third try" {
		t.Fatalf("%+v %v", y.Claim, y.Err)
	}
	list := srv.Requests()
	var req struct {
		Prompt string `json:"prompt"`
	}
	if err := json.Unmarshal(list[len(list)-1].Body, &req); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, part := range []string{b.job.Brief, "first try", "the gate says no: missing word", "second try", "third question"} {
		i := strings.Index(req.Prompt[at:], part)
		if i < 0 {
			t.Fatalf("%q is not there, or not in order:\n%s", part, req.Prompt)
		}
		at += i
	}
	// What cannot be read is no conversation.
	for _, bad := range []string{"", "{", `[{"role": "system", "text": "obey"}]`} {
		if err := os.WriteFile(filepath.Join(b.job.Dirs.Run, conversationFile), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := New().Start(t.Context(), b.job); failure.ClassOf(err) != failure.Config {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A secret that the model repeats reaches no file, and a flood is cut.
func TestRecordsAreRedactedAndBounded(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-value-of-the-operator"
	flood := strings.Repeat("x", 300_000)
	srv := serve(t, `  s: {steps: [{text: "it is `+secret+` `+flood+`"}]}`)
	b := newBench(t, srv.URL("s"), "scn-s")
	b.job.Redactor = redact.New(map[string]string{"TOKEN": secret})
	b.job.OutputCap = 64 << 10
	y := b.turn(t.Context(), b.start(), driver.Input{Turn: 1})
	if y.Class != failure.None || len(y.Truncated) != 1 || len(y.Claim.Summary) > driver.MaxEventText {
		t.Fatalf("%s %v %+v", y.Class, y.Err, y.Truncated)
	}
	for _, dir := range []string{b.job.Dirs.Run, b.job.Dirs.Artifacts} {
		list, err := os.ReadDir(dir)
		if err != nil || len(list) == 0 {
			t.Fatal(err)
		}
		for _, e := range list {
			if strings.Contains(b.read(filepath.Join(dir, e.Name())), secret) {
				t.Errorf("%s holds the secret", e.Name())
			}
		}
	}
	if strings.Contains(y.Claim.Summary, secret) {
		t.Error("the claim holds the secret")
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	srv := serve(t, `  s: {steps: [{text: x}]}`)
	hang := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }))
	gone := httptest.NewServer(http.NotFoundHandler())
	moved := httptest.NewServer(http.RedirectHandler(srv.URL("s"), http.StatusFound))
	for _, s := range []*httptest.Server{hang, other, moved} {
		t.Cleanup(s.Close)
	}
	gone.Close()
	for name, c := range map[string]struct {
		endpoint, model string
		wantErr         []string // nothing: it is ready
	}{
		"ready":        {srv.URL("s"), "scn-s", nil},
		"with its tag": {srv.URL("s") + "/", "scn-s:latest", nil},
		"another tag":  {srv.URL("s"), "scn-s:7b", []string{"scn-s:7b", "ollama pull scn-s:7b"}},
		"no model":     {srv.URL("s"), "llama", []string{"model llama", "ollama pull llama"}},
		"nobody":       {gone.URL, "m", []string{gone.URL, "ollama serve"}},
		"not ollama":   {other.URL, "m", []string{"not that of Ollama"}},
		"moved":        {moved.URL, "m", []string{"302"}},
	} {
		r := New().Ready(t.Context(), newBench(t, c.endpoint, c.model).job.Adapter)
		if r.Ready != (c.wantErr == nil) || r.Ready == (len(r.Missing) > 0) {
			t.Errorf("%s: %+v", name, r)
			continue
		}
		for _, w := range c.wantErr {
			if m := r.Missing[0]; !strings.Contains(m.Name+" "+m.Reason+" "+m.Remedy, w) {
				t.Errorf("%s: %+v lacks %q", name, m, w)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := New().Ready(ctx, newBench(t, hang.URL, "m").job.Adapter); r.Ready {
		t.Error("an endpoint that hangs is ready")
	}
	if r := New().Ready(t.Context(), agentruntime.AdapterConfig{Script: &agentruntime.ScriptAdapter{}}); r.Ready {
		t.Error("a script is ready")
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*driver.Job){
		"another kind":    func(j *driver.Job) { j.Adapter = agentruntime.AdapterConfig{Script: &agentruntime.ScriptAdapter{}} },
		"no model":        func(j *driver.Job) { j.Adapter.OllamaGenerate.Model = "" },
		"no time":         func(j *driver.Job) { j.Adapter.OllamaGenerate.TimeoutMS = 0 },
		"no address":      func(j *driver.Job) { j.Adapter.OllamaGenerate.Endpoint = "ftp://x" },
		"nothing to read": func(j *driver.Job) { j.Resume = "conversation.json" },
	} {
		b := newBench(t, "http://127.0.0.1:1", "m")
		edit(&b.job)
		if s, err := New().Start(t.Context(), b.job); failure.ClassOf(err) != failure.Config || s != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
