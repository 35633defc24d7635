package packaged

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/compat/homeboy/outcome"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// Names below driver.Dirs.Run. See driver.TurnFile for those of later turns.
const (
	RequestFile  = "provider-request.json"  // what the provider read, redacted
	EvidenceFile = "provider-evidence.json" // who it was and how it was run
	OutcomeFile  = "outcome.json"           // what its answer was made to be
	ArtifactsDir = "provider-artifacts"     // its artifacts, by content
)

// Start prepares a session. A job that Fit has not seen is looked at here.
func (d *Driver) Start(ctx context.Context, j driver.Job) (_ driver.Session, err error) {
	if j.Resume != "" {
		return nil, failure.New(failure.Config, opStart, errors.New("a provider has no conversation to go on with"), "start it anew")
	}
	p, ok := j.Plan.(*plan)
	if !ok {
		var values map[string]string
		if p, values, err = d.plan(ctx, j); err != nil {
			return nil, err
		}
		if len(values) > 0 {
			values = maps.Clone(values)
			maps.Copy(values, j.Secrets)
			j.Secrets, j.Redactor = values, redact.New(values)
		}
	}
	if err := p.link(j); err != nil {
		return nil, err
	}
	j.Grace = max(j.Grace, 0)
	agent, err := process.Prepare(j, "the provider", p.command.Argv[0])
	if err != nil {
		return nil, err
	}
	agent.Dir, agent.Direct, agent.Config.Command = p.place.dir, true, p.command.Argv[0]
	run, err := os.OpenRoot(j.Dirs.Run)
	if err != nil {
		return nil, errors.Join(failure.New(failure.Infra, opStart, err, ""), agent.Close())
	}
	return &session{driver: d, job: j, plan: p, agent: agent, run: run, began: clock.Start()}, nil
}

// A session runs a provider: once, and again for each refusal of the gate.
type session struct {
	driver *Driver
	job    driver.Job
	plan   *plan
	agent  *process.Agent
	run    *os.Root
	began  time.Time
	over   bool
}

var (
	_ driver.Session = (*session)(nil)
	_ driver.Finite  = (*session)(nil)
)

// Ref is empty: a provider has no conversation.
func (s *session) Ref() string { return "" }

// Done reports whether the provider has said that it will do no more.
func (s *session) Done() bool { return s.over }

// Close closes what the session holds. No process is left after a turn.
func (s *session) Close(context.Context) error {
	err := errors.Join(s.agent.Close(), s.run.Close())
	s.over = true
	return err
}

// A turn is one run of the provider.
type turn struct {
	job       driver.Job
	plan      *plan
	number    int
	timeLimit time.Duration   // how long the provider has, according to its request
	sent      homeboy.Request // the request as it was sent

	sink    driver.Sink
	records []string
}

// Turn runs the provider.
func (s *session) Turn(ctx context.Context, in driver.Input, sink driver.Sink) (driver.Yield, error) {
	if s.over {
		return driver.Yield{}, driver.ErrLastTurn
	}
	if sink == nil {
		sink = driver.Discard
	}
	t := &turn{job: s.job, plan: s.plan, number: in.Turn, sink: sink}
	announced, limit := s.bounds()
	t.timeLimit = announced
	request, err := t.request(in)
	if err != nil {
		return driver.Yield{}, err
	}
	if announced <= 0 {
		s.over = true
		return s.unstarted(ctx, t, outcome.DeadlinePast, failure.Timeout, errors.New("the time of the task is over"))
	}
	if len(s.plan.tools) > 0 {
		if request, err = s.withTools(ctx, t, in); err != nil {
			return s.toolsFail(ctx, t, err)
		}
	}
	if err := s.write(t, RequestFile, request); err != nil {
		return driver.Yield{}, err
	}
	if err := s.plan.place.prepare(s.job); err != nil {
		return driver.Yield{}, err
	}
	vars, err := t.vars(s.agent.Vars)
	if err != nil {
		return driver.Yield{}, err
	}
	if err := s.plan.place.same(); err != nil { // the last thing before the start
		s.over = true
		return s.unstarted(ctx, t, outcome.NotStarted, failure.Config, &driver.Refusal{Code: CodeIdentityChanged, Class: string(homeboy.ClassInvalidInput), Err: err})
	}
	return s.spawn(ctx, t, request, vars, limit)
}

// spawn runs the command to its end.
func (s *session) spawn(ctx context.Context, t *turn, request []byte, vars process.Vars, limit time.Duration) (driver.Yield, error) {
	watched, end := context.WithCancelCause(ctx)
	defer end(nil)
	w := &watcher{end: end, most: maxOutput}
	if l := t.sent.Limits; l != nil {
		w.silent = time.Duration(l.LivenessTimeoutMS) * time.Millisecond
		if l.MaxOutputBytes > 0 {
			w.most = int(min(l.MaxOutputBytes, maxOutput))
		}
	}
	w.begin()
	s.agent.Timeout = t.timeLimit // the limit that messages name
	pt, err := s.agent.Run(watched, process.Call{
		Turn: t.number, Args: s.plan.command.Argv[1:], Vars: vars, Stdin: bytes.NewReader(request), Answers: true,
		Stdout: stdout{w}, Stderr: &stderr{watcher: w, redactor: s.job.Redactor, sink: t.sink}, Timeout: limit,
	}, t.sink)
	w.stop()
	if err != nil {
		return driver.Yield{}, err
	}
	return s.conclude(ctx, t, pt, w)
}

// bounds returns how long the provider has according to its request, and how long it really has: a little more, so that it can
// report its timeout itself. Neither exceeds the task's own limit or the absolute deadline.
func (s *session) bounds() (announced, limit time.Duration) {
	announced = s.driver.wallClock(s.job, s.plan.request)
	limit = announced + grace(announced)
	if s.job.Timeout > 0 {
		left := s.job.Timeout - clock.Since(s.began)
		announced, limit = min(announced, left), min(limit, left)
	}
	if left, bound := s.driver.untilDeadline(s.plan.request); bound {
		announced, limit = min(announced, left), min(limit, left)
	}
	return announced, limit
}

// wallClock is the wall-clock limit of a run. A request of the caller's has a default of its own.
func (d *Driver) wallClock(j driver.Job, q homeboy.Request) time.Duration {
	own := time.Duration(j.Adapter.Packaged.TimeoutMS) * time.Millisecond
	if built(j) {
		return own
	}
	return min(own, time.Duration(q.Limits.WallClockMS())*time.Millisecond)
}

// grace is a tenth of a limit, within reason.
func grace(limit time.Duration) time.Duration {
	return min(max(limit/10, 100*time.Millisecond), 30*time.Second)
}

// untilDeadline is what is left until the absolute deadline of a request; bound is false without one.
func (d *Driver) untilDeadline(q homeboy.Request) (left time.Duration, bound bool) {
	if q.Limits == nil || q.Limits.ExecutionDeadlineUnixMS <= 0 {
		return 0, false
	}
	return time.UnixMilli(q.Limits.ExecutionDeadlineUnixMS).Sub(d.opt.Clock()), true
}

// refusePast refuses a request whose deadline is over: nothing is started, nor made ready (edge case 53).
func (d *Driver) refusePast(q homeboy.Request) error {
	if left, bound := d.untilDeadline(q); bound && left <= 0 {
		return driver.Refuse(opStart, CodeDeadline, string(homeboy.ClassTimeout), fmt.Errorf("limits.execution_deadline_unix_ms passed %v ago", -left), "give it a later one")
	}
	return nil
}

// write keeps a document of deed's own record, redacted.
func (s *session) write(t *turn, name string, data []byte) error {
	name = driver.TurnFile(name, t.number)
	if err := driver.WriteFile(s.run, name, s.job.Redactor.Bytes(data)); err != nil {
		return failure.New(failure.Infra, "record the run", err, "")
	}
	t.records = append(t.records, filepath.Join(s.job.Dirs.Run, name))
	return nil
}
