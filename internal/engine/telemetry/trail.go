package telemetry

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/base/terminal"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/store"
)

// Bounds of what one attempt holds here: an agent makes as many calls as it likes and ends none of them.
const (
	maxOpenTools = 256
	maxName      = 128
)

// A trail is one attempt as it is exported: its open spans, and what the next span needs. Its calls come one after the
// other, as the entries of a journal do.
//
//	task ─► attempt ─► turn ─► chat MODEL, execute_tool NAME
//	               └─► gate ─► check NAME
type trail struct {
	t     *Telemetry
	ref   store.Ref
	about claimed
	start time.Time
	last  time.Time // when the model was last waited for: the start of its next answer

	attempt, turn, gate span
	tools               map[string]span
	used                agentruntime.Usage // since the last answer
	over                bool
}

// A span is an open span. The zero value is no span.
type span struct {
	trace.Span
	start time.Time
	name  string
}

func (s span) open() bool { return s.Span != nil }

// within is the context of the spans below it.
func (s span) within() context.Context { return trace.ContextWithSpan(context.Background(), s.Span) }

// claimed is what the first entry of an attempt says of it.
type claimed struct {
	TaskType    string                 `json:"task_type"`
	AgentID     string                 `json:"agent_id"`
	AdapterID   string                 `json:"adapter_id"`
	AdapterKind string                 `json:"adapter_kind"`
	Model       string                 `json:"model"`
	ProfileID   string                 `json:"profile_id"`
	Attempt     int                    `json:"attempt"`
	CreatedAt   agentruntime.Timestamp `json:"created_at"`
}

// OnEntry takes the next entry of an attempt's journal.
func (t *Telemetry) OnEntry(ref store.Ref, e journal.Entry) {
	at, err := e.At.Time()
	if err != nil {
		at = t.clock()
	}
	t.mu.Lock()
	tr := t.trails[ref.AttemptID]
	if tr == nil {
		tr = &trail{t: t, ref: ref, start: at, last: at, tools: map[string]span{}}
		t.trails[ref.AttemptID] = tr
	}
	t.mu.Unlock()
	tr.note(e, at)
	if tr.over {
		t.mu.Lock()
		delete(t.trails, ref.AttemptID)
		t.mu.Unlock()
	}
}

// begin opens a span. Without traces the span is never exported.
func (tr *trail) begin(in context.Context, name string, at time.Time, attrs ...attribute.KeyValue) span {
	s := trace.Span(noop.Span{})
	if tr.t.tracer != nil {
		_, s = tr.t.tracer.Start(in, name, trace.WithTimestamp(at), trace.WithAttributes(attrs...))
	}
	return span{Span: s, start: at, name: name}
}

func (s *span) end(at time.Time, fault string, attrs ...attribute.KeyValue) {
	if !s.open() {
		return
	}
	s.SetAttributes(attrs...)
	if fault != "" {
		s.SetStatus(codes.Error, fault)
	}
	s.Span.End(trace.WithTimestamp(at))
	*s = span{}
}

func detail[T any](e journal.Entry) (v T) {
	_ = json.Unmarshal(e.Detail, &v) // an entry that cannot be read adds nothing
	return v
}

// name makes a name that an agent gave fit for a label: one line, short, no controls.
func name(s string) string {
	s, _ = truncate.Cut(terminal.Clean(s), maxName)
	return s
}

func (tr *trail) note(e journal.Entry, at time.Time) {
	if !tr.attempt.open() {
		tr.open(e, at)
	}
	switch e.Kind {
	case history.KindBegun, history.KindRecovery:
		tr.turn.end(at, "")
		tr.turn = tr.begin(tr.attempt.within(), "turn", at)
		tr.last = at
	case history.KindSession:
		tr.session(e)
	case history.KindTurn:
		tr.answer(detail[agentruntime.Turn](e), at)
	case history.KindUsage:
		u := detail[agentruntime.Usage](e)
		history.AddUsage(&tr.used, u)
		tr.t.meters.usage(tr.about, u)
	case history.KindToolCall:
		tr.call(detail[agentruntime.ToolCall](e), at)
	case history.KindToolResult:
		tr.result(detail[agentruntime.ToolResult](e), at)
	case history.KindEnded:
		tr.turnEnded(e, at)
	case history.KindJudging:
		tr.gate = tr.begin(tr.attempt.within(), "gate", at)
	case history.KindCheck:
		tr.check(e, at)
	case history.KindVerdict:
		tr.verdict(detail[deed.Verdict](e), at)
	case history.KindAction, history.KindPolicy, history.KindCompaction, history.KindSubagent, history.KindBound, history.KindFault, history.KindResumed:
		tr.happened(e, at)
	case history.KindSettling:
		tr.settled(e, at)
	case history.KindFenced:
		tr.cut(at)
	}
}

// open begins the span of the attempt below the span of the task, which is exported when the task ends.
func (tr *trail) open(e journal.Entry, at time.Time) {
	if e.Kind == history.KindClaimed {
		tr.about = detail[claimed](e)
	}
	id := spanOf("attempt", tr.ref.AttemptID)
	in := named(parent(tr.ref.TaskID, spanOf("task", tr.ref.TaskID)), wanted{traceOf(tr.ref.TaskID), id})
	tr.attempt = tr.begin(in, "attempt", at, append(tr.about.attributes(),
		attribute.String("deed.task.id", tr.ref.TaskID), attribute.String("deed.attempt.id", tr.ref.AttemptID), attribute.Int("deed.attempt.number", tr.about.Attempt),
		attribute.String("gen_ai.operation.name", "invoke_agent"), attribute.String("gen_ai.agent.name", tr.about.AdapterID),
	)...)
}

func (c claimed) attributes() []attribute.KeyValue {
	out := []attribute.KeyValue{
		attribute.String("deed.task.type", c.TaskType), attribute.String("deed.adapter.kind", c.AdapterKind), attribute.String("deed.profile.id", c.ProfileID),
	}
	if c.AgentID != "" {
		out = append(out, attribute.String("gen_ai.agent.id", c.AgentID))
	}
	if c.Model != "" {
		out = append(out, attribute.String("gen_ai.request.model", c.Model))
	}
	return out
}

func (tr *trail) session(e journal.Entry) {
	d := detail[struct {
		ID      string `json:"id"`
		Served  string `json:"served_model"`
		Version string `json:"agent_version"`
	}](e)
	for k, v := range map[string]string{"gen_ai.conversation.id": d.ID, "gen_ai.response.model": d.Served, "gen_ai.agent.version": d.Version} {
		if v != "" {
			tr.attempt.SetAttributes(attribute.String(k, name(v)))
		}
	}
}

// within is the span that something of the agent belongs to.
func (tr *trail) within() context.Context {
	if tr.turn.open() {
		return tr.turn.within()
	}
	return tr.attempt.within()
}

// answer records one answer of the model. Where an agent does not say when it asked, it is taken to have asked when the
// last thing that it waited for was there.
func (tr *trail) answer(v agentruntime.Turn, at time.Time) {
	start, end := tr.last, at
	if s, err := v.StartedAt.Time(); err == nil {
		start = s
	}
	if s, err := v.EndedAt.Time(); err == nil {
		end = s
	}
	if end.Before(start) {
		start = end
	}
	u := tr.used
	if v.Usage != nil {
		u = *v.Usage
	}
	tr.used, tr.last = agentruntime.Usage{}, end
	model := name(v.Model)
	attrs := []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", "chat"), attribute.Int64("gen_ai.usage.input_tokens", u.InputTokens), attribute.Int64("gen_ai.usage.output_tokens", u.OutputTokens),
		attribute.Int("deed.turn.index", v.Index),
	}
	if model != "" {
		attrs = append(attrs, attribute.String("gen_ai.response.model", model))
	}
	if v.StopReason != "" {
		attrs = append(attrs, attribute.StringSlice("gen_ai.response.finish_reasons", []string{name(v.StopReason)}))
	}
	s := tr.begin(tr.within(), strings.TrimSpace("chat "+model), start, attrs...)
	s.end(end, "")
	tr.t.meters.answer(tr.about, model, end.Sub(start))
}

func (tr *trail) call(v agentruntime.ToolCall, at time.Time) {
	if len(tr.tools) >= maxOpenTools {
		return
	}
	tool := name(v.Tool)
	s := tr.begin(tr.within(), "execute_tool "+tool, at,
		attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", tool), attribute.String("gen_ai.tool.call.id", name(v.CallID)))
	s.name = tool
	tr.tools[v.CallID] = s
}

func (tr *trail) result(v agentruntime.ToolResult, at time.Time) {
	s, ok := tr.tools[v.CallID]
	if !ok {
		return
	}
	delete(tr.tools, v.CallID)
	tr.last = at
	tr.t.meters.tool(s.name, string(v.Status), at.Sub(s.start))
	fault := ""
	if v.Status == agentruntime.ToolFailure {
		fault = "the tool failed"
		s.SetAttributes(attribute.String("error.type", name(v.ErrorType)))
	}
	s.end(at, fault)
}

// closeTools ends the calls that never got a result.
func (tr *trail) closeTools(at time.Time) {
	for id, s := range tr.tools {
		s.end(at, "the call had no answer")
		delete(tr.tools, id)
	}
}

func (tr *trail) turnEnded(e journal.Entry, at time.Time) {
	d := detail[struct {
		Turn  int    `json:"turn"`
		Class string `json:"class"`
	}](e)
	tr.closeTools(at)
	tr.turn.end(at, fail(d.Class), attribute.Int("deed.turn.number", d.Turn))
}

// fail is a class as the text of a fault; none is no fault.
func fail(class string) string {
	if class == "none" {
		return ""
	}
	return class
}

func (tr *trail) check(e journal.Entry, at time.Time) {
	d := detail[struct {
		Name      string                 `json:"name"`
		Status    string                 `json:"status"`
		StartedAt agentruntime.Timestamp `json:"started_at"`
	}](e)
	start, err := d.StartedAt.Time()
	if err != nil || start.After(at) {
		start = at
	}
	in := tr.attempt.within()
	if tr.gate.open() {
		in = tr.gate.within()
	}
	fault := ""
	if d.Status != deed.CheckPassed {
		fault = d.Status
	}
	s := tr.begin(in, "check "+name(d.Name), start, attribute.String("deed.check.name", name(d.Name)), attribute.String("deed.check.status", d.Status))
	s.end(at, fault)
	tr.t.meters.check(d.Status, at.Sub(start))
}

// verdict records the codes of the reasons only; their sentences quote the agent's files.
func (tr *trail) verdict(v deed.Verdict, at time.Time) {
	var why []string
	for _, r := range v.Reasons {
		if !slices.Contains(why, r.Code) {
			why = append(why, name(r.Code))
		}
	}
	fault := ""
	if !v.Accepted {
		fault = "refused"
	}
	tr.gate.end(at, fault, attribute.Bool("deed.gate.accepted", v.Accepted), attribute.StringSlice("deed.gate.reasons", why))
	tr.t.meters.verdict(v.Accepted, why)
}

// happened puts a moment on the attempt: its kind, and the words of it that are deed's.
func (tr *trail) happened(e journal.Entry, at time.Time) {
	d := detail[struct {
		State  string `json:"state"`
		Kind   string `json:"kind"`
		Effect string `json:"effect"`
		Tool   string `json:"tool"`
		Class  string `json:"class"`
		Status int    `json:"status"`
	}](e)
	var attrs []attribute.KeyValue
	for k, v := range map[string]string{"state": d.State, "kind": d.Kind, "effect": d.Effect, "tool": d.Tool, "class": d.Class} {
		if v != "" {
			attrs = append(attrs, attribute.String("deed."+k, name(v)))
		}
	}
	if d.Status != 0 {
		attrs = append(attrs, attribute.Int("http.response.status_code", d.Status))
	}
	tr.attempt.AddEvent(e.Kind, trace.WithTimestamp(at), trace.WithAttributes(attrs...))
}

func (tr *trail) settled(e journal.Entry, at time.Time) {
	d := detail[struct {
		Status agentruntime.TaskStatus `json:"status"`
		Class  string                  `json:"class"`
	}](e)
	tr.end(at, fail(d.Class), attribute.String("deed.task.status", string(d.Status)), attribute.String("deed.attempt.class", d.Class))
	tr.t.meters.settled(tr.about, d.Status, d.Class, at.Sub(tr.start))
	if !d.Status.Terminal() {
		return
	}
	start, err := tr.about.CreatedAt.Time()
	if err != nil || start.After(at) {
		start = tr.start
	}
	in := named(context.Background(), wanted{traceOf(tr.ref.TaskID), spanOf("task", tr.ref.TaskID)})
	s := tr.begin(in, "task", start, append(tr.about.attributes(), attribute.String("deed.task.id", tr.ref.TaskID), attribute.String("deed.task.status", string(d.Status)))...)
	fault := ""
	if d.Status != agentruntime.TaskCompleted {
		fault = string(d.Status)
	}
	s.end(at, fault)
}

// end ends every span of the attempt.
func (tr *trail) end(at time.Time, fault string, attrs ...attribute.KeyValue) {
	tr.closeTools(at)
	tr.turn.end(at, fault)
	tr.gate.end(at, fault)
	tr.attempt.end(at, fault, attrs...)
	tr.over = true
}

// cut ends the spans of an attempt that this process does not bring to its end.
func (tr *trail) cut(at time.Time) { tr.end(at, "the attempt was cut off") }
