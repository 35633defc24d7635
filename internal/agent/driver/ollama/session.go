package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/model"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/failure"
)

// maxAnswer bounds an answer on the wire; its text is far shorter.
const maxAnswer = 32 << 20

// Files of a turn in Dirs.Run, and the artifact.
const (
	messageFile  = "last-message.txt"
	resultFile   = "result.json"
	ResponseFile = "response.md" // the artifact: the model's last answer
)

// A session is the conversation of one attempt.
type session struct {
	job             driver.Job
	client          model.Client
	endpoint, model string
	timeout         time.Duration
	spent           time.Duration // of the timeout, which holds for all turns together
	run, artifacts  *os.Root

	said []word // by either side, oldest first
	ref  string
	over bool // the agent ended
}

var _ driver.Session = (*session)(nil)

// Ref names the conversation once it has content.
func (s *session) Ref() string { return s.ref }

// Close closes what the session holds. There is no process.
func (s *session) Close(context.Context) error {
	var errs []error
	for _, r := range []*os.Root{s.run, s.artifacts} {
		if r != nil {
			errs = append(errs, r.Close())
		}
	}
	s.run, s.artifacts = nil, nil
	return errors.Join(errs...)
}

// A turn is one question and what came of it.
type turn struct {
	*session
	in     driver.Input
	sink   driver.Sink
	yield  driver.Yield
	answer string
}

// Turn asks once.
func (s *session) Turn(ctx context.Context, in driver.Input, sink driver.Sink) (driver.Yield, error) {
	if s.run == nil || s.over {
		return driver.Yield{}, driver.ErrLastTurn
	}
	if sink == nil {
		sink = driver.Discard
	}
	t := &turn{session: s, in: in, sink: sink, yield: driver.Yield{Kind: driver.YieldEnd, Diagnostics: map[string]any{}}}
	t.yield.Diagnostics["invocation"] = driver.Invocation{
		Argv: []string{http.MethodPost, s.endpoint + "/api/generate"}, Path: s.endpoint, Cwd: s.job.Inside(s.job.Dirs.Workspace), Env: map[string]string{},
	}
	asked := word{model.RoleUser, s.job.Brief}
	if in.Text != "" {
		asked.Text = in.Text
	}
	if len(s.said) == 0 && in.Text != "" { // it begins in the middle: the brief was never said
		s.said = append(s.said, word{model.RoleUser, s.job.Brief})
	}
	s.said = append(s.said, asked)
	if err := s.save(); err != nil {
		return driver.Yield{}, failure.New(failure.Infra, "keep the conversation", err, "")
	}
	sink.Event(driver.EventSession, driver.SessionInfo{ID: s.ref, Requested: s.model, Resumed: s.job.Resume != ""})
	f := t.ask(ctx)
	if f == nil {
		f = t.judge()
	}
	if f != nil {
		t.yield.Class, t.yield.Err = f.Class, f
		t.yield.RetryAfter = max(f.RetryAfter, t.yield.RetryAfter)
	} else {
		t.yield.Class = failure.None
	}
	t.yield.ExitStatus = t.yield.Class.Rule().Exit
	s.over = t.yield.Kind == driver.YieldEnd
	if err := t.keep(); err != nil {
		return driver.Yield{}, failure.New(failure.Infra, "record the answer", err, "")
	}
	return t.yield, nil
}

// ask sends the prompt and takes the answer in, and returns why there is none.
func (t *turn) ask(parent context.Context) *failure.Error {
	late := failure.New(failure.Timeout, op, fmt.Errorf("it ran longer than %v", t.timeout), "raise timeout_ms, or make the work smaller")
	ctx, cancel := context.WithTimeoutCause(parent, t.timeout-t.spent, late)
	defer cancel()
	rec, err := driver.NewRecorder(t.run, driver.TurnFile(driver.StdoutFile, t.in.Turn), t.job.OutputCap, t.job.Redactor)
	if err != nil {
		return failure.New(failure.Infra, "record the answer", err, "")
	}
	start, began := clock.Start(), clock.System()
	var werr error
	resp, err := t.client.Stream(ctx, model.Request{
		Model: t.model, Messages: []model.Message{{Role: model.RoleUser, Blocks: []model.Block{{Text: prompt(t.said)}}}},
	}, func(d model.Delta) {
		if _, err := rec.Write([]byte(d.Text)); err != nil && werr == nil {
			werr = err
		}
	})
	t.yield.Proc.Duration = clock.Since(start)
	t.spent += t.yield.Proc.Duration
	if ferr := errors.Join(werr, rec.Finish()); ferr != nil {
		return failure.New(failure.Infra, "record the answer", errors.Join(ferr, rec.Close()), "")
	}
	t.yield.StdoutPath = filepath.Join(t.job.Dirs.Run, driver.TurnFile(driver.StdoutFile, t.in.Turn))
	if tr, ok := rec.Truncation("stdout"); ok {
		t.yield.Truncated = append(t.yield.Truncated, tr)
		t.sink.Event(driver.EventTruncated, tr)
	}
	if cerr := rec.Close(); cerr != nil {
		return failure.New(failure.Infra, "record the answer", cerr, "")
	}
	if err != nil {
		return t.failed(ctx, err)
	}
	t.answer = strings.TrimSpace(t.job.Redactor.String(resp.Text()))
	t.emit(resp, began)
	t.said = append(t.said, word{model.RoleAssistant, t.answer})
	switch {
	case resp.Stop == model.StopLength:
		return failure.New(failure.InvalidWord, op, errors.New("the answer was cut at the model's bound on output"), "use a model with a longer output, or make the work smaller")
	case t.answer == "":
		return failure.New(failure.InvalidWord, op, errors.New("the model answered nothing"), "")
	}
	return nil
}

// emit reports an answer.
func (t *turn) emit(resp model.Response, began time.Time) {
	u := resp.Usage
	if u.Model == "" {
		u.Model = t.model
	}
	text, cut := driver.Cut(t.answer)
	t.sink.Event(driver.EventText, driver.Text{Text: text, Cut: cut})
	t.sink.Event(driver.EventUsage, u)
	t.sink.Event(driver.EventTurn, agentruntime.Turn{
		ID: fmt.Sprintf("%s-t%d", t.job.AttemptID, t.in.Turn), Index: max(t.in.Turn, 1), StartedAt: agentruntime.At(began), EndedAt: agentruntime.At(clock.System()),
		Model: u.Model, StopReason: resp.Stop, Usage: &u,
	})
	if resp.Served != "" {
		t.sink.Event(driver.EventSession, driver.SessionInfo{ID: t.ref, Requested: t.model, Served: resp.Served, Resumed: t.job.Resume != ""})
	}
}

// failed classes a question without an answer.
func (t *turn) failed(ctx context.Context, err error) *failure.Error {
	if ctx.Err() != nil {
		f := driver.Canceled(op, context.Cause(ctx))
		t.yield.Proc.TimedOut, t.yield.Proc.Canceled = f.Class == failure.Timeout, f.Class != failure.Timeout
		return f
	}
	var e *model.Error
	if !errors.As(err, &e) {
		return failure.New(failure.Infra, op, err, "")
	}
	t.sink.Event(driver.EventFault, driver.Fault{Status: e.Status, Message: e.Message, RetryAfterMS: e.RetryAfter.Milliseconds(), Final: true})
	class, remedy := e.Class()
	switch e.Kind {
	case model.KindAuth:
		class, remedy = failure.Config, "the endpoint wants to know who asks: an adapter of kind ollama-generate has no key"
	case model.KindContextTooLong:
		class, remedy = failure.Config, "use a model with a larger window, or make the task's text shorter"
		if t.in.Turn > 1 {
			class = failure.AgentFailed // another attempt starts over
		}
	case model.KindBadRequest:
		class, remedy = failure.Config, "correct the adapter's endpoint and model"
		if e.Status == http.StatusNotFound {
			remedy = "get the model with `ollama pull " + t.model + "`, or correct the adapter's endpoint"
		}
	}
	f := failure.New(class, op, err, remedy)
	f.RetryAfter = e.RetryAfter
	return f
}

// judge reads the agent's word: the last JSON object of the answer when it has a status, else the answer itself.
func (t *turn) judge() *failure.Error {
	summary, _ := driver.Cut(t.answer)
	claim := &driver.Claim{Source: driver.SourceStream, Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK, Summary: summary}
	data, err := driver.LastJSON(strings.NewReader(t.answer))
	if err == nil && data != nil {
		own, dropped, perr := driver.ParseClaim(data)
		switch {
		case perr == nil:
			own.Source, claim = driver.SourceStdout, own
			if len(dropped) > 0 {
				t.yield.Diagnostics["dropped"] = dropped
			}
			for _, what := range dropped {
				t.sink.Event(driver.EventDropped, map[string]any{"what": what})
			}
		case !errors.Is(perr, driver.ErrNoStatus):
			return failure.New(failure.InvalidWord, "read the result", perr, "have the model end with a JSON object whose status is a known word, or with no JSON")
		}
	}
	t.yield.Claim, t.yield.RetryAfter = claim, claim.RetryAfter()
	claim.Tell(t.sink)
	kind, f := claim.Outcome()
	t.yield.Kind = kind
	return f
}

// keep writes what the turn left: the conversation, the answer as message and artifact, and the claim.
func (t *turn) keep() error {
	if err := t.save(); err != nil {
		return err
	}
	if t.answer == "" {
		return nil
	}
	name := driver.TurnFile(messageFile, t.in.Turn)
	if err := driver.WriteFile(t.run, name, []byte(t.answer)); err != nil {
		return err
	}
	t.yield.LastMessagePath = filepath.Join(t.job.Dirs.Run, name)
	if c := t.yield.Claim; c != nil && len(c.Raw) > 0 {
		name := driver.TurnFile(resultFile, t.in.Turn)
		if err := driver.WriteFile(t.run, name, c.Raw); err != nil {
			return err
		}
		t.yield.ResultPath = filepath.Join(t.job.Dirs.Run, name)
	}
	return driver.WriteFile(t.artifacts, ResponseFile, append([]byte(t.answer), '\n'))
}

// save makes the conversation durable, so that another process can resume it.
func (s *session) save() error {
	s.bound()
	clean := make([]word, len(s.said))
	for i, w := range s.said {
		clean[i] = word{w.Role, s.job.Redactor.String(w.Text)}
	}
	data, err := json.Marshal(clean)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(filepath.Join(s.job.Dirs.Run, conversationFile), data, 0o600); err != nil {
		return err
	}
	s.ref = conversationFile
	return nil
}

// bound keeps a conversation within what is read back: the brief and what was said last stay.
func (s *session) bound() {
	size := 0
	for _, w := range s.said {
		size += len(w.Text)
	}
	for len(s.said) > 3 && size > maxConversation/4 { // an escape in JSON takes up to six bytes for one, most take none
		size -= len(s.said[1].Text)
		s.said = append(s.said[:1:1], s.said[2:]...)
	}
}

// prompt puts a conversation into one text. The first question stands alone, as it does without a conversation.
func prompt(said []word) string {
	if len(said) == 1 {
		return said[0].Text
	}
	var b bytes.Buffer
	b.WriteString(said[0].Text)
	for i, w := range said[1:] {
		head := "What came back"
		if w.Role == model.RoleAssistant {
			head = "Your answer"
		}
		fmt.Fprintf(&b, "\n\n----- %s (%d) -----\n\n%s", head, (i+2)/2, w.Text)
	}
	b.WriteString("\n\n----- Answer again, whole: only your last answer counts. -----\n")
	return b.String()
}
