package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/agent/loop"
	"github.com/deedrun/deed/internal/agent/tool"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// Names below the directory of the run.
const (
	messageFile = "last-message.txt"
	resultFile  = "result.json" // what the agent left in the exchange, as deed took it over
)

// A session is one conversation.
type session struct {
	job     driver.Job
	model   string
	timeout time.Duration
	spent   time.Duration // of the timeout, which holds for all turns together
	over    bool          // the agent ended
	vars    process.Vars
	conv    *loop.Conversation

	run, exchange *os.Root
}

var _ driver.Session = (*session)(nil)

// open opens the conversation, and what the session reads and writes.
func (s *session) open(cfg loop.Config) (err error) {
	infra := func(err error) error { return failure.New(failure.Infra, "prepare the agent's files", err, "") }
	if s.run, err = os.OpenRoot(s.job.Dirs.Run); err != nil {
		return infra(err)
	}
	if s.exchange, err = os.OpenRoot(s.job.Dirs.Exchange); err != nil {
		return infra(err)
	}
	if s.job.Resume != "" {
		s.conv, err = loop.Resume(cfg, s.job.Resume)
		return err
	}
	if err := s.setAside(); err != nil {
		return infra(err)
	}
	s.conv, err = loop.Begin(cfg, uuid.NewString(), s.job.Brief)
	return err
}

// setAside keeps the conversation of an earlier session that is not gone on with.
func (s *session) setAside() error {
	if _, err := s.run.Lstat(loop.LogFile); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	dir := "earlier-" + uuid.NewString()
	if err := s.run.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for _, name := range loop.Files {
		if err := s.run.Rename(name, filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Ref is the id of the conversation, whose log is in the directory of the run.
func (s *session) Ref() string {
	if s.conv == nil {
		return ""
	}
	return s.conv.ID()
}

// Close closes what the session holds. No process is left after a turn.
func (s *session) Close(context.Context) error {
	var err error
	if s.conv != nil {
		err = s.conv.Close()
	}
	for _, r := range []*os.Root{s.exchange, s.run} {
		if r != nil {
			_ = r.Close()
		}
	}
	return err
}

// Turn has the agent work until it yields.
func (s *session) Turn(ctx context.Context, in driver.Input, sink driver.Sink) (driver.Yield, error) {
	if s.over {
		return driver.Yield{}, driver.ErrLastTurn
	}
	if sink == nil {
		sink = driver.Discard
	}
	infra := func(err error) (driver.Yield, error) {
		return driver.Yield{}, failure.New(failure.Infra, "run the native agent", err, "")
	}
	if err := s.exchange.RemoveAll(resultFile); err != nil { // an earlier turn's
		return infra(err)
	}
	out := driver.TurnFile(driver.StdoutFile, in.Turn)
	rec, err := driver.NewRecorder(s.run, out, s.job.OutputCap, s.job.Redactor)
	if err != nil {
		return infra(err)
	}
	defer func() { _ = rec.Close() }()
	sink.Event(driver.EventSession, driver.SessionInfo{ID: s.Ref(), Requested: s.model, Resumed: s.job.Resume != ""})

	late := failure.New(failure.Timeout, "run the native agent", fmt.Errorf("it ran longer than %v", s.timeout), "raise timeout_ms, or make the work smaller")
	limited, cancel := context.WithTimeoutCause(ctx, s.timeout-s.spent, late)
	defer cancel()
	life := &life{sink: sink}
	host := tool.Open(limited, s.hostConfig(life))
	began := clock.Start()
	said := s.conv.Turn(limited, in.Text, loop.Env{Hands: host, Guard: s.job.Guard, Sink: sink, Transcript: rec})
	if err := host.Close(); err != nil { // what still runs can change whatever would be read now
		return infra(err)
	}
	y := driver.Yield{Kind: driver.YieldEnd, Class: failure.None, Diagnostics: map[string]any{"invocation": s.invocation(life.pid)}}
	y.Proc = life.exit()
	y.Proc.Duration, y.Proc.Killed = clock.Since(began), y.Proc.Killed+host.Killed()
	s.spent += y.Proc.Duration
	if err := errors.Join(rec.Finish(), s.conclude(&y, said, in, sink)); err != nil {
		return infra(err)
	}
	y.StdoutPath = filepath.Join(s.job.Dirs.Run, out)
	y.Truncated = said.Truncated
	if tr, ok := rec.Truncation("stdout"); ok {
		y.Truncated = append(y.Truncated, tr)
	}
	for _, tr := range y.Truncated {
		sink.Event(driver.EventTruncated, tr)
	}
	cause := context.Cause(limited)
	y.Proc.TimedOut, y.Proc.Canceled, y.Proc.Cause = errors.Is(cause, late), cause != nil && !errors.Is(cause, late), cause
	y.ExitStatus = y.Class.Rule().Exit
	s.over = y.Kind == driver.YieldEnd
	return y, nil
}

// hostConfig says how the tools of the turn are run: as the agent is contained, and with its environment.
func (s *session) hostConfig(l *life) tool.HostConfig {
	return tool.HostConfig{
		Run: s.job.Run, Self: s.job.Sandbox.Self(), Workspace: s.job.Inside(s.job.Dirs.Workspace), Env: s.vars.List(),
		Limits: s.job.Limits, Grace: s.job.Grace, OnStart: l.started, OnEnd: l.ended,
	}
}

// invocation is the record of what is started inside.
func (s *session) invocation(pid int) driver.Invocation {
	return driver.Invocation{
		Argv: []string{"native", s.model}, Path: s.job.Sandbox.Self(), Cwd: s.job.Inside(s.job.Dirs.Workspace),
		Env: s.vars.Recorded(s.job.Redactor), PID: pid,
	}
}

// conclude says what follows from how the conversation yielded.
func (s *session) conclude(y *driver.Yield, said loop.Yield, in driver.Input, sink driver.Sink) error {
	if said.Err != nil {
		s.fail(y, said.Err)
		return s.message(y, said.Summary, in)
	}
	claim, err := s.claim(y, said, in)
	var bad *failure.Error
	if errors.As(err, &bad) {
		s.fail(y, bad)
		return s.message(y, said.Summary, in)
	}
	if err != nil {
		return err
	}
	y.Claim = claim
	claim.Tell(sink)
	kind, f := claim.Outcome()
	if y.Kind = kind; f != nil {
		s.fail(y, f)
	}
	return s.message(y, claim.Summary, in)
}

func (s *session) fail(y *driver.Yield, f *failure.Error) {
	y.Class, y.Err, y.RetryAfter = f.Class, f, f.RetryAfter
	if f.Class == failure.Blocked {
		y.Kind = driver.YieldRequiredAction
	}
}

// claim is the agent's word: the result that it left in the exchange, else what it said at the end. The error is a
// *failure.Error when there is a result that cannot be read: the two words of an agent are not weighed against each other.
func (s *session) claim(y *driver.Yield, said loop.Yield, in driver.Input) (*driver.Claim, error) {
	data, err := driver.TakeFile(s.exchange, resultFile)
	// As the agent wrote it, the result may hold secrets.
	if rerr := s.exchange.RemoveAll(resultFile); rerr != nil {
		return nil, rerr
	}
	unreadable := func(err error) error {
		return failure.New(failure.InvalidWord, "read the result", err, "write a JSON object with a known status to the file that DEED_RESULT_FILE names, or nothing")
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.spoken(y, said)
	case err != nil:
		return nil, unreadable(err)
	}
	data = s.job.Redactor.Bytes(data)
	name := driver.TurnFile(resultFile, in.Turn)
	if err := driver.WriteFile(s.run, name, data); err != nil {
		return nil, err
	}
	y.ResultPath = filepath.Join(s.job.Dirs.Run, name)
	claim, dropped, err := driver.ParseClaim(data)
	if err != nil {
		return nil, unreadable(err)
	}
	if len(dropped) > 0 {
		y.Diagnostics["dropped"] = dropped
	}
	claim.Source = driver.SourceResultFile
	return claim, nil
}

// spoken is what the agent said at the end.
func (s *session) spoken(y *driver.Yield, said loop.Yield) (*driver.Claim, error) {
	data, err := json.Marshal(map[string]any{
		"status": agentruntime.TaskCompleted, "operator_summary": said.Summary, "file_changes": append([]string{}, said.Files...),
	})
	if err != nil {
		return nil, err
	}
	claim, dropped, err := driver.ParseClaim(data)
	if err != nil {
		return nil, err
	}
	if len(dropped) > 0 {
		y.Diagnostics["dropped"] = dropped
	}
	claim.Source = driver.SourceStream
	return claim, nil
}

// message keeps the agent's last message.
func (s *session) message(y *driver.Yield, text string, in driver.Input) error {
	if text == "" {
		return nil
	}
	name := driver.TurnFile(messageFile, in.Turn)
	y.LastMessagePath = filepath.Join(s.job.Dirs.Run, name)
	return driver.WriteFile(s.run, name, []byte(s.job.Redactor.String(text)))
}

// A life is what became of the processes of a turn.
type life struct {
	sink driver.Sink

	mu   sync.Mutex
	pid  int          // of the last
	last sandbox.Exit // of the last that ended
	sum  proc.Exit    // over all
}

func (l *life) started(pid int) {
	l.mu.Lock()
	l.pid = pid
	l.mu.Unlock()
	l.sink.Event(driver.EventStarted, map[string]any{"pid": pid})
}

func (l *life) ended(exit sandbox.Exit, _ error) {
	l.mu.Lock()
	l.last = exit
	l.sum.MaxRSS = max(l.sum.MaxRSS, exit.MaxRSS)
	l.sum.UserTime += exit.UserTime
	l.sum.SystemTime += exit.SystemTime
	l.sum.Killed += exit.Killed
	l.mu.Unlock()
	l.sink.Event(driver.EventEnded, driver.EndedOf(exit))
}

// exit returns only when no process is left.
func (l *life) exit() proc.Exit {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.sum
	e.Code, e.Signal = l.last.Code, l.last.Signal
	return e
}
