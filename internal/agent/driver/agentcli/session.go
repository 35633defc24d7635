package agentcli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/base/failure"
)

// A session is one conversation.
type session struct {
	kind         string
	plan         Plan
	state        *State
	conversation Conversation
	spent        time.Duration // of the time limit
	over         bool          // there is no further turn
}

var _ driver.Session = (*session)(nil)

// Ref is the conversation's id with what deed knows of it.
func (s *session) Ref() string { return s.state.ref() }

// Close closes what the session holds. No process is left after a turn.
func (s *session) Close(context.Context) error { return s.plan.Close() }

// checkLaunch prepares a launch without starting it, so that its faults are known before anything runs.
func (s *session) checkLaunch(ctx context.Context) error {
	l, err := s.conversation.Launch(ctx, "", NewReporter(driver.Discard, nil, s.state), func(*failure.Error) {})
	if err != nil {
		return err
	}
	if l.Done != nil {
		l.Done()
	}
	if _, err := s.vars(l); err != nil {
		return err
	}
	for i, arg := range l.Args {
		if strings.IndexByte(arg, 0) >= 0 {
			return failure.New(failure.Config, "start "+s.kind, fmt.Errorf("argument %d holds a NUL byte", i+1), "take it out")
		}
	}
	return checkRequired(l.Args, s.plan.Config.RequiredArgs)
}

// prompt is the text that the agent gets in a turn.
func (s *session) prompt(in driver.Input) string {
	switch {
	case s.state.ID != "" && in.Text != "":
		return in.Text
	case s.state.ID != "":
		return "Go on with the task."
	case in.Text != "":
		return s.plan.Job.Brief + "\n\n" + in.Text
	}
	return s.plan.Job.Brief
}

// Turn runs the CLI until it ends.
func (s *session) Turn(ctx context.Context, in driver.Input, sink driver.Sink) (driver.Yield, error) {
	if s.over {
		return driver.Yield{}, driver.ErrLastTurn
	}
	s.over = true
	if sink == nil {
		sink = driver.Discard
	}
	y, err := s.run(ctx, in, sink)
	if err != nil || !s.unknown(y) || ctx.Err() != nil {
		return y, err
	}
	// A CLI that was killed may not have saved its conversation, or not all of it. It starts over in the workspace as it is, and
	// gets both the text of the start and that of this turn.
	sink.Event(driver.EventRestart, driver.Restart{Why: y.Err.Error()})
	*s.state = State{Runs: s.state.Runs, Turns: s.state.Turns}
	if y, err = s.run(ctx, in, sink); err == nil {
		y.Diagnostics["conversation"] = "restarted"
	}
	return y, err
}

// unknownWords are how CLIs say that they do not know the conversation which they are to go on with.
var unknownWords = []string{"no conversation found", "no rollout found", "session not found", "thread not found"}

// unknown reports whether a turn failed because the CLI does not know the conversation.
func (s *session) unknown(y driver.Yield) bool {
	if s.state.ID == "" || y.Kind != driver.YieldEnd || y.Class != failure.AgentFailed || y.Err == nil {
		return false
	}
	said := strings.ToLower(y.Err.Error())
	return slices.ContainsFunc(unknownWords, func(w string) bool { return strings.Contains(said, w) })
}

// run runs the CLI once.
func (s *session) run(ctx context.Context, in driver.Input, sink driver.Sink) (driver.Yield, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.state.Runs++
	report := NewReporter(sink, s.plan.Job.Redactor, s.state)
	l, err := s.conversation.Launch(ctx, s.prompt(in), report, func(f *failure.Error) { cancel(f) })
	if err != nil {
		return driver.Yield{}, err
	}
	if l.Stdin == nil {
		l.Stdin = strings.NewReader(s.prompt(in))
	}
	vars, err := s.vars(l)
	if err != nil {
		return driver.Yield{}, err
	}
	lines := &Lines{
		Line: s.conversation.Feed,
		Long: func(head []byte, _ int64) { report.Strange("an event that is too long", head) },
	}
	a := newAttendant(ctx, l)
	t, err := s.plan.Run(a.ctx, process.Call{
		Turn: in.Turn, Args: l.Args, Vars: vars, Stdin: l.Stdin, Stdout: lines, Timeout: max(s.plan.Timeout-s.spent, time.Millisecond),
	}, sink)
	a.end()
	lines.Close()
	if l.Done != nil {
		l.Done()
	}
	report.finish()
	if err != nil {
		return driver.Yield{}, err
	}
	s.spent += t.Yield.Proc.Duration
	a.report(t)
	return s.conclude(t)
}

// conclude says what follows from a run; see the package documentation.
func (s *session) conclude(t *process.Turn) (driver.Yield, error) {
	o := s.outcome()
	t.Message = o.Message
	for name, note := range o.Notes {
		t.Yield.Diagnostics[name] = note
	}
	t.Yield.Diagnostics["posture"] = s.plan.Posture.Why
	y, err := t.Conclude(func() {
		switch {
		case o.Failure != nil:
			t.Fail(o.Failure)
		case t.Yield.Proc.Code != 0 && !t.Ended:
			said := ""
			if o.Succeeded {
				said = "its last event says success, its exit says otherwise"
			}
			t.FailExit(said)
		case !o.Succeeded:
			t.Fail(failure.New(failure.InvalidWord, "read the stream of "+s.kind,
				errors.New("it ended without an event that says that the turn succeeded"), "see the recorded output"))
		default:
			if t.NoResult && (o.Message != "" || !o.NeedsWord || s.plan.Job.AcceptEmptyOutput) {
				t.Claim(o.claim())
			}
			t.Judge("it ended without a word, and left no result", `write {"status": "completed", "operator_summary": "…"} to the file that DEED_RESULT_FILE names, or nothing`)
		}
	})
	if err != nil {
		return y, err
	}
	if y.Class == failure.Blocked {
		y.Kind = driver.YieldRequiredAction
	}
	s.over = y.Kind == driver.YieldEnd
	return y, nil
}

// outcome is the conversation's, redacted.
func (s *session) outcome() Outcome {
	o := s.conversation.Outcome()
	r := s.plan.Job.Redactor
	o.Message = r.String(o.Message)
	if o.Failure != nil && r.Active() {
		f := *o.Failure
		f.Err = errors.New(r.String(f.Err.Error()))
		o.Failure = &f
	}
	_ = r.Value(&o.Notes)
	return o
}
