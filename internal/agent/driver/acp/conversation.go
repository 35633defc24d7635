package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/failure"
)

// A conversation is one with an agent, over several of its processes.
type conversation struct {
	plan  agentcli.Plan
	setUp time.Duration
	turn  *turn // the one under way, or the last
}

// A turn is one process of the agent.
type turn struct {
	*conversation
	ctx             context.Context //nolint:containedctx // the turn's own: it ends what the agent asked for
	end             context.CancelFunc
	conversationCtx context.Context //nolint:containedctx // of the talk: it outlives ctx, so that an agent can be asked to stop
	abort           context.CancelCauseFunc
	id              atomic.Value // of the session, a string; there is none before it is open
	prompt          string
	report          *agentcli.Reporter
	wire            *wire
	track           *tracker
	terminals       *terminals // the terminals

	over             chan struct{} // closed when the agent said that its turn is over
	conversationDone chan struct{} // closed when deed has nothing more to send
	asked            sync.WaitGroup
	slots            chan struct{}
	outcome          agentcli.Outcome // written before talked is closed
}

// Launch starts the talk, which waits for the agent to read it.
func (c *conversation) Launch(ctx context.Context, prompt string, report *agentcli.Reporter, _ func(*failure.Error)) (agentcli.Launch, error) {
	t := &turn{
		conversation: c, prompt: prompt, report: report, over: make(chan struct{}), conversationDone: make(chan struct{}), slots: make(chan struct{}, maxAsked),
		track: newTracker(report, c.plan.State), outcome: agentcli.Outcome{Notes: map[string]any{}},
	}
	t.ctx, t.end = context.WithCancel(ctx)
	t.conversationCtx, t.abort = context.WithCancelCause(context.WithoutCancel(ctx))
	t.terminals = newTerminals(t)
	w, stdin := newWire()
	t.wire = w
	if c.plan.Job.Guard != nil {
		t.track.follow(t.after)
	}
	c.turn = t
	go t.runConversation()
	return agentcli.Launch{Args: c.plan.Config.ExtraArgs, Stdin: stdin, Done: t.done, Over: t.over, Cancel: t.cancel}, nil
}

// Feed reads one line of the agent's output. It never waits for the agent to read what deed writes: the agent may be
// waiting for its output to be read.
func (c *conversation) Feed(line []byte) {
	t := c.turn
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		t.report.Strange("a line that is no message", line)
		return
	}
	switch {
	case m.Method == "session/update" && len(m.ID) == 0:
		var p struct {
			Update update `json:"update"`
		}
		var odd *json.UnmarshalTypeError // a member of another type: the others are read
		if err := json.Unmarshal(m.Params, &p); err != nil && !errors.As(err, &odd) {
			t.report.Strange("an update that cannot be read", line)
			return
		}
		if !t.track.take(p.Update) {
			t.report.Strange("an update of an unknown kind", line)
		}
	case m.Method != "" && len(m.ID) > 0 && string(m.ID) != "null":
		t.request(m)
	case strings.HasPrefix(m.Method, "_"): // the agent's own addition to the protocol
	case m.Method != "":
		t.report.Strange("a notification of an unknown kind", line)
	case len(m.ID) == 0 || !t.wire.answered(m):
		t.report.Strange("an answer to nothing", line)
	}
}

// Outcome is the result that the agent reported.
func (c *conversation) Outcome() agentcli.Outcome {
	t := c.turn
	o := t.outcome
	o.Message = t.track.message()
	return o
}

// done ends what is left of a turn when the agent is gone.
func (t *turn) done() {
	t.end()
	t.wire.close()
	<-t.conversationDone
	t.asked.Wait()
	t.wire.senders.Wait()
	t.terminals.close()
	t.track.finish()
}

// cancel asks the agent to stop, and waits a moment for it to say that it did.
func (t *turn) cancel() { t.halt(t.conversationDone) }

// halt asks the agent to stop, and waits a moment for a sign that it did; nil: for a sign that it got the request.
func (t *turn) halt(sign <-chan struct{}) {
	id, ok := t.id.Load().(string)
	if !ok {
		return
	}
	sent := make(chan struct{})
	t.wire.senders.Go(func() {
		defer close(sent)
		_ = t.wire.notify("session/cancel", map[string]any{"sessionId": id})
	})
	if sign == nil {
		sign = sent
	}
	wait := time.NewTimer(cancelTime)
	defer wait.Stop()
	select {
	case <-sign:
	case <-wait.C:
	}
}

// runConversation is deed's side of the turn.
func (t *turn) runConversation() {
	defer close(t.conversationDone)
	defer t.abort(nil)
	err := t.converse(t.conversationCtx)
	t.outcome.Failure = t.classify(err)
	if t.conversationCtx.Err() != nil {
		t.halt(nil)
	}
	t.wire.closeInput()
	close(t.over)
}

// converse has the agent do its turn.
func (t *turn) converse(ctx context.Context) error {
	set, cancel := context.WithTimeoutCause(ctx, t.setUp, failure.New(failure.Provider, op, fmt.Errorf("the agent was not ready for its prompt within %v", t.setUp), "see its recorded output; is its configuration complete, and its service within reach?"))
	defer cancel()
	prompt, err := t.open(set)
	if err != nil {
		return err
	}
	cancel()
	var p prompted
	start := clock.Start()
	err = t.wire.call(ctx, "session/prompt", map[string]any{
		"sessionId": t.plan.State.ID, "prompt": []any{map[string]any{"type": "text", "text": prompt}},
	}, &p, nil)
	if err != nil {
		return err
	}
	t.track.over(p)
	t.outcome.Notes["stop_reason"] = p.StopReason
	t.outcome.Notes["prompt_ms"] = clock.Since(start).Milliseconds()
	if f, down := t.track.failed(); down {
		return agentcli.ServiceFailure(t.plan.Name, f.Status, f.Message, agentcli.WaitIn(f.Message))
	}
	return t.conclude(p.StopReason)
}

// conclude interprets a stop reason.
func (t *turn) conclude(reason string) error {
	switch reason {
	case stopEnd:
		t.outcome.Succeeded = true
		return nil
	case stopTokens, stopRequests:
		return failure.New(failure.Turns, op, fmt.Errorf("the agent stopped: %s", reason), "raise its bounds, or make the work smaller")
	case stopRefusal:
		return failure.New(failure.AskedFail, op, errors.New("the agent's model refuses the work"), "change what is asked")
	case stopCancelled:
		return failure.New(failure.AgentFailed, op, errors.New("the agent says that it was cancelled, and nobody did"), "")
	}
	return failure.New(failure.InvalidWord, op, fmt.Errorf("the agent stopped for a reason that the protocol does not have: %.60q", reason), "")
}

// open gets the agent ready for a prompt, and returns the prompt.
func (t *turn) open(ctx context.Context) (string, error) {
	var init initialized
	err := t.wire.call(ctx, "initialize", map[string]any{
		"protocolVersion":    protocolVersion,
		"clientCapabilities": map[string]any{"fs": map[string]any{"readTextFile": true, "writeTextFile": true}, "terminal": true},
		"clientInfo":         map[string]any{"name": "deed", "title": "deed", "version": "1"},
	}, &init, nil)
	if err != nil {
		return "", err
	}
	if v := init.ProtocolVersion.String(); v != fmt.Sprint(protocolVersion) {
		return "", failure.New(failure.Config, op, fmt.Errorf("the agent speaks version %.20q of the protocol, and deed speaks %d", v, protocolVersion), "use a version of the agent that speaks it")
	}
	info := driver.SessionInfo{Requested: t.plan.Model(), Version: strings.TrimSpace(init.AgentInfo.Name + " " + init.AgentInfo.Version)}
	prompt, session, err := t.session(ctx, init, &info)
	if err != nil {
		return "", t.login(err, init)
	}
	if info.Served, err = t.choose(ctx, session); err != nil {
		return "", err
	}
	info.ID = t.plan.State.ID
	t.track.served(info.Served)
	t.report.Session(info)
	return prompt, nil
}

// session goes on with the conversation, or begins one.
func (t *turn) session(ctx context.Context, init initialized, info *driver.SessionInfo) (prompt string, s opened, err error) {
	where := map[string]any{"cwd": t.plan.Job.Inside(t.plan.Dir), "mcpServers": []any{}}
	why, known := "", t.plan.State.ID != ""
	if known {
		s, why, err = t.goOn(ctx, init, where)
		if err == nil && why == "" {
			info.Resumed = true
		}
		if err != nil || why == "" {
			return t.prompt, s, err
		}
		t.prompt = t.plan.Job.Brief + "\n\n" + t.prompt
	}
	if err := t.wire.call(ctx, "session/new", where, &s, nil); err != nil {
		return "", s, err
	}
	if s.SessionID == "" {
		return "", s, &unreadable{"session/new", errors.New("there is no sessionId")}
	}
	if known {
		t.track.resetCost()
		t.outcome.Notes["conversation"] = "restarted"
		t.report.Restart(why)
	}
	t.plan.State.ID = s.SessionID
	t.id.Store(s.SessionID)
	return t.prompt, s, nil
}

// goOn has the agent go on with its conversation, by whichever way it offers and does not refuse; why says that there is none.
func (t *turn) goOn(ctx context.Context, init initialized, where map[string]any) (s opened, why string, err error) {
	id := t.plan.State.ID
	with := maps.Clone(where)
	with["sessionId"] = id
	why = "the agent offers neither session/resume nor session/load"
	for i, method := range init.resumeMethods() {
		if method == methodLoad {
			t.track.mute() // it replays the whole conversation
		}
		s = opened{}
		err := t.wire.call(ctx, method, with, &s, t.track.unmute)
		var refused *rpcError
		switch {
		case err == nil:
			t.id.Store(id)
			return s, "", nil
		case !errors.As(err, &refused) || refused.Code == codeAuthRequired:
			return s, "", err
		case i == 0:
			why = method + ": " + err.Error()
		default:
			why += "; " + method + ": " + err.Error()
		}
		t.outcome.Notes["resume_error"] = why
	}
	return opened{}, why, nil
}

// choose sets the model that the job asks for, and returns the one that the session has.
func (t *turn) choose(ctx context.Context, s opened) (string, error) {
	want := t.plan.Model()
	have := s.model()
	if want == "" || want == have {
		return have, nil
	}
	var err error
	if c, ok := s.modelOption(); ok {
		err = t.wire.call(ctx, "session/set_config_option", map[string]any{"sessionId": t.plan.State.ID, "configId": c.ID, "value": want}, nil, nil)
	} else if s.Models != nil {
		err = t.wire.call(ctx, "session/set_model", map[string]any{"sessionId": t.plan.State.ID, "modelId": want}, nil, nil)
	} else {
		return "", failure.New(failure.Config, op, fmt.Errorf("the agent offers no choice of a model, and %q is asked for", want), "choose the model in the agent's own configuration, and leave it out here")
	}
	var refused *rpcError
	if errors.As(err, &refused) {
		return "", failure.New(failure.Config, op, fmt.Errorf("the agent does not take the model %q: %w", want, err), "choose one that it offers")
	}
	return want, err
}

// login explains what to do about a login that is missing.
func (t *turn) login(err error, init initialized) error {
	var refused *rpcError
	if !errors.As(err, &refused) || refused.Code != codeAuthRequired {
		return err
	}
	var methods []string
	for _, m := range init.AuthMethods {
		methods = append(methods, strings.TrimSpace(m.Name+" "+m.Description))
	}
	remedy := "give the adapter the agent's credentials by env or env_file"
	if len(methods) > 0 {
		remedy += "; it offers: " + strings.Join(methods, ", ")
	}
	return failure.New(failure.Config, op, fmt.Errorf("the agent asks for a login: %w", err), remedy)
}

// op is what is being done, in every failure of a turn.
const op = "talk to the agent"

// classify makes a failure of what ended the talk.
func (t *turn) classify(err error) *failure.Error {
	var f *failure.Error
	var refused *rpcError
	var bad *unreadable
	switch {
	case err == nil, errors.Is(err, errGone): // how its process ended says more
		return nil
	case errors.As(err, &f):
		return f
	case errors.As(err, &refused):
		return t.refused(refused)
	case errors.As(err, &bad):
		return failure.New(failure.InvalidWord, op, err, "see the recorded output")
	}
	return failure.New(failure.Infra, op, err, "")
}

// refused makes a failure of an error that the agent answered with: it passes on what its service said.
func (t *turn) refused(e *rpcError) *failure.Error {
	if e.Code == codeAuthRequired {
		return failure.New(failure.Config, op, e, "give the adapter the agent's credentials by env or env_file")
	}
	var data struct {
		Status     int `json:"status"`
		StatusCode int `json:"statusCode"`
	}
	_ = json.Unmarshal(e.Data, &data)
	status := max(data.Status, data.StatusCode)
	if status == 0 {
		status = agentcli.StatusIn(e.Error())
	}
	wait := agentcli.WaitIn(e.Error())
	t.report.Fault(driver.Fault{Status: status, Message: e.Error(), RetryAfterMS: wait.Milliseconds(), Final: true})
	return agentcli.ServiceFailure(t.plan.Name, status, e.Error(), wait)
}
