package drivertest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/model/scripted"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/isolate/egress"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// A Real is a real agent command line that asks a scripted model.
type Real struct {
	Driver driver.Driver
	// Adapter returns the configuration that asks the model at url, the base URL of a scenario.
	Adapter func(url string) agentruntime.AdapterConfig
	// Usage is what two answers of the script cost, as the driver tells it.
	Usage agentruntime.Usage
	// RetryAfter says that the agent's stream tells how long the service asks to wait.
	RetryAfter bool
	// Heavy says that the agent takes long to start and much memory: it is run contained only, one run at a time, and without
	// what takes it a minute of its own retries.
	Heavy bool
	// AsksForRefusedHosts says that the agent asks for hosts that it can do without, and is refused.
	AsksForRefusedHosts bool
	// Only names what is run; nil: all.
	Only []string
}

// realScript has a broken program, calc, that is repaired by one command. It lies in the first turn of "liar".
var realScript = strings.NewReplacer(
	"FIX", `{tool: shell, command: "sed -i 's/a - b/a + b/' calc && sh check"}`,
	"DONE", `{text: "Repaired calc; the check passes."}`,
).Replace(`
schema: deed/model-script/v1
usage: {input: 1100, cached: 100, output: 21, reasoning: 7}
scenarios:
  fix: {steps: [FIX, DONE]}
  liar: {turns: [[{text: "All done, the check passes."}], [FIX, DONE]]}
  stubborn:
    steps: [{tool: shell, command: "(setsid sh -c 'trap \"\" TERM; touch up; sleep 1000' &); sleep 1000"}]
  key: {steps: [{error: 401}, DONE]}
  limited: {steps: [{error: 429, retry_after: 3}, DONE]}
  broken: {steps: [{error: 500}, DONE]}
  hang: {steps: [{hang: headers}, DONE]}
`)

// serve starts the scripted model.
func serve(t *testing.T, text string) *scripted.Server {
	script, err := scripted.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	server := scripted.New(script)
	if _, err := server.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server
}

// One runs the first turn of the agent in a workspace with the broken program, without deed's sandbox. change may change the
// job.
func (r Real) One(t *testing.T, scenario string, change func(*driver.Job)) (*Bench, driver.Yield) {
	t.Helper()
	b := &realBench{T: t, r: r, kind: sandbox.None, server: serve(t, realScript)}
	y := b.turn(t.Context(), b.begin(scenario, change), 1, "")
	return b.Bench, y
}

// RunReal runs the agent through what every agent must do, with and without deed's sandbox.
func RunReal(t *testing.T, r Real) {
	server := serve(t, realScript)
	kinds := []sandbox.Kind{sandbox.None, sandbox.Namespace}
	tests := map[string]func(*realBench){
		"repairs": realRepairs, "lies and is answered": realLies, "time limit": realDeadline, "cancel": realCancel,
		"a refused key": realKey, "a limit on requests": realLimited, "a broken service": realBroken, "a service that hangs": realHang,
	}
	if r.Heavy {
		kinds = []sandbox.Kind{sandbox.Namespace}
	}
	switch {
	case r.Only != nil:
		maps.DeleteFunc(tests, func(name string, _ func(*realBench)) bool { return !slices.Contains(r.Only, name) })
	case r.Heavy:
		delete(tests, "cancel") // ends the same tree as the time limit does
		delete(tests, "a broken service")
	}
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			r.parallel(t)
			for name, test := range tests {
				t.Run(name, func(t *testing.T) {
					r.parallel(t)
					test(&realBench{T: t, r: r, kind: kind, server: server})
				})
			}
		})
	}
}

func (r Real) parallel(t *testing.T) {
	if !r.Heavy {
		t.Parallel()
	}
}

// A realBench is one run of a real agent.
type realBench struct {
	*testing.T
	r      Real
	kind   sandbox.Kind
	server *scripted.Server
	*Bench
}

// begin makes a workspace with a broken program and starts a session.
func (b *realBench) begin(scenario string, change func(*driver.Job)) driver.Session {
	b.Helper()
	scenario += "~" + strings.NewReplacer("/", "-", " ", "-").Replace(b.Name())
	h := Harness{Driver: b.r.Driver, Adapter: func(string, time.Duration) agentruntime.AdapterConfig { return b.r.Adapter(b.server.URL(scenario)) }}
	b.Bench = New(b.T, h, "")
	j := &b.Bench.Job
	j.Grace = time.Second
	j.Brief = "The program calc is wrong. Repair it so that `sh check` passes.\n"
	for name, text := range map[string]string{
		"calc":  "#!/bin/sh\na=$1 b=$2\necho $((a - b))\n",
		"check": "[ \"$(sh calc 2 3)\" = 5 ] || { echo 'calc 2 3 is not 5'; exit 1; }\necho ok\n",
	} {
		if err := os.WriteFile(filepath.Join(j.Dirs.Workspace, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	b.contain(j)
	if change != nil {
		change(j)
	}
	s, err := b.r.Driver.Start(b.Context(), *j)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close(context.WithoutCancel(b.Context())) })
	return s
}

// contain puts the job into a sandbox whose only way out is the model.
func (b *realBench) contain(j *driver.Job) {
	if b.kind == sandbox.None {
		j.BaseEnv = map[string]string{"PATH": os.Getenv("PATH")}
		return
	}
	hosts, err := b.r.Driver.(driver.Networked).Hosts(j.Adapter)
	if err != nil {
		b.Fatal(err)
	}
	rules, err := egress.AddRules(nil, egress.OriginModel, hosts)
	if err != nil {
		b.Fatal(err)
	}
	socket := filepath.Join(filepath.Dir(j.Dirs.Run), "e.sock")
	proxy, err := egress.Listen(socket, egress.Options{Rules: rules, Clock: clock.System, Log: func(c egress.Connection) {
		if !c.Allowed && !b.r.AsksForRefusedHosts {
			b.Errorf("the agent wanted to reach %s:%d", c.Host, c.Port)
		}
	}})
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- proxy.Serve(context.WithoutCancel(b.Context())) }()
	b.Cleanup(func() { _ = proxy.Close(); <-served })
	mounts, err := b.r.Driver.(driver.Mounted).Mounts(j.Adapter)
	if err != nil {
		b.Fatal(err)
	}
	b.Bench.contain(sandbox.Spec{Egress: socket, Loopback: hosts, Mounts: append(mounts, sandbox.Mount{Source: j.Dirs.Tmp, Target: "/tmp", Writable: true})})
}

func (b *realBench) turn(ctx context.Context, s driver.Session, n int, text string) driver.Yield {
	b.Helper()
	y, err := s.Turn(ctx, driver.Input{Turn: n, Text: text}, b.Bench)
	if err != nil {
		b.Fatal(err)
	}
	b.MustBeGone()
	return y
}

// describe dumps the run, for a test that failed.
func (b *realBench) describe(y driver.Yield) string {
	var out bytes.Buffer
	for _, p := range []string{y.StdoutPath, y.StderrPath} {
		if p != "" {
			fmt.Fprintf(&out, "%s:\n%.6000s\n", filepath.Base(p), b.ReadFile(p))
		}
	}
	return out.String()
}

func (b *realBench) repaired() bool {
	return strings.Contains(b.ReadFile(filepath.Join(b.Job.Dirs.Workspace, "calc")), "a + b")
}

func (b *realBench) mustComplete(y driver.Yield) {
	b.Helper()
	if y.Kind != driver.YieldCompletion || y.Claim == nil || y.Claim.Source != driver.SourceStream {
		b.Fatalf("got %s, %s, %v, %+v\n%s", y.Kind, y.Class, y.Err, y.Claim, b.describe(y))
	}
}

// total adds up the usage that was reported.
func (b *realBench) total() (sum agentruntime.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if u, ok := e.detail.(agentruntime.Usage); ok {
			sum.InputTokens += u.InputTokens
			sum.CachedInputTokens += u.CachedInputTokens
			sum.CacheWriteTokens += u.CacheWriteTokens
			sum.OutputTokens += u.OutputTokens
			sum.ReasoningTokens += u.ReasoningTokens
		}
	}
	return sum
}

func realRepairs(b *realBench) {
	s := b.begin("fix", nil)
	y := b.turn(b.Context(), s, 1, "")
	b.mustComplete(y)
	if !b.repaired() || !strings.Contains(y.Claim.Summary, "Repaired calc") {
		b.Errorf("repaired %v, claim %+v\n%s", b.repaired(), y.Claim, b.describe(y))
	}
	for _, kind := range []string{driver.EventStarted, driver.EventSession, driver.EventToolCall, driver.EventToolResult, driver.EventText, driver.EventTurn, driver.EventUsage, driver.EventClaim, driver.EventEnded} {
		if !slices.Contains(b.Kinds(), kind) {
			b.Errorf("no event %s in %v", kind, b.Kinds())
		}
	}
	if got := b.total(); got != b.r.Usage {
		b.Errorf("usage is %+v, want %+v", got, b.r.Usage)
	}
	if lifted := strings.Contains(fmt.Sprint(y.Diagnostics["posture"]), "lifted"); lifted != (b.kind == sandbox.Namespace) {
		b.Errorf("posture: %v", y.Diagnostics["posture"])
	}
	for _, arg := range y.Diagnostics["invocation"].(driver.Invocation).Argv {
		if strings.Contains(arg, "Repair it") {
			b.Errorf("the prompt is on the command line: %q", arg)
		}
	}
	if s.Ref() == "" {
		b.Error("the conversation has no reference")
	}
}

// realLies tests what deed is for: the agent says that it is done, and learns in the same conversation that it is not.
func realLies(b *realBench) {
	s := b.begin("liar", nil)
	b.mustComplete(b.turn(b.Context(), s, 1, ""))
	if b.repaired() {
		b.Fatal("the liar told the truth")
	}
	ref := s.Ref()
	const reasons = "Not accepted: check fails with 'calc 2 3 is not 5'."
	y := b.turn(b.Context(), s, 2, reasons)
	b.mustComplete(y)
	if !b.repaired() {
		b.Errorf("it is not repaired\n%s", b.describe(y))
	}
	tag := strings.NewReplacer("/", "-", " ", "-").Replace(b.Name())
	var last []byte
	for _, r := range b.server.Requests() {
		if strings.HasSuffix(r.Scenario, "~"+tag) && len(r.Body) > 0 {
			last = r.Body
		}
	}
	for _, want := range []string{"Repair it so that", "All done, the check passes.", "calc 2 3 is not 5"} {
		if !bytes.Contains(last, []byte(want)) {
			b.Errorf("the model was not told %q in the same conversation", want)
		}
	}
	// The conversation goes on in another process of deed's, too.
	b.Job.Resume = ref
	again, err := b.r.Driver.Start(b.Context(), b.Job)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = again.Close(context.WithoutCancel(b.Context())) }()
	b.mustComplete(b.turn(b.Context(), again, 3, "Look again."))
}

// up is what the tree of "stubborn" makes when all of it stands: a tool in a session of its own that ignores SIGTERM.
func (b *realBench) up() string { return filepath.Join(b.Job.Dirs.Workspace, "up") }

func realDeadline(b *realBench) {
	limit := 20 * time.Second
	if b.r.Heavy {
		limit = time.Minute
	}
	s := b.begin("stubborn", func(j *driver.Job) { j.Timeout = limit })
	y := b.turn(b.Context(), s, 1, "")
	if y.Kind != driver.YieldEnd || y.Class != failure.Timeout {
		b.Errorf("got %s, %s, %v\n%s", y.Kind, y.Class, y.Err, b.describe(y))
	}
	if _, err := os.Lstat(b.up()); err != nil {
		b.Errorf("the tool did not run before the deadline: %v\n%s", err, b.describe(y))
	}
}

func realCancel(b *realBench) {
	s := b.begin("stubborn", nil)
	ctx, cancel := context.WithCancelCause(b.Context())
	defer cancel(nil)
	stop := whenExists(b.T, b.up(), func() { cancel(driver.ErrCanceled) })
	y := b.turn(ctx, s, 1, "")
	stop()
	if y.Kind != driver.YieldEnd || y.Class != failure.Canceled {
		b.Errorf("got %s, %s, %v\n%s", y.Kind, y.Class, y.Err, b.describe(y))
	}
}

func (b *realBench) fails(scenario string, class failure.Class, change func(*driver.Job)) driver.Yield {
	b.Helper()
	s := b.begin(scenario, change)
	y := b.turn(b.Context(), s, 1, "")
	if y.Kind != driver.YieldEnd || y.Class != class {
		b.Errorf("got %s, %s, %v\n%s", y.Kind, y.Class, y.Err, b.describe(y))
	}
	return y
}

func realKey(b *realBench) { b.fails("key", failure.Config, nil) }

func realLimited(b *realBench) {
	y := b.fails("limited", failure.RateLimited, nil)
	if b.r.RetryAfter && y.RetryAfter != 3*time.Second {
		b.Errorf("retry after %v", y.RetryAfter)
	}
	if !slices.Contains(b.Kinds(), driver.EventFault) {
		b.Errorf("no fault in %v", b.Kinds())
	}
}

func realBroken(b *realBench) { b.fails("broken", failure.Provider, nil) }

func realHang(b *realBench) {
	b.fails("hang", failure.Timeout, func(j *driver.Job) { j.Timeout = 5 * time.Second })
}
