package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/engine/outbox"
	"github.com/deedrun/deed/internal/engine/schedule"
	"github.com/deedrun/deed/internal/engine/sensor"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/engine/workflow"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/store"
)

// A life is a home over a long time: one process after the other serves it, and each dies when its fuse is burnt. Time is
// virtual, everything else is real, except that the agents' part of an attempt is played by a driver in this process.
type life struct {
	testing.TB
	seed uint64
	rng  *rand.Rand
	dir  string
	dsn  string
	sup  *proc.Supervisor // of every attempt; no agent here starts a process
	key  *bundle.Key
	hook *httptest.Server // where messages go

	mu     sync.Mutex
	now    time.Time // guarded by mu
	fuse   int       // guarded by mu; crash points until the process dies; 0: it does not
	died   chan struct{}
	last   crashpoint.Point // guarded by mu; where the process died
	faults []string         // guarded by mu; what was found wrong by those who have no step of their own

	born    int  // processes so far
	deaths  int  // of them, by a crash
	healthy bool // the settings of the next process know every task type
	p       *process
	world   world
	seen    chronicle
}

// A process is one deed that serves the home.
type process struct {
	*Engine
	ctx    context.Context
	cancel context.CancelFunc
	lock   *home.Lock
	cfg    *config.Config
	plans  *schedule.Engine
	flows  *workflow.Engine
	intake *sensor.Intake
}

const yearSettings = `
defaults: {adapter_id: usual, profile_id: worker, max_attempts: 3}
adapters:
  usual: {kind: script, command: /bin/true, timeout_ms: 60000}
profiles:
  worker: {style: codex-like, role: r, default_adapter_id: usual, prompt_parts: [], skill_ids: [], context_policy: {max_prompt_chars: 20000, include_recent_memory: false}, result_policy: {allow_follow_up_tasks: true, allow_external_messages: true}}
retry: {base_seconds: 60, max_seconds: 7200, jitter: 0}
retention: {max_count: 50}
sensors:
  push: {kind: push}
  windowed: {kind: push, dedupe_window_seconds: 86400}
  box: {kind: mailbox, directory: %[1]s/box, every_seconds: 600, max_events: 40}
outbox:
  max_attempts: 4
  targets:
    hook: {kind: webhook, url: "%[2]s", secret_env: HOOK_KEY, timeout_seconds: 20}
    mail: {kind: file, directory: %[1]s/mail}
    desk: {kind: task, task_type: script}
`

// choreType is known to some processes only: what needs it turns bad when they do not.
const choreType = "task_types: {chore: {payload_schema_id: deed/payload.any/v1, deed: {accept_empty_output: true}}}\n"

const reviewFlow = `{
"schema": "agent-runtime/workflow.definition/v1", "workflow_type": "review", "initial_state": "wait", "deed": {"max_iterations": 4}, "states": [
{"state_id": "wait", "emits_task_intent": false, "completion_signals": [], "transitions": [{"signal": "go", "next_state": "work"}, {"signal": "stop", "next_state": "end"}]},
{"state_id": "work", "emits_task_intent": true, "task_type": "chore", "completion_signals": ["completed"], "transitions": [{"signal": "again", "next_state": "wait"}]},
{"state_id": "end", "emits_task_intent": false, "completion_signals": [], "transitions": []}]}`

func newLife(t testing.TB, seed uint64, dsn string) *life {
	t.Helper()
	l := &life{TB: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 7)), dir: memory(t), dsn: dsn, healthy: true}
	l.now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l.hook = httptest.NewServer(l.receiver())
	t.Cleanup(l.hook.Close)
	l.must(os.MkdirAll(filepath.Join(l.dir, "box"), 0o700))
	h, err := home.Open(filepath.Join(l.dir, "home"))
	l.must(err)
	if l.dsn == "" {
		l.dsn = h.DB()
	}
	l.must(os.MkdirAll(h.Workflows(), 0o700))
	l.must(os.WriteFile(filepath.Join(h.Workflows(), "review.json"), []byte(reviewFlow), 0o600))
	l.key, err = bundle.LoadOrCreateKey(h.Keys())
	l.must(err)
	exe, err := os.Executable()
	l.must(err)
	l.sup, err = proc.BeginSupervisor(proc.Options{Exe: exe})
	l.must(err)
	t.Cleanup(func() { _ = l.sup.Close() })
	t.Cleanup(crashpoint.Play(l.point))
	l.boot()
	t.Cleanup(func() { l.bury() })
	return l
}

// memory returns a directory that no disk slows down, where there is one: what dies here is a process, never the machine.
func memory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "deed-year-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = workspace.Remove(dir) })
	return dir
}

func (l *life) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatalf("seed %d, %s: %v", l.seed, l.clock().Format(time.DateTime), err)
	}
}

func (l *life) clock() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

func (l *life) pass(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = l.now.Add(d).Truncate(time.Microsecond)
}

// report keeps a fault that something outside the steps saw.
func (l *life) report(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// point burns the fuse. Where the fuse ends, the goroutine stops forever, as in a process that was killed.
func (l *life) point(p crashpoint.Point) {
	l.mu.Lock()
	if l.fuse == 0 {
		l.mu.Unlock()
		return
	}
	if l.fuse--; l.fuse > 0 {
		l.mu.Unlock()
		return
	}
	l.last = p
	close(l.died)
	l.mu.Unlock()
	select {}
}

// boot starts the next process.
func (l *life) boot() {
	l.Helper()
	l.born++
	text := fmt.Sprintf(yearSettings, l.dir, l.hook.URL)
	if l.healthy {
		text += choreType
	}
	file := filepath.Join(l.dir, "deed.yaml")
	l.must(os.WriteFile(file, []byte(text), 0o600))
	cfg, err := config.Load(config.Options{Explicit: file})
	l.must(err)
	h, err := home.Open(filepath.Join(l.dir, "home"))
	l.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	st, err := store.Open(ctx, l.dsn, store.Options{Clock: l.clock})
	l.must(err)
	drivers := driver.NewSet(player{l})
	adm := &task.Admission{Store: st, Config: cfg, Clock: l.clock, Drivers: drivers}
	known := workflow.Known{
		Type:    func(n string) error { _, err := cfg.Type(n); return err },
		Profile: func(n string) error { _, err := cfg.Profile(n); return err },
		Skill:   func(n string) error { return errors.New("no skill " + n) },
	}
	flows := &workflow.Engine{Store: st, Admission: adm, Clock: l.clock, Root: h.Root(), Catalog: func() *workflow.Catalog {
		return workflow.Load(workflow.Options{Home: h.Workflows(), Known: known})
	}}
	plans := &schedule.Engine{Store: st, Admission: adm, Clock: l.clock}
	intake := &sensor.Intake{Store: st, Admission: adm, Workflows: flows, Config: cfg, Clock: l.clock}
	quiet := slog.New(slog.DiscardHandler)
	senses := &sensor.Runner{Intake: intake, Store: st, Config: cfg, Clock: l.clock, Environ: os.Environ(), Log: quiet}
	self, err := proc.SelfIdentity()
	l.must(err)
	self.StartTime += uint64(l.born) // every process of a life is another one to the next
	e := &Engine{
		Home: h, Store: st, Clock: l.clock, Self: self, Slots: 1, Log: quiet, supers: []*proc.Supervisor{l.sup},
		Parts: Parts{
			Runner: &attempt.Runner{
				Home: h, Store: st, Config: cfg, Clock: l.clock, RunnerID: fmt.Sprint("process-", l.born), Lease: time.Minute, Drivers: drivers, Key: l.key,
				Environ: []string{"PATH=" + os.Getenv("PATH")},
			},
			Outbox: &outbox.Deliverer{Store: st, Admission: adm, Config: cfg, Clock: l.clock, Environ: []string{"HOOK_KEY=sesame-street-17", "PATH=" + os.Getenv("PATH")}},
			Hooks: []Hook{
				{Name: "schedules", Due: plans.Due, Next: plans.Next},
				{Name: "sensors", Due: senses.Due, Next: senses.Next, Start: senses.Start},
				{Name: "workflows", Due: flows.Due, Next: flows.Next},
			},
		},
	}
	l.p = &process{Engine: e, ctx: ctx, cancel: cancel, cfg: cfg, plans: plans, flows: flows, intake: intake}
	l.mu.Lock()
	l.died, l.fuse = make(chan struct{}), 0
	l.mu.Unlock()
	l.p.lock, err = e.Lock(ctx)
	l.must(err)
	l.must(e.Register(ctx))
}

// bury takes away what a process held, as a kernel does for a dead one.
func (l *life) bury() {
	_ = l.p.Store.Close() // before its context ends: what is left of it must not write
	l.p.cancel()
	_ = l.p.lock.Release()
}

// do lets the process do something, and starts the next one when it dies of it. It reports whether it lived.
func (l *life) do(fn func(ctx context.Context, p *process) error) bool {
	l.Helper()
	done := make(chan error, 1)
	p := l.p
	go func() { done <- fn(p.ctx, p) }()
	select {
	case err := <-done:
		l.must(err)
		return true
	case <-l.died:
	case <-time.After(2 * time.Minute):
		l.Fatalf("seed %d, %s: a step hangs", l.seed, l.clock().Format(time.DateTime))
	}
	l.deaths++
	l.bury()
	l.boot()
	return false
}

// arm lets the process die at one of its next crash points.
func (l *life) arm(points int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fuse = points
}

func (l *life) disarm() { l.arm(0) }

// restart ends the process in order, and starts the next.
func (l *life) restart() {
	l.Helper()
	l.disarm()
	l.p.supers = nil // the supervisor is the life's
	l.must(l.p.Close(l.p.ctx))
	l.bury()
	l.boot()
}
