// Package history owns the facts about an attempt that are known without its transcript: it folds the entries of a
// journal into the records of the runtime. It reads no file and decides nothing. Entries of an unknown kind and details
// that it cannot read are only counted, so that an older deed can show a newer journal.
package history

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/evidence/journal"
)

// Options say what a Fold starts from and how much it keeps.
type Options struct {
	TaskID, AttemptID, Goal string

	Journal bool // keep every entry as well
	MaxText int  // cut outputs and texts beyond so many bytes, and leave out larger inputs; 0: keep them whole
}

// Facts are what a Fold learned in addition to the records of the contract.
type Facts struct {
	SessionID      string // what resumes the conversation
	RequestedModel string
	ServedModel    string
	AgentVersion   string
	Resumed        bool // the conversation began in an earlier attempt
	Faults         int  // failures of the service behind the agent
	Strange        int  // lines of the agent's stream that made no sense
	Unread         int  // entries of a known kind whose detail could not be read
	Entries        int
}

// A Fold is the state of an attempt after the entries that it was given. It is used by one goroutine.
type Fold struct {
	opt   Options
	task  agentruntime.RuntimeTask
	facts Facts
	seq   int64

	at      map[string]int // the place of a record in its list, by kind and id
	actions []agentruntime.RequiredAction
	usage   agentruntime.Usage
	used    bool
}

// New returns a Fold without entries.
func New(o Options) *Fold {
	return &Fold{opt: o, at: map[string]int{}, task: agentruntime.RuntimeTask{
		Schema: agentruntime.SchemaRuntimeTask, ID: o.TaskID, AttemptID: o.AttemptID, Goal: o.Goal, State: agentruntime.StateIdle,
	}}
}

// Of folds a whole journal.
func Of(o Options, entries []journal.Entry) agentruntime.RuntimeTask {
	f := New(o)
	for _, e := range entries {
		f.Add(e)
	}
	return f.Task()
}

// Add takes the next entry. An entry that does not come after the last one is left out.
func (f *Fold) Add(e journal.Entry) {
	if e.Seq <= f.seq {
		return
	}
	f.seq = e.Seq
	f.facts.Entries++
	if !utf8.Valid(e.Detail) { // a journal keeps raw parts as they were given
		e.Detail = bytes.ToValidUTF8(e.Detail, []byte("\uFFFD"))
	}
	if f.opt.Journal {
		f.keep(e)
	}
	if !f.fold(e) {
		f.facts.Unread++
	}
}

// Facts returns what was learned in addition to the records.
func (f *Fold) Facts() Facts { return f.facts }

// Task returns the state as it is now. What it returns is not changed by later entries.
func (f *Fold) Task() agentruntime.RuntimeTask {
	t := f.task
	t.Journal = copied(t.Journal)
	t.States, t.Turns = trimmed(t.States), trimmed(t.Turns)
	t.ToolCalls, t.ToolResults = trimmed(t.ToolCalls), trimmed(t.ToolResults)
	t.CompletionAttempts, t.RecoveryAttempts = trimmed(t.CompletionAttempts), trimmed(t.RecoveryAttempts)
	t.Compactions, t.Subagents, t.Decisions, t.Budgets = trimmed(t.Compactions), trimmed(t.Subagents), trimmed(t.Decisions), trimmed(t.Budgets)
	t.OpenRequirements = []agentruntime.RequiredAction{}
	for _, a := range f.actions {
		if a.State == "" || a.State == agentruntime.ActionOpen {
			t.OpenRequirements = append(t.OpenRequirements, a)
		} else {
			t.ClosedRequirements = append(t.ClosedRequirements, a)
		}
	}
	if f.used {
		u := f.usage // its cost is never written to: AddUsage makes a new one
		t.Usage = &u
	}
	return t
}

// copied is a list of one's own that is never null in JSON.
func copied[T any](list []T) []T { return append([]T{}, list...) }

// trimmed is a list of one's own that is absent when it is empty.
func trimmed[T any](list []T) []T { return append([]T(nil), list...) }

// keep adds the entry to the journal of the task, as the contract has it.
func (f *Fold) keep(e journal.Entry) {
	v := agentruntime.JournalEvent{Seq: e.Seq, At: e.At, Kind: e.Kind, Detail: e.Detail}
	if d := strings.TrimLeft(string(e.Detail), " \t\r\n"); d == "null" {
		v.Detail = nil
	} else if d != "" && d[0] != '{' { // the contract wants an object
		v.Detail = json.RawMessage(`{"value":` + d + `}`)
	}
	if v.Validate() == nil {
		f.task.Journal = append(f.task.Journal, v)
	}
}

// fold applies an entry, and reports whether its detail could be read.
func (f *Fold) fold(e journal.Entry) bool {
	t := &f.task
	switch e.Kind {
	case KindClaimed:
		return f.claimed(e)
	case KindBegun:
		t.State = agentruntime.StateRunning
	case KindLost:
		t.State = agentruntime.StateFailedTerminal
	case KindSettling:
		return f.settling(e)
	case KindResumed:
		f.facts.Resumed = true
	case KindState:
		return into(e, func(c agentruntime.AgentStateChange) {
			if c.At == "" {
				c.At = e.At
			}
			t.State = c.To
			t.States = append(t.States, c)
		})
	case KindTurn:
		return into(e, func(v agentruntime.Turn) { upsert(f, &t.Turns, "turn", v.ID, v) })
	case KindToolCall:
		return into(e, func(v agentruntime.ToolCall) {
			if f.opt.MaxText > 0 && len(v.Input) > f.opt.MaxText {
				v.Input = nil
			}
			upsert(f, &t.ToolCalls, "call", v.CallID, v)
		})
	case KindToolResult:
		return into(e, func(v agentruntime.ToolResult) {
			v.Output = f.cut(v.Output)
			upsert(f, &t.ToolResults, "result", v.CallID, v)
		})
	case KindCompletion:
		return into(e, func(v agentruntime.CompletionAttempt) {
			v.Claim = f.cut(v.Claim)
			upsert(f, &t.CompletionAttempts, "completion", v.ID, v)
		})
	case KindRecovery:
		return into(e, func(v agentruntime.RecoveryAttempt) { upsert(f, &t.RecoveryAttempts, "recovery", v.ID, v) })
	case KindAction:
		return into(e, func(v agentruntime.RequiredAction) { upsert(f, &f.actions, "action", v.ID, v) })
	case KindCompaction:
		return into(e, func(v agentruntime.ContextCompaction) { upsert(f, &t.Compactions, "compaction", v.ID, v) })
	case KindSubagent:
		return into(e, func(v agentruntime.SubagentRun) {
			v.Summary = f.cut(v.Summary)
			upsert(f, &t.Subagents, "subagent", v.ID, v)
		})
	case KindPolicy:
		return into(e, func(v agentruntime.PolicyDecision) { upsert(f, &t.Decisions, "decision", v.ID, v) })
	case KindBudget:
		return into(e, func(v agentruntime.Budget) { upsert(f, &t.Budgets, "budget", v.Name, v) })
	case KindUsage:
		return f.addUsage(e)
	case KindSession:
		return f.session(e)
	case KindFault:
		f.facts.Faults++
	case KindStrange:
		f.facts.Strange++
	}
	return true
}

// into reads a detail that keeps the rules of its record.
func into[T interface{ Validate() error }](e journal.Entry, use func(T)) bool {
	var v T
	if json.Unmarshal(e.Detail, &v) != nil {
		return false
	}
	switch v := any(&v).(type) {
	case *agentruntime.Turn:
		v.Usage = counted(v.Usage)
	case *agentruntime.SubagentRun:
		v.Usage = counted(v.Usage)
	}
	if v.Validate() != nil {
		return false
	}
	use(v)
	return true
}

// counted is what a service says it used, with counts that can be. A part beyond its whole is as much as the whole.
func counted(u *agentruntime.Usage) *agentruntime.Usage {
	if u == nil {
		return nil
	}
	var total agentruntime.Usage
	AddUsage(&total, *u)
	total.Model = u.Model
	return &total
}

// upsert puts a record in the place of the one with its id, or at the end.
func upsert[T any](f *Fold, list *[]T, kind, id string, v T) {
	key := kind + "\x00" + id
	if i, ok := f.at[key]; ok {
		(*list)[i] = v
		return
	}
	f.at[key] = len(*list)
	*list = append(*list, v)
}

// cut shortens a text to what is kept of it.
func (f *Fold) cut(s string) string {
	if f.opt.MaxText <= 0 {
		return s
	}
	return truncate.Head(s, f.opt.MaxText)
}

func (f *Fold) claimed(e journal.Entry) bool {
	var d struct {
		TaskID    string `json:"task_id"`
		AttemptID string `json:"attempt_id"`
	}
	if json.Unmarshal(e.Detail, &d) != nil {
		return false
	}
	if f.task.ID == "" {
		f.task.ID = d.TaskID
	}
	if f.task.AttemptID == "" {
		f.task.AttemptID = d.AttemptID
	}
	return true
}

// settling is the last entry of an attempt: what the task becomes says how the attempt ends.
func (f *Fold) settling(e journal.Entry) bool {
	var d struct {
		Status agentruntime.TaskStatus `json:"status"`
	}
	if json.Unmarshal(e.Detail, &d) != nil {
		return false
	}
	switch d.Status {
	case agentruntime.TaskCompleted:
		f.task.State = agentruntime.StateCompleted
	case agentruntime.TaskBlocked:
		f.task.State = agentruntime.StateResumable
	default:
		f.task.State = agentruntime.StateFailedTerminal
	}
	return true
}

func (f *Fold) session(e journal.Entry) bool {
	var d struct {
		ID        string `json:"id"`
		Requested string `json:"requested_model"`
		Served    string `json:"served_model"`
		Version   string `json:"agent_version"`
		Resumed   bool   `json:"resumed"`
	}
	if json.Unmarshal(e.Detail, &d) != nil {
		return false
	}
	for _, v := range []struct {
		to   *string
		from string
	}{
		{&f.facts.SessionID, d.ID}, {&f.facts.RequestedModel, d.Requested}, {&f.facts.ServedModel, d.Served}, {&f.facts.AgentVersion, d.Version},
	} {
		if v.from != "" {
			*v.to = v.from
		}
	}
	f.facts.Resumed = f.facts.Resumed || d.Resumed
	return true
}

// addUsage sums what was used.
func (f *Fold) addUsage(e journal.Entry) bool {
	var d agentruntime.Usage
	if json.Unmarshal(e.Detail, &d) != nil {
		return false
	}
	f.used = true
	AddUsage(&f.usage, d)
	return true
}

// AddUsage adds what was used, in counts that can be: none is negative, and a part beyond its whole is as much as the whole.
func AddUsage(u *agentruntime.Usage, d agentruntime.Usage) {
	u.InputTokens = sum(u.InputTokens, d.InputTokens)
	u.OutputTokens = sum(u.OutputTokens, d.OutputTokens)
	u.CachedInputTokens = min(sum(u.CachedInputTokens, d.CachedInputTokens), u.InputTokens)
	u.CacheWriteTokens = min(sum(u.CacheWriteTokens, d.CacheWriteTokens), u.InputTokens)
	u.ReasoningTokens = min(sum(u.ReasoningTokens, d.ReasoningTokens), u.OutputTokens)
	if d.CostMicroUSD != nil {
		cost := sum(0, *d.CostMicroUSD)
		if u.CostMicroUSD != nil {
			cost = sum(*u.CostMicroUSD, cost)
		}
		u.CostMicroUSD = &cost
	}
}

// sum adds a count that is not negative, and stays at the largest number instead of passing it.
func sum(a, b int64) int64 {
	if b <= 0 {
		return a
	}
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
