package opencode

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/base/failure"
)

// A stream reads the events of one turn and keeps what its end is judged by.
type stream struct {
	report   *agentcli.Reporter
	state    *agentcli.State
	model    string // as it was asked for
	patience time.Duration
	wait     *time.Timer // runs while the model owes an answer

	sessionReported bool   // the session
	open            bool   // a step is under way: the model answers, or its tools run
	retries         int    // times that the step started over
	said            string // the last message of the model
	reason          string // why the last step ended
	fault           *fault
	rejected        string // the tool that opencode asked a permission for, when no answer of the model followed
}

func newStream(report *agentcli.Reporter, state *agentcli.State, model string, patience time.Duration, stop func(*failure.Error)) *stream {
	late := func() {
		stop(failure.New(failure.Provider, "wait for the model", fmt.Errorf("%s did not answer for %v, and opencode would ask for ever", model, patience),
			"check that the provider's base_url can be reached and answers"))
	}
	return &stream{report: report, state: state, model: model, patience: patience, wait: time.AfterFunc(patience, late)}
}

// end stops the clock when the process is gone.
func (s *stream) end() { s.wait.Stop() }

// line takes one line of the stream. It survives every one.
func (s *stream) line(line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil || e.Type == "" {
		s.report.Strange("a line that is no event", line)
		return
	}
	s.session(e)
	ok := true
	switch e.Type {
	case typeStepStart:
		s.start()
	case typeText, typeReasoning:
		ok = s.text(e)
	case typeTool:
		ok = s.tool(e)
	case typeStepFinish:
		ok = s.finish(e)
	case typeError:
		ok = s.fail(e)
	default:
		s.report.Strange("an event of an unknown type", line)
	}
	if !ok {
		s.report.Strange("an event that cannot be read", line)
	}
}

// session reports the conversation's id, once.
func (s *stream) session(e event) {
	if s.sessionReported || !agentcli.GoodID(e.SessionID) {
		return
	}
	info := driver.SessionInfo{ID: e.SessionID, Requested: s.model, Resumed: s.state.ID == e.SessionID}
	if s.state.ID != "" && !info.Resumed {
		s.report.Restart("opencode answers in another session than " + s.state.ID)
	}
	s.sessionReported, s.state.ID = true, e.SessionID
	s.report.Session(info)
}

// start begins a step. One that begins while it is under way broke off: the model still owes its answer, and the time
// that it has for it runs on.
func (s *stream) start() {
	if s.open {
		s.retries++
		s.report.Fault(driver.Fault{Message: "the answer broke off; opencode asks again", Attempt: s.retries})
		if s.retries == 1 {
			s.wait.Reset(s.patience)
		}
		return
	}
	s.open = true
	s.wait.Stop()
}

// progress notes that the model answered.
func (s *stream) progress() {
	s.retries, s.rejected, s.fault = 0, "", nil
	s.wait.Stop()
}

func (s *stream) text(e event) bool {
	var part textPart
	if json.Unmarshal(e.Part, &part) != nil {
		return false
	}
	s.progress()
	s.report.Text(part.Text, e.Type == typeReasoning)
	if e.Type == typeText && strings.TrimSpace(part.Text) != "" {
		s.said = part.Text
	}
	return true
}

func (s *stream) tool(e event) bool {
	var part toolPart
	if json.Unmarshal(e.Part, &part) != nil {
		return false
	}
	s.progress()
	st := part.State
	s.report.Call(agentruntime.ToolCall{CallID: part.CallID, Tool: part.Tool, Input: st.Input, At: agentcli.At(st.Time.Start)})
	s.report.Result(part.result())
	if st.Error == rejectedText {
		s.rejected = part.Tool
	}
	return true
}

func (s *stream) finish(e event) bool {
	var part stepPart
	if json.Unmarshal(e.Part, &part) != nil {
		return false
	}
	s.retries, s.open, s.reason = 0, false, part.Reason
	_, model, _ := strings.Cut(s.model, "/") // prices are known by the model's own name
	s.report.Usage(part.usage(model))
	s.report.Turn(part.Reason)
	s.wait.Reset(s.patience)
	return true
}

func (s *stream) fail(e event) bool {
	var f fault
	if err := json.Unmarshal(e.Error, &f); err != nil {
		s.fault = &fault{Name: "an error that deed cannot read"}
		return false
	}
	s.fault = &f
	s.report.Fault(driver.Fault{Status: f.Data.StatusCode, Message: f.message(), RetryAfterMS: f.retryAfter().Milliseconds(), Final: true})
	return true
}

// outcome is the result according to the stream. Success is a last step that stopped by itself, after some text: opencode
// also exits with 0 if it asked for a permission and got no answer.
func (s *stream) outcome() agentcli.Outcome {
	o := agentcli.Outcome{Message: s.said}
	switch {
	case s.fault != nil:
		o.Failure = s.fault.failure(s.model)
	case s.rejected != "":
		o.Failure = failure.New(failure.AgentFailed, "run opencode", fmt.Errorf("opencode asked for a permission to use its tool %s, and ended because nobody could give it", s.rejected),
			"allow it with a rule, or keep the work inside the workspace")
	case s.reason == reasonStop && s.said != "" && !s.open:
		o.Succeeded = true
	case s.reason != "" && s.reason != reasonStop && !s.open:
		o.Failure = failure.New(failure.AgentFailed, "run opencode", fmt.Errorf("its last step ended with reason %q", s.reason), "see the recorded output")
	}
	return o
}

// failure classes what a run ended with.
func (f fault) failure(model string) *failure.Error {
	status := f.Data.StatusCode
	switch {
	case f.Name == "ProviderAuthError":
		status = http.StatusUnauthorized
	case status == 0 && f.Name != "APIError":
		return failure.New(failure.AgentFailed, "run opencode with "+model, errors.New(driver.Shorten(f.message())),
			"see the recorded stderr; a model that the provider does not have ends so too")
	}
	return agentcli.ServiceFailure(agentruntime.KindOpencode, status, f.message(), f.retryAfter())
}
