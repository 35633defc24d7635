package feed

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/store"
)

// Progress is how far a running attempt is.
type Progress struct {
	TaskID       string `json:"-"`
	AttemptID    string `json:"-"`
	Step         string `json:"step"` // a step of the attempt, or the kind of the newest entry of its journal
	Text         string `json:"text,omitempty"`
	Turn         int    `json:"turn,omitempty"`
	Tool         string `json:"tool,omitempty"` // the newest one
	ToolCalls    int    `json:"tool_calls,omitempty"`
	InputTokens  int64  `json:"input_tokens,omitempty"`
	OutputTokens int64  `json:"output_tokens,omitempty"`
	CostMicroUSD int64  `json:"cost_micro_usd,omitempty"` // as the agent reports it
}

// ProgressEvent is the name of the events that carry Progress.
const ProgressEvent = "attempt_progress"

// Progress reports how far an attempt is. When reports come faster than the stream's pace, only the newest of each attempt is
// sent. It costs next to nothing without subscribers.
func (f *Feed) Progress(p Progress, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.far[p.AttemptID]; known != nil { // every step repeats what the journal said
		known.Step, known.Text = p.Step, p.Text
		p = *known
	}
	f.progressLocked(p, at)
}

func (f *Feed) progressLocked(p Progress, at time.Time) {
	if f.subs == 0 {
		return
	}
	detail, err := json.Marshal(p)
	if err != nil {
		return // it is texts and numbers
	}
	if !slices.Contains(f.due, p.AttemptID) {
		f.due = append(f.due, p.AttemptID)
	}
	f.news[p.AttemptID] = &Event{Event: ProgressEvent, Source: FromProgress, TaskID: p.TaskID, AttemptID: p.AttemptID, At: at, Detail: detail}
	f.poke()
}

// OnEntry takes an entry of the journal of an attempt that runs in this process, and reports how far the attempt is.
func (f *Feed) OnEntry(ref store.Ref, e journal.Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.Kind == history.KindSettling || e.Kind == history.KindFenced {
		delete(f.far, ref.AttemptID)
		return
	}
	p := f.far[ref.AttemptID]
	if p == nil {
		p = &Progress{TaskID: ref.TaskID, AttemptID: ref.AttemptID}
		f.far[ref.AttemptID] = p
	}
	p.Step, p.Text = e.Kind, ""
	p.add(e)
	at, err := e.At.Time()
	if err != nil {
		return
	}
	f.progressLocked(*p, at)
}

// add counts what an entry reports.
func (p *Progress) add(e journal.Entry) {
	switch e.Kind {
	case history.KindTurn:
		var t agentruntime.Turn
		if json.Unmarshal(e.Detail, &t) == nil && t.SubagentID == "" {
			p.Turn = max(p.Turn, t.Index)
		}
	case history.KindToolCall:
		var c struct {
			Tool string `json:"tool"`
		}
		if json.Unmarshal(e.Detail, &c) == nil {
			p.Tool = c.Tool
		}
		p.ToolCalls++
	case history.KindUsage:
		var u agentruntime.Usage
		if json.Unmarshal(e.Detail, &u) == nil {
			p.InputTokens += u.InputTokens
			p.OutputTokens += u.OutputTokens
			if u.CostMicroUSD != nil {
				p.CostMicroUSD += *u.CostMicroUSD
			}
		}
	}
}

// endedLocked drops the progress of an attempt that ended: none of it may be sent after the end.
func (f *Feed) endedLocked(e store.Event) {
	if e.Type == string(agentruntime.EventTaskAttemptFinished) {
		delete(f.news, e.AttemptID)
	}
}
