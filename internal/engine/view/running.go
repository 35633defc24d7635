package view

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/agent/usage"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/engine/report"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/store"
)

// The phases of an attempt that runs.
const (
	PhasePreparing = "preparing" // the workspace is made ready
	PhaseAgent     = "agent"     // the agent works
	PhaseWaiting   = "waiting"   // for a person
	PhaseJudging   = "judging"   // the gate looks at what the agent says is done
	PhaseSettling  = "settling"
	PhaseGone      = "gone" // the process that ran it; the next dispatcher settles it
)

// A Running is an attempt that runs.
type Running struct {
	TaskID      string `json:"task_id"`
	AttemptID   string `json:"attempt_id"`
	Subject     string `json:"subject"`
	TaskType    string `json:"task_type"`
	Agent       string `json:"agent"` // the adapter
	AgentKind   string `json:"agent_kind"`
	Model       string `json:"model,omitempty"`
	RunnerID    string `json:"runner_id"`
	Number      int    `json:"attempt"`
	MaxAttempts int    `json:"max_attempts"`

	State    string `json:"state"`
	Phase    string `json:"phase"`
	Canceled bool   `json:"cancel_requested"`
	Live

	Usage          store.Usage `json:"usage"`
	CostMicroUSD   int64       `json:"cost_micro_usd"`   // of the task so far, as its budget counts it
	BudgetMicroUSD int64       `json:"budget_micro_usd"` // 0: none
	Budget         deed.Budget `json:"budget"`
	StartedAt      string      `json:"started_at"`
	ElapsedMS      int64       `json:"elapsed_ms"`
	TimeoutMS      int64       `json:"timeout_ms"` // 0: not known here
}

// Live is what the journal of an attempt says so far.
type Live struct {
	Turn        int      `json:"turn"`
	ToolCalls   int      `json:"tool_calls"`
	Tool        *Tool    `json:"tool,omitempty"`    // the newest one
	Said        string   `json:"said,omitempty"`    // the agent's newest words, cut
	Refusals    int      `json:"refusals"`          // by the gate, in this attempt
	Reasons     []string `json:"reasons,omitempty"` // of the newest refusal
	LastEntryAt string   `json:"last_entry_at,omitempty"`
	Entries     int64    `json:"entries"`
}

// A Tool is a tool call and its result.
type Tool struct {
	CallID     string `json:"call_id"`
	Name       string `json:"name"`
	Subject    string `json:"subject,omitempty"`
	Turn       int    `json:"turn,omitempty"`
	Subagent   string `json:"subagent_id,omitempty"`
	Status     string `json:"status,omitempty"` // empty: it has no result yet
	ErrorType  string `json:"error_type,omitempty"`
	DurationMS int64  `json:"duration_ms,omitempty"`
	StartedAt  string `json:"started_at,omitempty"`
}

// What a model keeps of an agent's texts.
const (
	maxSaid    = 400
	maxSubject = 400
	maxReasons = 20
)

// running lists the attempts that run now.
func (r *Reader) running(ctx context.Context, limit int) ([]Running, error) {
	tasks, err := r.src.Store.Tasks(ctx, store.TaskFilter{Status: []agentruntime.TaskStatus{agentruntime.TaskRunning}, Limit: limit})
	if err != nil {
		return nil, err
	}
	runners, err := r.src.Store.Runners(ctx)
	if err != nil {
		return nil, err
	}
	out := []Running{}
	live := map[string]bool{}
	for _, t := range tasks {
		at, err := r.src.Store.ListedAttempt(ctx, t.AttemptID)
		if errors.Is(err, store.ErrNotFound) || err == nil && !at.Live {
			continue // it was settled between the two readings
		}
		if err != nil {
			return nil, err
		}
		one, err := r.runningOf(ctx, t, at, runners)
		if err != nil {
			return nil, err
		}
		live[t.AttemptID] = true
		out = append(out, one)
	}
	r.dropEnded(live)
	return out, nil
}

// alive reports whether the process of a runner is there, as far as can be seen from here.
func alive(x store.Runner) bool {
	boot, ns, _ := strings.Cut(x.BootID, "|")
	return proc.Alive(proc.Identity{Host: x.Host, PID: x.PID, BootID: boot, Namespace: ns, StartTime: uint64(x.ProcStart)})
}

// Gone finds the tasks that are recorded as running and whose process is dead.
func (r *Reader) Gone(ctx context.Context, tasks []store.Task) (map[string]bool, error) {
	tasks = slices.DeleteFunc(slices.Clone(tasks), func(t store.Task) bool { return t.Record.Status != agentruntime.TaskRunning })
	if len(tasks) == 0 {
		return nil, nil
	}
	runners, err := r.src.Store.Runners(ctx)
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	for _, t := range tasks {
		at, err := r.src.Store.ListedAttempt(ctx, t.AttemptID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if err == nil && at.Live && lost(at, runners) {
			gone[t.ID()] = true
		}
	}
	return gone, nil
}

// GoneRuns is Gone for runs. A run may have ended since it was read, and its process with it, so those whose process is dead
// are read again.
func (r *Reader) GoneRuns(ctx context.Context, runs ...store.Run) (map[string]bool, error) {
	runs = slices.DeleteFunc(slices.Clone(runs), func(x store.Run) bool { return !x.Live || x.Record.Status.Terminal() })
	if len(runs) == 0 {
		return nil, nil
	}
	runners, err := r.src.Store.Runners(ctx)
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	for _, x := range runs {
		if !dead(x.RunnerID, runners) {
			continue
		}
		if x.Damage == "" { // which could not be read again
			now, err := r.src.Store.Run(ctx, x.ID())
			if errors.Is(err, store.ErrNotFound) || err == nil && (!now.Live || now.Record.Status.Terminal()) {
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		gone[x.ID()] = true
	}
	return gone, nil
}

// RunRecord is the record of a run, together with what is known of its process. The record itself stays as its owner left it.
func RunRecord(x store.Run, gone map[string]bool) evidence.RunRegistryEntry {
	rec := x.Record
	if !gone[x.ID()] {
		return rec
	}
	rec.Metadata = maps.Clone(rec.Metadata)
	if rec.Metadata == nil {
		rec.Metadata = map[string]any{}
	}
	rec.Metadata[evidence.MetaProcess] = PhaseGone
	return rec
}

// lost reports whether the process that runs an attempt is dead.
func lost(at store.Attempt, runners []store.Runner) bool { return dead(at.Record.RunnerID, runners) }

// dead reports whether a runner is on record, and its process is not there.
func dead(id string, runners []store.Runner) bool {
	return slices.ContainsFunc(runners, func(x store.Runner) bool { return x.ID == id && !alive(x) })
}

// runningOf is one attempt that runs, or that did when its process ended.
func (r *Reader) runningOf(ctx context.Context, t store.Task, at store.Attempt, runners []store.Runner) (Running, error) {
	rows, err := r.src.Store.UsageOfTask(ctx, t.ID())
	if err != nil {
		return Running{}, err
	}
	own := slices.DeleteFunc(slices.Clone(rows), func(u store.UsageRow) bool { return u.AttemptID != at.Record.AttemptID })
	var budget *deed.Budget
	if t.Intent.Deed != nil {
		budget = t.Intent.Deed.Budget
	}
	limits := usage.LimitsOf(r.src.Config, t.ID(), budget).Task
	out := Running{
		TaskID: t.ID(), AttemptID: at.Record.AttemptID, Subject: report.Subject(t), TaskType: t.Record.TaskType,
		Agent: at.Record.AdapterID, AgentKind: at.Record.AdapterKind, Model: deref(at.Record.Model), RunnerID: at.Record.RunnerID,
		Number: t.Record.AttemptCount, MaxAttempts: t.Record.MaxAttempts, State: at.State, Canceled: t.CancelRequested,
		Usage: store.SumUsage(own).Usage, CostMicroUSD: store.SumUsage(rows).CountedMicroUSD,
		Budget: limits, BudgetMicroUSD: limits.CostMicroUSD(), StartedAt: string(at.Record.StartedAt),
		TimeoutMS: r.timeout(t, at).Milliseconds(),
	}
	if began, err := at.Record.StartedAt.Time(); err == nil {
		out.ElapsedMS = max(r.src.Clock().Sub(began).Milliseconds(), 0)
	}
	out.Live, out.Phase = r.live(at)
	if at.State == string(agentruntime.StateWaitingForPermission) || at.State == string(agentruntime.StateWaitingForInput) {
		out.Phase = PhaseWaiting
	}
	if lost(at, runners) {
		out.Phase = PhaseGone
	}
	out.Usage.Turns = max(out.Usage.Turns, int64(out.Turn)) // the journal is ahead of the account
	out.Usage.ToolCalls = max(out.Usage.ToolCalls, int64(out.ToolCalls))
	return out, nil
}

// timeout is how long an attempt may take, as far as the task and the settings of this process say.
func (r *Reader) timeout(t store.Task, at store.Attempt) time.Duration {
	if s := t.Intent.Deed; s != nil {
		if s.TimeoutSeconds > 0 {
			return time.Duration(s.TimeoutSeconds) * time.Second
		}
		var own struct {
			TimeoutMS int64 `json:"timeout_ms"`
		}
		if len(s.Adapter) > 0 && json.Unmarshal(s.Adapter, &own) == nil && own.TimeoutMS > 0 {
			return time.Duration(own.TimeoutMS) * time.Millisecond
		}
	}
	if a, err := r.src.Config.Adapter(at.Record.AdapterID); err == nil {
		return time.Duration(a.Common().TimeoutMS) * time.Millisecond
	}
	return 0
}

func deref[T ~string](s *T) string {
	if s == nil {
		return ""
	}
	return string(*s)
}

// A follower keeps its place in a journal and what it has read of it.
type follower struct {
	tail  *journal.Tail
	live  Live
	phase string
}

func (f *follower) close() error {
	if f.tail == nil {
		return nil
	}
	return f.tail.Close()
}

// live reads on in the journal of an attempt. What cannot be read, such as the journal of a runner on another machine, is left out.
func (r *Reader) live(at store.Attempt) (Live, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.follow[at.Record.AttemptID]
	if f == nil {
		f = &follower{phase: PhasePreparing}
		r.follow[at.Record.AttemptID] = f
	}
	if f.tail == nil {
		f.tail, _ = r.OpenJournal(at)
	}
	if f.tail != nil {
		_ = Drain(f.tail, func(e journal.Entry) error { f.see(e); return nil })
	}
	out := f.live
	if f.live.Tool != nil { // the follower changes its own
		tool := *f.live.Tool
		out.Tool = &tool
	}
	return out, f.phase
}

// dropEnded closes the journals of attempts that do not run any more.
func (r *Reader) dropEnded(live map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, f := range r.follow {
		if !live[id] {
			_ = f.close()
			delete(r.follow, id)
		}
	}
}

// see takes one entry in.
func (f *follower) see(e journal.Entry) {
	l := &f.live
	l.Entries, l.LastEntryAt = e.Seq, string(e.At)
	switch e.Kind {
	case history.KindTurn:
		read(e, func(v agentruntime.Turn) {
			if v.SubagentID == "" {
				l.Turn = max(l.Turn, v.Index)
			}
		})
		f.phase = PhaseAgent
	case history.KindSession:
		f.phase = PhaseAgent
	case history.KindText:
		read(e, func(v struct{ Text string }) {
			if v.Text != "" {
				l.Said = truncate.Head(v.Text, maxSaid)
			}
		})
		f.phase = PhaseAgent
	case history.KindToolCall:
		read(e, func(v agentruntime.ToolCall) {
			l.ToolCalls++
			l.Turn = max(l.Turn, v.Turn)
			l.Tool = toolOf(v)
			l.Tool.StartedAt = string(e.At)
		})
		f.phase = PhaseAgent
	case history.KindToolResult:
		read(e, func(v agentruntime.ToolResult) {
			if l.Tool != nil && l.Tool.CallID == v.CallID {
				l.Tool.Status, l.Tool.ErrorType, l.Tool.DurationMS = string(v.Status), v.ErrorType, v.DurationMS
			}
		})
	case history.KindState:
		read(e, func(v agentruntime.AgentStateChange) {
			if v.To == agentruntime.StateRunning || v.To == agentruntime.StateStreaming {
				f.phase = PhaseAgent
			}
		})
	case history.KindCompletion:
		read(e, func(v agentruntime.CompletionAttempt) {
			switch {
			case v.Decision == nil:
				f.phase = PhaseJudging
			case !v.Decision.Accepted:
				l.Refusals++
				l.Reasons = v.Decision.Reasons[:min(len(v.Decision.Reasons), maxReasons)]
			}
		})
	case history.KindEnded:
		f.phase = PhaseJudging
	case history.KindVerdict, history.KindSettling:
		f.phase = PhaseSettling
	}
}

func toolOf(v agentruntime.ToolCall) *Tool {
	return &Tool{CallID: v.CallID, Name: truncate.Head(v.Tool, maxSubject), Subject: truncate.Head(history.Subject(v), maxSubject), Turn: v.Turn, Subagent: v.SubagentID}
}

// read gives a detail to a function if it can be read.
func read[T any](e journal.Entry, use func(T)) {
	var v T
	if json.Unmarshal(e.Detail, &v) == nil {
		use(v)
	}
}

// OpenJournal opens the journal of an attempt: in its directory while it runs, in its bundle afterwards. It returns nil when
// there is none yet, or none any more.
func (r *Reader) OpenJournal(at store.Attempt) (*journal.Tail, error) {
	paths := []string{filepath.Join(r.src.Home.Attempt(at.Record.AttemptID), "journal.jsonl")}
	if at.BundleDir != "" {
		paths = append(paths, filepath.Join(r.src.Home.Root(), at.BundleDir, evidence.PathEvents))
	}
	if !at.Live {
		slices.Reverse(paths)
	}
	for _, p := range paths {
		t, err := journal.OpenTail(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return t, err
	}
	return nil, nil
}

// Drain gives what is in a journal by now to a function.
func Drain(t *journal.Tail, use func(journal.Entry) error) error {
	for {
		entries, err := t.Next()
		for _, e := range entries {
			if err := use(e); err != nil {
				return err
			}
		}
		if err != nil || len(entries) == 0 {
			return err
		}
	}
}
