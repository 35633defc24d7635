package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/driver"
	"github.com/deedrun/deed/internal/failure"
	"github.com/deedrun/deed/internal/proc"
)

// A session is one run of a script.
type session struct {
	job     driver.Job
	argv    []string
	path    string
	cwd     string
	vars    map[string]variable
	timeout time.Duration
	taken   bool

	// Opened before the agent runs, so that what it does to the names does not matter.
	run, exchange, artifacts *os.Root
}

var _ driver.Session = (*session)(nil)

// open makes the exchange directory and what the agent finds in it.
func (s *session) open() (err error) {
	if s.run, err = os.OpenRoot(s.job.Dirs.Run); err != nil {
		return err
	}
	if s.artifacts, err = os.OpenRoot(s.job.Dirs.Artifacts); err != nil {
		return err
	}
	if s.exchange, err = os.OpenRoot(s.job.Dirs.Exchange); err != nil {
		return err
	}
	for _, name := range []string{payloadFile, briefFile, resultFile} { // an earlier session's
		if err = s.exchange.RemoveAll(name); err != nil {
			return err
		}
	}
	if err = driver.WriteFile(s.exchange, payloadFile, payload(s.job)); err != nil {
		return err
	}
	return driver.WriteFile(s.exchange, briefFile, []byte(s.job.Brief))
}

// Ref is empty: a script has no conversation.
func (s *session) Ref() string { return "" }

// Close closes what the session holds. No process is left after a turn.
func (s *session) Close(context.Context) error {
	for _, r := range []*os.Root{s.exchange, s.artifacts, s.run} {
		if r != nil {
			_ = r.Close()
		}
	}
	return nil
}

// Done reports whether the script was run.
func (s *session) Done() bool { return s.taken }

// Turn runs the script. There is one turn.
func (s *session) Turn(ctx context.Context, _ driver.Input, sink driver.Sink) (driver.Yield, error) {
	if s.taken {
		return driver.Yield{}, driver.ErrLastTurn
	}
	s.taken = true
	if sink == nil {
		sink = driver.Discard
	}
	t := &turn{session: s, sink: sink}
	return t.take(ctx)
}

// A turn gathers what one run leaves.
type turn struct {
	*session
	sink           driver.Sink
	stdout, stderr *driver.Recorder
	yield          driver.Yield
	lastError      string // the end of stderr
	resultErr      error  // why there is no claim
	noResult       bool   // there is none at all
	limit          string // the limit that ended the run, if one did
}

func (t *turn) take(ctx context.Context) (driver.Yield, error) {
	infra := func(op string, err error) (driver.Yield, error) {
		return driver.Yield{}, failure.New(failure.Infra, op, err, "")
	}
	stdin, err := t.exchange.Open(payloadFile)
	if err != nil {
		return infra("open the payload", err)
	}
	defer stdin.Close()
	if t.stdout, err = driver.NewRecorder(t.run, driver.StdoutFile, t.job.OutputCap, t.job.Redactor); err != nil {
		return infra("run the script", err)
	}
	defer func() { _ = t.stdout.Close() }()
	if t.stderr, err = driver.NewRecorder(t.run, driver.StderrFile, t.job.OutputCap, t.job.Redactor); err != nil {
		return infra("run the script", err)
	}
	defer func() { _ = t.stderr.Close() }()

	invocation := t.invocation()
	t.yield.Diagnostics = map[string]any{}
	exit, runErr := t.job.Run(ctx, proc.Spec{
		Argv: append([]string{t.program()}, t.argv[1:]...), Dir: t.job.Inside(t.cwd), Env: list(t.vars),
		Stdin: stdin, Stdout: t.stdout, Stderr: t.stderr,
		Timeout: t.timeout, Grace: t.job.Grace, Limits: t.job.Limits,
		OnStart: func(pid int) {
			invocation.PID = pid
			t.sink.Event(driver.EventStarted, map[string]any{"pid": pid})
		},
	})
	t.yield.Proc = exit.Exit
	t.limit = exit.Limit
	t.yield.Diagnostics["invocation"] = invocation
	t.sink.Event(driver.EventEnded, driver.Ended{
		ExitCode: exit.Code, Signal: exit.Signal, TimedOut: exit.TimedOut, Canceled: exit.Canceled, Limit: exit.Limit,
		DurationMS: exit.Duration.Milliseconds(), Killed: exit.Killed,
	})
	if errors.Is(runErr, proc.ErrSurvivors) {
		// What still runs can change whatever would be read now.
		return infra("run the script", runErr)
	}
	if err := t.gather(); err != nil && runErr == nil {
		return infra("record the run", err)
	}
	t.conclude(runErr)
	return t.yield, nil
}

// program is the command as the agent sees it: links are resolved, because what was mounted is what they lead to.
func (t *turn) program() string {
	if real, err := filepath.EvalSymlinks(t.path); err == nil && t.job.Sandbox != nil {
		return t.job.Inside(real)
	}
	return t.path
}

// invocation is the record of what is started. Values are left out where they could be a secret, and redacted
// elsewhere.
func (t *turn) invocation() driver.Invocation {
	r := t.job.Redactor
	inv := driver.Invocation{Path: t.program(), Cwd: t.job.Inside(t.cwd), Env: map[string]string{}}
	for _, arg := range t.argv {
		inv.Argv = append(inv.Argv, r.String(arg))
	}
	for name, v := range t.vars {
		if inv.Env[name] = v.hidden; v.hidden == "" {
			inv.Env[name] = r.String(v.value)
		}
	}
	return inv
}

// gather takes over what the agent left: output, result, its own account.
func (t *turn) gather() error {
	if err := errors.Join(t.stdout.Finish(), t.stderr.Finish()); err != nil {
		return err
	}
	t.yield.StdoutPath = filepath.Join(t.job.Dirs.Run, driver.StdoutFile)
	t.yield.StderrPath = filepath.Join(t.job.Dirs.Run, driver.StderrFile)
	for _, r := range []struct {
		stream string
		rec    *driver.Recorder
	}{{"stdout", t.stdout}, {"stderr", t.stderr}} {
		if tr, ok := r.rec.Truncation(r.stream); ok {
			t.yield.Truncated = append(t.yield.Truncated, tr)
			t.sink.Event(driver.EventTruncated, tr)
		}
	}
	if err := t.readResult(); err != nil {
		return err
	}
	if err := t.writeMessage(); err != nil {
		return err
	}
	t.readAudit()
	t.lastError = lastLine(t.stderr.Tail(maxMessage))
	return errors.Join(t.stdout.Close(), t.stderr.Close())
}

// readResult finds the agent's result and reads it as a claim.
func (t *turn) readResult() error {
	source := driver.SourceResultFile
	data, err := driver.TakeFile(t.exchange, resultFile)
	// As the agent wrote it, the result may hold secrets.
	if rerr := t.exchange.RemoveAll(resultFile); rerr != nil {
		return rerr
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		source = driver.SourceStdout
		if data, err = driver.LastJSON(t.stdout.File()); err != nil {
			return err
		}
		if data == nil {
			t.noResult = true
			return nil
		}
	case err != nil:
		t.resultErr = fmt.Errorf("the result file: %w", err)
		return nil
	}
	data = t.job.Redactor.Bytes(data)
	if err := driver.WriteFile(t.run, resultFile, data); err != nil {
		return err
	}
	t.yield.ResultPath = filepath.Join(t.job.Dirs.Run, resultFile)
	claim, dropped, err := driver.ParseClaim(data)
	if err != nil {
		t.noResult = source == driver.SourceStdout && errors.Is(err, driver.ErrNoStatus)
		t.resultErr = fmt.Errorf("the result from %s: %w", strings.ReplaceAll(source, "_", " "), err)
		return nil
	}
	claim.Source = source
	t.setClaim(claim)
	if len(dropped) > 0 {
		t.yield.Diagnostics["dropped"] = dropped
		for _, what := range dropped {
			t.sink.Event(driver.EventDropped, map[string]any{"what": what})
		}
	}
	return nil
}

func (t *turn) setClaim(c *driver.Claim) {
	t.yield.Claim = c
	t.yield.RetryAfter = time.Duration(c.RetryAfterSeconds * float64(time.Second))
	t.sink.Event(driver.EventClaim, map[string]any{"status": c.Status, "machine_status": c.MachineStatus, "source": c.Source})
}

// maxMessage bounds the last message when it is taken from the end of stdout.
const maxMessage = 4 << 10

// writeMessage keeps the agent's last message: its summary, else the end of its output.
func (t *turn) writeMessage() error {
	text := ""
	if t.yield.Claim != nil {
		text = t.yield.Claim.Summary
	}
	if text == "" {
		text = strings.ToValidUTF8(t.stdout.Tail(maxMessage), "\ufffd")
	}
	if text == "" {
		return nil
	}
	t.yield.LastMessagePath = filepath.Join(t.job.Dirs.Run, messageFile)
	return driver.WriteFile(t.run, messageFile, []byte(text))
}

// readAudit takes the agent's own account, if there is a readable one; whether there must be is the gate's business.
func (t *turn) readAudit() {
	data, err := driver.TakeFile(t.artifacts, driver.AuditFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if data = t.job.Redactor.Bytes(data); err == nil && !json.Valid(data) {
		err = errors.New("it is not JSON")
	}
	if err != nil {
		t.yield.Diagnostics["audit_error"] = err.Error()
		return
	}
	t.yield.Audit = data
}

// conclude says what follows from the run; see the package documentation.
func (t *turn) conclude(runErr error) {
	exit := t.yield.Proc
	y := &t.yield
	y.Kind = driver.YieldEnd
	fail := func(f *failure.Error) { y.Class, y.Err = f.Class, f }
	var start *proc.StartError
	switch {
	case errors.As(runErr, &start):
		if f := new(failure.Error); errors.As(spawnFault(t.argv[0], start.Err), &f) {
			fail(f)
		}
	case exit.TimedOut:
		fail(failure.New(failure.Timeout, "run the script", fmt.Errorf("it ran longer than %v", t.timeout), "raise timeout_ms, or make the work smaller"))
	case exit.Canceled:
		fail(canceled(exit.Cause))
	case t.limit != "":
		fail(failure.New(failure.Limit, "run the script", fmt.Errorf("it was ended: %w", exit.Cause), "raise the limit in deed.sandbox.limits, or make the work smaller"))
	case runErr != nil:
		fail(failure.New(failure.Infra, "run the script", runErr, ""))
	case exit.Code != 0:
		t.concludeExit(fail)
	default:
		t.concludeClaim(fail)
	}
	y.ExitStatus = y.Class.Rule().Exit
}

// canceled classes the end of the context by its cause.
func canceled(cause error) *failure.Error {
	var f *failure.Error
	switch {
	case errors.As(cause, &f):
		return f
	case errors.Is(cause, driver.ErrCanceled):
		return failure.New(failure.Canceled, "run the script", cause, "")
	}
	return failure.New(failure.Interrupted, "run the script", cause, "")
}

func (t *turn) concludeExit(fail func(*failure.Error)) {
	exit := t.yield.Proc
	why := fmt.Sprintf("exit %d", exit.Code)
	if exit.Signal != "" {
		why = "ended by " + exit.Signal
	}
	if c := t.yield.Claim; c != nil && c.Status == agentruntime.TaskCompleted {
		said := fmt.Sprintf("its result says %s, its exit says otherwise", c.Status)
		t.yield.Diagnostics["contradiction"] = said
		why += "; " + said
	}
	if t.resultErr != nil {
		t.yield.Diagnostics["result_error"] = t.resultErr.Error()
	}
	if t.lastError != "" {
		why += ": " + t.lastError
	}
	fail(failure.New(failure.AgentFailed, "run the script", errors.New(why), ""))
}

func lastLine(s string) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\ufffd"))
	return shorten(s[strings.LastIndexByte(s, '\n')+1:])
}

// shorten keeps what an agent wrote from flooding a message.
func shorten(s string) string {
	if r := []rune(s); len(r) > 300 {
		return string(r[:300]) + "…"
	}
	return s
}

func (t *turn) concludeClaim(fail func(*failure.Error)) {
	y := &t.yield
	if t.noResult && t.job.AcceptEmptyOutput {
		t.resultErr = nil
		t.setClaim(&driver.Claim{Source: driver.SourceExitCode, Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK})
	}
	if y.Claim == nil {
		err := t.resultErr
		if err == nil {
			err = errors.New("exit 0 without a result: no result file, and no JSON object on stdout")
		}
		if tr, ok := t.stdout.Truncation("stdout"); ok {
			err = fmt.Errorf("%w (%d bytes of stdout were dropped)", err, tr.Dropped)
		}
		fail(failure.New(failure.InvalidWord, "read the result", err,
			`write {"status": "completed", "operator_summary": "…"} to the file that DEED_RESULT_FILE names`))
		return
	}
	said := shorten(y.Claim.Summary)
	if said == "" {
		said = "no summary"
	}
	switch y.Claim.Status {
	case agentruntime.TaskCompleted:
		y.Kind, y.Class = driver.YieldCompletion, failure.None
	case agentruntime.TaskRetryableFailure:
		class := failure.AskedRetry
		if c, ok := driver.FailureWords[y.Claim.Failure]; ok {
			class = c
		}
		f := failure.New(class, "the agent asks for another try", errors.New(said), "")
		f.RetryAfter = y.RetryAfter
		fail(f)
	case agentruntime.TaskBlocked:
		y.Kind = driver.YieldRequiredAction
		fail(failure.New(failure.Blocked, "the agent waits for a person", errors.New(said), ""))
	default:
		fail(failure.New(failure.AskedFail, "the agent says that it cannot do the work", errors.New(said), ""))
	}
}
