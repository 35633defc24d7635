package attempt

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

// maxRepeats is how often an agent may make the same call and get the same result, in a row, before it is ended.
const maxRepeats = 10

// Limits on what one attempt's agent may leave in the journal, and in deed's memory. Beyond them, what it says and
// what its tools print is only counted; the recorded stream has everything.
const (
	maxJournalEvents = 50_000
	maxJournalBytes  = 48 << 20
)

// What deed decides by is kept whole: answers, usage, decisions and the like. An agent that reports more of them than
// this is ended, because no work needs as many.
const maxWeighed = 100_000

// maxOpenCalls is how many calls without a result are remembered.
const maxOpenCalls = 4096

// A watch counts what an agent does and ends its turn when a limit is reached. It sees only events, so it works for
// every driver that reports them.
type watch struct {
	mu     sync.Mutex // guards the fields below
	end    context.CancelCauseFunc
	began  time.Time     // the turn
	spent  time.Duration // by the turns before it
	turn   int           // answers of the model so far
	called int           // tool calls of the current turn of the driver

	open    map[string][sha256.Size]byte // calls without a result: tool and input
	last    [sha256.Size]byte            // the last call with its result
	repeats int

	streams    bool // the agent's answer is arriving
	events     int
	eventBytes int
	dropped    int // events beyond the limit, which the journal lacks
	weighed    int
	bounded    bool // the turn is being ended, and the journal has the reason
}

// begin is the start of a turn; end cancels it.
func (w *watch) begin(end context.CancelCauseFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began = clock.Start()
	w.end, w.called, w.streams, w.bounded, w.open = end, 0, false, false, map[string][sha256.Size]byte{}
}

// over is the end of a turn.
func (w *watch) over() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spent += clock.Since(w.began)
}

// timeLeft is how much of its time limit the agent has, and false without one.
func (a *run) timeLeft() (time.Duration, bool) {
	limit := a.plan.timeout
	if limit == 0 {
		limit = time.Duration(a.plan.adapter.Common().TimeoutMS) * time.Millisecond
	}
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	return max(limit-a.watch.spent-clock.Since(a.watch.began), 0), limit > 0
}

func (w *watch) turns() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.turn
}

// calls is how many tools were called in the turn of the driver that runs or ended last.
func (w *watch) calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.called
}

// stop ends the turn for a reason that has a class.
func (w *watch) stop(f *failure.Error) {
	w.mu.Lock()
	end := w.end
	w.mu.Unlock()
	if end != nil {
		end(f)
	}
}

// bound reports whether this is the first limit that the turn reaches. Events that arrive until the agent is gone
// reach it again.
func (w *watch) bound() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := !w.bounded
	w.bounded = true
	return first
}

// countWhole counts the events that deed keeps whole.
func (w *watch) countWhole(detail any) *failure.Error {
	switch detail.(type) {
	case agentruntime.Turn, agentruntime.Usage, agentruntime.SubagentRun, agentruntime.ContextCompaction, agentruntime.PolicyDecision, driver.SessionInfo:
	default:
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.weighed++; w.weighed <= maxWeighed {
		return nil
	}
	return failure.New(failure.Limit, "watch the agent", fmt.Errorf("it told more than %d answers, uses and decisions", maxWeighed), "make the work smaller")
}

// hasRoom reports whether an event of the agent may still go into the journal, by its size.
func (w *watch) hasRoom(size int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.events >= maxJournalEvents || w.eventBytes+size > maxJournalBytes {
		w.dropped++
		return false
	}
	w.events++
	w.eventBytes += size
	return true
}

// answered counts an answer of the model.
func (w *watch) answered(limit int) *failure.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn++
	if limit > 0 && w.turn > limit {
		return failure.New(failure.Turns, "watch the agent", fmt.Errorf("it took more than %d turns", limit), "raise max_turns, or make the work smaller")
	}
	return nil
}

// call remembers a tool call.
func (w *watch) call(c agentruntime.ToolCall) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.called++
	if len(w.open) >= maxOpenCalls {
		clear(w.open) // most will never have a result
	}
	w.open[c.CallID] = digest(c.Tool, string(c.Input), c.InputSHA)
}

// result detects an agent that goes in circles: the same call with the same result, many times in a row.
func (w *watch) result(r agentruntime.ToolResult) *failure.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	call, ok := w.open[r.CallID]
	if !ok {
		return nil
	}
	delete(w.open, r.CallID)
	if key := digest(string(call[:]), string(r.Status), r.Output, r.OutputSHA); key != w.last {
		w.last, w.repeats = key, 1
		return nil
	}
	if w.repeats++; w.repeats < maxRepeats {
		return nil
	}
	return failure.New(failure.Loop, "watch the agent", fmt.Errorf("it made the same tool call %d times in a row, with the same result", w.repeats), "look at its last calls with `deed attempt show`")
}

func digest(parts ...string) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	h.Sum(sum[:0])
	return sum
}

// sink passes what the driver sees to the journal, to the person who watches, and to the limits.
func (a *run) sink(ctx context.Context) driver.Sink {
	return driver.SinkFunc(func(kind string, detail any) {
		if f := a.watch.countWhole(detail); f != nil {
			a.bound(f)
			return
		}
		a.journalEvent(kind, detail)
		a.follow(ctx, kind)
		var f *failure.Error
		switch d := detail.(type) {
		case driver.SessionInfo:
			a.saveConversation(ctx, d)
		case agentruntime.Turn:
			if d.SubagentID == "" {
				f = a.watch.answered(a.plan.spec.MaxTurns)
			}
		case agentruntime.ToolCall:
			a.watch.call(d)
			a.progress(StepTool, d.Tool)
		case agentruntime.ToolResult:
			f = a.watch.result(d)
		case agentruntime.RequiredAction:
			if d.State == store.ActionOpen {
				a.progress(StepWaiting, d.ID+" "+d.Prompt)
			}
		}
		if f == nil {
			f = a.used.event(detail)
		}
		if _, ok := detail.(agentruntime.Turn); ok && f == nil {
			f = a.saveUsage(ctx, false)
		}
		if f != nil {
			a.bound(f)
		}
		if kind == driver.EventStarted {
			a.progress(StepStarted, a.plan.adapter.ID())
			crashpoint.Hit(crashpoint.DriverStarted)
		}
	})
}

// bound ends the turn because of a limit that the agent reached, and notes it once.
func (a *run) bound(f *failure.Error) {
	if a.watch.bound() {
		a.note(history.KindBound, map[string]any{"class": f.Class, "why": f.Error()})
	}
	a.watch.stop(f)
}

// follow updates the attempt's state to what the agent is seen to do.
func (a *run) follow(ctx context.Context, kind string) {
	switch kind {
	case driver.EventText, driver.EventToolCall, driver.EventUsage, driver.EventTurn, driver.EventSubagent:
	default:
		return
	}
	a.watch.mu.Lock()
	first := !a.watch.streams
	a.watch.streams = true
	a.watch.mu.Unlock()
	if first {
		a.move(ctx, state.Streaming, "the agent's answer arrives")
	}
}

// move sets the state of the attempt that people see, with the cause. It decides nothing, so a store that cannot be
// written at the moment does not hurt the agent.
func (a *run) move(ctx context.Context, to state.Attempt, cause string) {
	a.stateMu.Lock()
	defer a.stateMu.Unlock()
	if a.state == to {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), stateWait)
	defer stop()
	from, err := a.Store.SetAttemptState(ctx, a.claim.Ref, to, cause)
	if err != nil {
		a.note("agent_state_unwritten", map[string]any{"to": to, "cause": cause, "error": err.Error()})
		return
	}
	a.state = to
	a.note(history.KindState, agentruntime.AgentStateChange{From: from, To: to, Cause: cause, At: agentruntime.At(a.Clock())})
}

// stateWait bounds how long a change of state may block the agent's events.
const stateWait = 5 * time.Second

// journalEvent writes an event of the agent to the journal. What an agent says and what its tools print is limited;
// what deed decides by is not.
func (a *run) journalEvent(kind string, detail any) {
	size := 0
	switch d := detail.(type) {
	case driver.Text:
		size = len(d.Text)
	case agentruntime.ToolCall:
		size = len(d.Input)
	case agentruntime.ToolResult:
		size = len(d.Output)
	case driver.Strange, driver.Fault:
	default:
		a.note(kind, detail)
		return
	}
	if a.watch.hasRoom(size + 256) {
		a.note(kind, detail)
	}
}
