package loop

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/model"
	"github.com/deedrun/deed/internal/agent/tool"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/evidence/history"
)

// The kinds of entries of a log.
const (
	kindBegin   = "begin"     // begun: always the first
	kindInput   = "input"     // said: the text for the agent after the first turn
	kindAnswer  = "answer"    // answered
	kindAsked   = "asked"     // callRef: a person has to decide on the call first
	kindStarted = "started"   // callRef: the call is about to be carried out
	kindResult  = "result"    // result of a call
	kindTooLong = "too_long"  // the model said that the conversation does not fit
	kindCompact = "compacted" // compaction
)

type (
	begun struct {
		ID   string `json:"id"`
		Goal string `json:"goal"`
	}
	said struct {
		Text string `json:"text"`
	}
	answered struct {
		Blocks []model.Block      `json:"blocks"`
		Stop   string             `json:"stop"`
		Usage  agentruntime.Usage `json:"usage"`
		Served string             `json:"served,omitempty"`
	}
	callRef struct {
		Call     string `json:"call"`
		Subagent string `json:"subagent,omitempty"` // the conversation to which it was delegated
	}
	result struct {
		Call      string          `json:"call"`
		Output    string          `json:"output"` // what the model gets
		Failed    bool            `json:"failed,omitempty"`
		ErrorType string          `json:"error_type,omitempty"`
		Digest    string          `json:"digest,omitempty"` // of the output without what deed added to it
		Ref       string          `json:"ref,omitempty"`    // where the whole output is
		Bytes     int64           `json:"bytes,omitempty"`  // of the whole output
		Turns     int             `json:"turns,omitempty"`  // answers of the conversation to which it was delegated
		Todo      []tool.TodoItem `json:"todo,omitempty"`
	}
	compaction struct {
		Reason string `json:"reason"`
		Head   string `json:"head"` // what stands for the messages before those that are kept
		Keep   int    `json:"keep"` // messages at the end that stay as they are
	}
)

// An entry is one line of the log, decoded. One of its members is set, as its kind says.
type entry struct {
	kind       string
	begun      *begun
	said       *said
	answered   *answered
	ref        *callRef
	result     *result
	compaction *compaction
}

func (e entry) detail() any {
	switch e.kind {
	case kindBegin:
		return e.begun
	case kindInput:
		return e.said
	case kindAnswer:
		return e.answered
	case kindAsked, kindStarted:
		return e.ref
	case kindResult:
		return e.result
	case kindCompact:
		return e.compaction
	}
	return nil
}

func decodeEntry(kind string, raw json.RawMessage) (entry, error) {
	e := entry{kind: kind, begun: &begun{}, said: &said{}, answered: &answered{}, ref: &callRef{}, result: &result{}, compaction: &compaction{}}
	v := e.detail()
	if v == nil && kind != kindTooLong {
		return e, fmt.Errorf("entry of kind %q is unknown", kind)
	}
	if v == nil {
		return e, nil
	}
	return e, json.Unmarshal(raw, v)
}

// A pending call has no result yet.
type pending struct {
	model.Call
	started  bool
	asked    bool
	subagent string
}

// A failedCall is kept until the same call succeeds: what went wrong is not forgotten when the conversation is shortened.
type failedCall struct {
	Tool, Input, ErrorType, Output string
	key                            string
}

// Bounds of what a state keeps, and of what one conversation may do.
const (
	maxFailed       = 20
	maxFailedInput  = 300
	maxFailedText   = 600
	maxCallsOfTurn  = 32 // of one answer
	maxCut          = 3  // answers in a row that ran into the bound on output
	maxEmptyAnswers = 3  // empty answers in a row

	warnRepeats = 3 // the same call with the same result
	endRepeats  = 6
)

// A state is what follows from a log.
type state struct {
	id, goal string
	messages []model.Message // what the model is given, up to the last that is whole
	calls    []pending       // of the last answer, without a result yet, in order
	results  []model.Block   // of the last answer, so far
	order    []string        // the ids of the calls of the last answer
	waiting  []string        // texts that follow when the last answer has all its results
	claim    *string         // the last answer has no calls: it is a completion attempt
	refused  bool            // the model refused to go on
	ids      map[string]bool // of all calls, to keep them apart

	turns     int // answers, those of delegated conversations included
	delegated int
	usage     agentruntime.Usage // its own

	todo         []tool.TodoItem
	requirements string // the last text that the agent got
	failed       []failedCall

	repeats map[string]int  // calls with their results since the last change of a file
	wrote   map[string]bool // calls that changed a file
	looping string          // the call that was repeated too often

	tokens      int64 // of the conversation as it stands, about
	tooLong     bool
	cut, mute   int
	compactions int
	progress    bool // a call succeeded since the last compaction
	last        string
}

func newState() *state {
	return &state{ids: map[string]bool{}, repeats: map[string]int{}, wrote: map[string]bool{}, progress: true}
}

var subagentID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^s[0-9]{1,6}$`) })

// apply takes an entry in. It touches nothing but the state, so a log that is read again gives the same state.
func (s *state) apply(e entry) error {
	switch e.kind {
	case kindBegin:
		s.id, s.goal = e.begun.ID, e.begun.Goal
		s.appendUserText(e.begun.Goal)
	case kindInput:
		s.input(e.said.Text)
	case kindAnswer:
		s.answer(e.answered)
	case kindAsked, kindStarted:
		i := s.find(e.ref.Call)
		if i < 0 {
			return fmt.Errorf("%s: there is no open call %q", e.kind, e.ref.Call)
		}
		if id := e.ref.Subagent; id != "" && !subagentID().MatchString(id) { // it names a file
			return fmt.Errorf("%s: %q is not the id of a delegated conversation", e.kind, id)
		}
		s.calls[i].asked = true
		if e.kind == kindStarted {
			s.calls[i].started, s.calls[i].subagent = true, e.ref.Subagent
			if e.ref.Subagent != "" {
				s.delegated++
			}
		}
	case kindResult:
		i := s.find(e.result.Call)
		if i < 0 {
			return fmt.Errorf("result: there is no open call %q", e.result.Call)
		}
		s.settle(i, e.result)
	case kindTooLong:
		s.tooLong = true
	case kindCompact:
		s.compact(e.compaction)
	}
	return nil
}

func (s *state) find(id string) int {
	return slices.IndexFunc(s.calls, func(p pending) bool { return p.ID == id })
}

// appendUserText appends a text of the user's. Roles take turns, so it joins a message that is the user's already.
func (s *state) appendUserText(text string) {
	if n := len(s.messages); n > 0 && s.messages[n-1].Role == model.RoleUser {
		m := &s.messages[n-1]
		m.Blocks = append(m.Blocks, model.Block{Text: text})
		s.tokens += int64(len(text)) / bytesPerToken
		return
	}
	s.add(model.Message{Role: model.RoleUser, Blocks: []model.Block{{Text: text}}})
}

func (s *state) add(m model.Message) {
	s.messages = append(s.messages, m)
	s.tokens += size(m)
}

// notAccepted answers a task_complete that was looked into.
const notAccepted = "not accepted; the reasons follow"

// input takes the text for the agent. It answers the agent's task_complete, if there is one.
func (s *state) input(text string) {
	s.requirements, s.claim = text, nil
	if s.completing() {
		for _, p := range s.calls {
			s.results = append(s.results, model.Block{Result: &model.Result{CallID: p.ID, Output: notAccepted, Failed: true}})
		}
		s.calls, s.waiting = nil, append(s.waiting, text)
		s.flush()
		return
	}
	if len(s.calls) > 0 {
		s.waiting = append(s.waiting, text)
		return
	}
	s.appendUserText(text)
}

// completing reports whether nothing is open but the answer to task_complete.
func (s *state) completing() bool {
	return len(s.calls) > 0 && !slices.ContainsFunc(s.calls, func(p pending) bool { return p.Name != tool.TaskComplete })
}

func (s *state) answer(a *answered) {
	s.turns++
	history.AddUsage(&s.usage, a.Usage)
	s.claim, s.tooLong = nil, false
	s.refused = a.Stop == model.StopRefused
	s.calls, s.results, s.order = nil, nil, nil
	text := ""
	for _, b := range a.Blocks {
		switch {
		case b.Call != nil:
			s.ids[b.Call.ID] = true
			s.calls = append(s.calls, pending{Call: *b.Call})
			s.order = append(s.order, b.Call.ID)
		case b.Text != "":
			text += b.Text
		}
	}
	if text != "" {
		s.last = text
	}
	s.add(model.Message{Role: model.RoleAssistant, Blocks: a.Blocks})
	if n := a.Usage.InputTokens + a.Usage.OutputTokens; n > 0 {
		s.tokens = n
	}
	switch {
	case len(s.calls) > 0:
		s.cut, s.mute = 0, 0
	case a.Stop == model.StopLength:
		if s.cut++; s.cut < maxCut {
			s.appendUserText("Your answer was cut off at the bound on output. Go on, in smaller steps.")
		}
	case (text == "" || text == noAnswer) && !s.refused: // silence is not the word that the work is done
		if s.mute++; s.mute < maxEmptyAnswers {
			s.appendUserText("Your answer was empty. Go on with the work, or say that it is done.")
		}
	default:
		s.cut, s.mute, s.claim = 0, 0, &text
	}
}

// settle takes in the result of a call.
func (s *state) settle(i int, r *result) {
	p := s.calls[i]
	s.calls = slices.Delete(s.calls, i, i+1)
	s.results = append(s.results, model.Block{Result: &model.Result{CallID: p.ID, Output: r.Output, Failed: r.Failed}})
	s.turns += r.Turns
	if p.Name == tool.Todo && !r.Failed {
		s.todo = r.Todo
	}
	s.remember(p, r)
	if !r.Failed {
		s.progress = true
	}
	if len(s.calls) == 0 {
		s.flush()
	}
}

// remember keeps failures until the same call succeeds, and counts repetitions.
func (s *state) remember(p pending, r *result) {
	key := callKey(p.Call)
	s.failed = slices.DeleteFunc(s.failed, func(f failedCall) bool { return f.key == key })
	if r.Failed {
		s.failed = append(s.failed, failedCall{
			Tool: p.Name, Input: truncate.Head(string(p.Input), maxFailedInput), ErrorType: r.ErrorType, Output: truncate.Head(r.Output, maxFailedText), key: key,
		})
		s.failed = s.failed[max(0, len(s.failed)-maxFailed):]
	}
	if spec, _ := tool.Find(p.Name); spec.Writes && !r.Failed && !s.wrote[key] {
		s.wrote[key] = true
		clear(s.repeats) // the same command may now give something else
	}
	if n := s.repeat(p.Call, r.Digest); n >= endRepeats {
		s.looping = p.Name
	}
	s.repeats[key+r.Digest]++
}

// repeat is how often a call has had this result, this time included.
func (s *state) repeat(c model.Call, digest string) int { return s.repeats[callKey(c)+digest] + 1 }

// flush ends the last answer: its results, in the order of its calls, and what was said meanwhile.
func (s *state) flush() {
	slices.SortStableFunc(s.results, func(a, b model.Block) int {
		return slices.Index(s.order, a.Result.CallID) - slices.Index(s.order, b.Result.CallID)
	})
	m := model.Message{Role: model.RoleUser, Blocks: s.results}
	for _, text := range s.waiting {
		m.Blocks = append(m.Blocks, model.Block{Text: text})
	}
	s.add(m)
	s.results, s.order, s.waiting = nil, nil, nil
}

// A step is what comes next.
type step struct {
	kind   stepKind
	call   pending        // of stepCall
	refuse *tool.Failure  // of stepCall: it is not carried out
	reason string         // of stepCompact
	end    *failure.Error // of stepEnd
	claim  claim          // of stepYield
}

type stepKind int

const (
	stepAsk     stepKind = iota // ask the model
	stepCall                    // carry out a call, or refuse it
	stepCompact                 // shorten the conversation
	stepYield                   // the agent says that it is done
	stepEnd                     // nothing can follow
)

// A claim is what an agent says of its work.
type claim struct {
	Summary string
	Files   []string
}

// Reasons of a compaction.
const (
	reasonShare   = "share_reached"
	reasonTooLong = "context_error"
)

// next decides what comes next.
func (s *state) next(b Bounds) step {
	for _, p := range s.calls {
		if p.Name == tool.TaskComplete {
			var in tool.TaskCompleteInput
			if err := tool.Decode(p.Name, p.Input, &in); err == nil && b.allows(p.Name) {
				continue // when the others are done
			}
		}
		st := step{kind: stepCall, call: p}
		if len(s.results) >= maxCallsOfTurn && !p.started {
			st.refuse = tool.Failf("too_many_calls", "an answer may make %d calls; make this one again", maxCallsOfTurn)
		}
		return st
	}
	switch {
	case s.looping != "":
		return end(failure.Loop, fmt.Errorf("%s was called with the same arguments and the same result %d times", s.looping, endRepeats),
			"say in the task what the agent cannot find out, or take another model")
	case s.refused:
		return end(failure.AskedFail, fmt.Errorf("the model refused to go on: %s", truncate.Head(s.last, 300)), "")
	case len(s.calls) > 0:
		var in tool.TaskCompleteInput
		_ = tool.Decode(tool.TaskComplete, s.calls[0].Input, &in) // it was read before
		return step{kind: stepYield, claim: claim{Summary: in.Summary, Files: in.Files}}
	case s.claim != nil:
		return step{kind: stepYield, claim: claim{Summary: *s.claim}}
	case s.cut >= maxCut:
		return end(failure.Provider, fmt.Errorf("%d answers in a row ran into the bound on output", maxCut), "raise max_output_tokens of the adapter")
	case s.mute >= maxEmptyAnswers:
		return end(failure.InvalidWord, fmt.Errorf("%d answers in a row said nothing", maxEmptyAnswers), "try again, or take another model")
	case b.MaxTurns > 0 && s.turns >= b.MaxTurns:
		return end(failure.Turns, fmt.Errorf("the model has answered %d times", s.turns), "raise max_turns, or make the work smaller")
	}
	if reason := s.full(b); reason != "" {
		if !s.progress || len(s.messages) == 1 {
			return end(failure.Provider, errors.New("the context does not fit, and there is nothing more to shorten"),
				"raise context_tokens of the adapter, shorten the task, or take a model with a larger window")
		}
		return step{kind: stepCompact, reason: reason}
	}
	return step{kind: stepAsk}
}

func end(c failure.Class, err error, remedy string) step {
	return step{kind: stepEnd, end: failure.New(c, "talk to the model", err, remedy)}
}

// full says why the conversation has to be shortened before the model is asked again. Where that was just done, or there
// is nothing to shorten, the service has the last word on whether it fits: the count is a guess then.
func (s *state) full(b Bounds) string {
	switch {
	case s.tooLong:
		return reasonTooLong
	case s.tokens > b.compactTokens() && s.progress && len(s.messages) > 1:
		return reasonShare
	}
	return ""
}

// interrupted are the calls that were started by a process that is gone, and cannot go on.
func (s *state) interrupted() []string {
	var ids []string
	for _, p := range s.calls {
		if p.started && p.subagent == "" {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// compact puts a head in the place of all messages but the last ones. No call is open then, and what is kept begins with
// an answer, so that no call is parted from its result.
func (s *state) compact(c *compaction) {
	kept := s.messages[len(s.messages)-min(max(c.Keep, 0), len(s.messages)):]
	s.messages, s.tokens = nil, 0
	s.appendUserText(c.Head)
	for _, m := range kept {
		s.add(m)
	}
	s.compactions++
	s.tooLong, s.progress = false, false
}

// callKey identifies a call by what it asks for.
func callKey(c model.Call) string {
	var v any
	text := []byte(c.Input)
	if json.Unmarshal(c.Input, &v) == nil {
		if b, err := json.Marshal(v); err == nil { // members in order
			text = b
		}
	}
	return c.Name + "\x00" + driver.Digest(text)
}
