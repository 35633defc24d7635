package agentruntime

import (
	"fmt"

	"github.com/deedrun/deed/contract/fault"
)

// notNegative demands a number that counts something.
func notNegative(l *fault.List, name string, n int64) {
	if n < 0 {
		l.Add(fault.Field(fault.Root, name), fault.OutOfRange, fmt.Sprintf("%d is negative", n), "count from 0")
	}
}

// positive demands a place in an order.
func positive(l *fault.List, path string, n int64) {
	if n < 1 {
		l.Add(path, fault.OutOfRange, fmt.Sprintf("%d is out of range", n), "count from 1")
	}
}

// atMost demands that a part is no more than its whole.
func atMost(l *fault.List, path string, part int64, whole string, most int64) {
	if most >= 0 && part > most {
		l.Add(path, fault.Conflict, fmt.Sprintf("%d is more than %s, which is %d", part, whole, most), fmt.Sprintf("use at most %d", most))
	}
}

// span demands two instants in their order, where both are there.
func span(l *fault.List, from, to string, a, b Timestamp) {
	start, ok := optionalInstant(l, from, a)
	end, both := optionalInstant(l, to, b)
	if ok && both && end.Before(start) {
		l.Add(to, fault.Conflict, fmt.Sprintf("%s is before %s", b, from[2:]), "give the later instant")
	}
}

// digest demands a name of at most 80 bytes, where there is one.
func digest(l *fault.List, path, value string) {
	l.OptionalName(path, value)
	if len(value) > 80 && len(value) <= fault.MaxName {
		l.Add(path, fault.OutOfRange, fmt.Sprintf("has %d bytes", len(value)), "use at most 80")
	}
}

// word demands a name of at most 64 bytes.
func word(l *fault.List, path, value string) {
	l.Name(path, value)
	if len(value) > 64 && len(value) <= fault.MaxName {
		l.Add(path, fault.OutOfRange, fmt.Sprintf("has %d bytes", len(value)), "use at most 64")
	}
}

// Validate returns every fault of the record.
func (t Turn) Validate() error {
	var l fault.List
	schemaIs(&l, t.Schema, SchemaTurn)
	l.Name("$.id", t.ID)
	positive(&l, "$.index", int64(t.Index))
	l.OptionalName("$.subagentId", t.SubagentID)
	span(&l, "$.startedAt", "$.endedAt", t.StartedAt, t.EndedAt)
	l.OptionalName("$.model", t.Model)
	l.OptionalName("$.stopReason", t.StopReason)
	notNegative(&l, "toolCalls", int64(t.ToolCalls))
	if t.Usage != nil {
		l.Within("$.usage", t.Usage.Validate())
	}
	return l.Err()
}

// Validate returns every fault of the record.
func (u Usage) Validate() error {
	var l fault.List
	schemaIs(&l, u.Schema, SchemaUsage)
	l.OptionalName("$.model", u.Model)
	for _, c := range []struct {
		name string
		n    int64
	}{
		{"inputTokens", u.InputTokens},
		{"cachedInputTokens", u.CachedInputTokens},
		{"cacheWriteTokens", u.CacheWriteTokens},
		{"outputTokens", u.OutputTokens},
		{"reasoningTokens", u.ReasoningTokens},
		{"costMicroUsd", at(u.CostMicroUSD)},
	} {
		notNegative(&l, c.name, c.n)
	}
	atMost(&l, "$.cachedInputTokens", u.CachedInputTokens, "inputTokens", u.InputTokens)
	atMost(&l, "$.cacheWriteTokens", u.CacheWriteTokens, "inputTokens", u.InputTokens)
	atMost(&l, "$.reasoningTokens", u.ReasoningTokens, "outputTokens", u.OutputTokens)
	return l.Err()
}

// Validate returns every fault of the record.
func (c ToolCall) Validate() error {
	var l fault.List
	schemaIs(&l, c.Schema, SchemaToolCall)
	l.Name("$.callId", c.CallID)
	notNegative(&l, "turn", int64(c.Turn))
	l.OptionalName("$.subagentId", c.SubagentID)
	l.Name("$.tool", c.Tool)
	l.OptionalObject("$.input", c.Input)
	digest(&l, "$.inputDigest", c.InputSHA)
	optionalInstant(&l, "$.at", c.At)
	return l.Err()
}

// Validate returns every fault of the record.
func (r ToolResult) Validate() error {
	var l fault.List
	schemaIs(&l, r.Schema, SchemaToolResult)
	l.Name("$.callId", r.CallID)
	fault.OneOf(&l, "$.status", r.Status, ToolStatuses...)
	l.Text("$.output", r.Output)
	l.OptionalName("$.errorType", r.ErrorType)
	if r.Status == ToolSuccess && r.ErrorType != "" {
		l.Add("$.errorType", fault.Conflict, "is there, and the status is success", `set "status": "failure", or remove it`)
	}
	if r.Status == ToolSuccess && r.Terminal {
		l.Add("$.terminal", fault.Conflict, "is true, and the status is success", `set "status": "failure", or remove it`)
	}
	notNegative(&l, "outputBytes", r.OutputBytes)
	l.OptionalPath("$.outputRef", r.OutputRef)
	digest(&l, "$.outputDigest", r.OutputSHA)
	notNegative(&l, "durationMs", r.DurationMS)
	optionalInstant(&l, "$.at", r.At)
	return l.Err()
}

// Validate returns every fault of the record.
func (d CompletionDecision) Validate() error {
	var l fault.List
	schemaIs(&l, d.Schema, SchemaCompletionDecision)
	texts(&l, "$.reasons", d.Reasons)
	if !d.Accepted && len(d.Reasons) == 0 {
		l.Add("$.reasons", fault.Conflict, "are missing, and the work is not accepted", "say what is missing")
	}
	return l.Err()
}

// Validate returns every fault of the record.
func (c CompletionAttempt) Validate() error {
	var l fault.List
	schemaIs(&l, c.Schema, SchemaCompletionAttempt)
	l.Name("$.id", c.ID)
	positive(&l, "$.number", int64(c.Number))
	notNegative(&l, "turn", int64(c.Turn))
	l.Text("$.claim", c.Claim)
	if c.Decision != nil {
		l.Within("$.decision", c.Decision.Validate())
	}
	digest(&l, "$.workspaceDigest", c.Workspace)
	optionalInstant(&l, "$.at", c.At)
	return l.Err()
}

// Validate returns every fault of the record.
func (r RecoveryAttempt) Validate() error {
	var l fault.List
	schemaIs(&l, r.Schema, SchemaRecoveryAttempt)
	l.Name("$.id", r.ID)
	l.Name("$.completionAttemptId", r.CompletionAttemptID)
	positive(&l, "$.number", int64(r.Number))
	positive(&l, "$.limit", int64(r.Limit))
	atMost(&l, "$.number", int64(r.Number), "limit", int64(r.Limit))
	texts(&l, "$.reasons", r.Reasons)
	optionalInstant(&l, "$.at", r.At)
	return l.Err()
}

// Validate returns every fault of the record.
func (a RequiredAction) Validate() error {
	var l fault.List
	schemaIs(&l, a.Schema, SchemaRequiredAction)
	l.Name("$.id", a.ID)
	word(&l, "$.kind", a.Kind)
	l.Say("$.prompt", a.Prompt)
	l.Text("$.why", a.Why)
	l.OptionalName("$.rule", a.Rule)
	l.OptionalObject("$.subject", a.Subject)
	digest(&l, "$.contextDigest", a.ContextDigest)
	optionalInstant(&l, "$.deadline", a.Deadline)
	if a.Default != "" {
		word(&l, "$.default", a.Default)
	}
	l.Names("$.mayAnswer", a.MayAnswer)
	if a.State != "" {
		fault.OneOf(&l, "$.state", a.State, ActionOpen, ActionAnswered, ActionDismissed)
	}
	l.OptionalObject("$.answer", a.Answer)
	l.OptionalName("$.answeredBy", a.AnsweredBy)
	span(&l, "$.openedAt", "$.closedAt", a.OpenedAt, a.ClosedAt)
	if a.ClosedAt != "" && a.open() {
		l.Add("$.closedAt", fault.Conflict, "is there, and the action is open", "set state to answered or dismissed, or remove it")
	}
	return l.Err()
}

func (a RequiredAction) open() bool { return a.State == "" || a.State == ActionOpen }

// Validate returns every fault of the record.
func (c ContextCompaction) Validate() error {
	var l fault.List
	schemaIs(&l, c.Schema, SchemaContextCompaction)
	l.Name("$.id", c.ID)
	notNegative(&l, "turn", int64(c.Turn))
	l.OptionalName("$.subagentId", c.SubagentID)
	word(&l, "$.reason", c.Reason)
	notNegative(&l, "tokensBefore", c.TokensBefore)
	notNegative(&l, "tokensAfter", c.TokensAfter)
	l.Names("$.carried", c.Carried)
	digest(&l, "$.summaryDigest", c.SummarySHA)
	optionalInstant(&l, "$.at", c.At)
	return l.Err()
}

// Validate returns every fault of the record.
func (s SubagentRun) Validate() error {
	var l fault.List
	schemaIs(&l, s.Schema, SchemaSubagentRun)
	l.Name("$.id", s.ID)
	l.OptionalName("$.parentId", s.ParentID)
	if s.ParentID != "" && s.ParentID == s.ID {
		l.Add("$.parentId", fault.Conflict, "is the run itself", "name the run that delegated")
	}
	l.OptionalName("$.callId", s.CallID)
	l.Text("$.goal", s.Goal)
	positive(&l, "$.depth", int64(s.Depth))
	l.Names("$.tools", s.Tools)
	notNegative(&l, "maxTurns", int64(s.MaxTurns))
	fault.OneOf(&l, "$.state", s.State, SubagentRunning, SubagentCompleted, SubagentFailed, SubagentCancelled)
	l.Text("$.summary", s.Summary)
	notNegative(&l, "turns", int64(s.Turns))
	if s.Usage != nil {
		l.Within("$.usage", s.Usage.Validate())
	}
	l.OptionalPath("$.journalRef", s.JournalRef)
	span(&l, "$.startedAt", "$.endedAt", s.StartedAt, s.EndedAt)
	if s.EndedAt != "" && s.State == SubagentRunning {
		l.Add("$.endedAt", fault.Conflict, "is there, and the run goes on", "say how it ended, or remove it")
	}
	return l.Err()
}

// Validate returns every fault of the record.
func (d PolicyDecision) Validate() error {
	var l fault.List
	schemaIs(&l, d.Schema, SchemaPolicyDecision)
	l.Name("$.id", d.ID)
	fault.OneOf(&l, "$.boundary", d.Boundary, BoundaryTool, BoundaryStop)
	notNegative(&l, "turn", int64(d.Turn))
	l.OptionalName("$.callId", d.CallID)
	l.OptionalName("$.tool", d.Tool)
	l.Text("$.subject", d.Subject)
	fault.OneOf(&l, "$.effect", d.Effect, PolicyEffects...)
	l.Name("$.rule", d.Rule)
	l.Text("$.reason", d.Reason)
	l.OptionalName("$.by", d.By)
	l.OptionalName("$.actionId", d.ActionID)
	if d.Held != "" {
		fault.OneOf(&l, "$.held", d.Held, HeldEnforced, HeldDeclared)
	}
	optionalInstant(&l, "$.at", d.At)
	return l.Err()
}

// Validate returns every fault of the record.
func (s AgentStateChange) Validate() error {
	var l fault.List
	schemaIs(&l, s.Schema, SchemaAgentState)
	fault.OneOf(&l, "$.from", s.From, AgentStates...)
	fault.OneOf(&l, "$.to", s.To, AgentStates...)
	l.Say("$.cause", s.Cause)
	optionalInstant(&l, "$.at", s.At)
	return l.Err()
}

// Validate returns every fault of the record.
func (b Budget) Validate() error {
	var l fault.List
	word(&l, "$.name", b.Name)
	notNegative(&l, "limit", b.Limit)
	notNegative(&l, "used", b.Used)
	optionalInstant(&l, "$.at", b.At)
	return l.Err()
}

// Validate returns every fault of the record.
func (e JournalEvent) Validate() error {
	var l fault.List
	schemaIs(&l, e.Schema, SchemaJournalEvent)
	positive(&l, "$.seq", e.Seq)
	instant(&l, "$.at", e.At)
	l.Name("$.kind", e.Kind)
	l.OptionalObject("$.detail", e.Detail)
	return l.Err()
}

// Validate returns every fault of the record and of those that it holds.
func (t RuntimeTask) Validate() error {
	var l fault.List
	schemaIs(&l, t.Schema, SchemaRuntimeTask)
	l.Name("$.id", t.ID)
	l.Text("$.goal", t.Goal)
	fault.OneOf(&l, "$.state", t.State, AgentStates...)
	l.OptionalName("$.attemptId", t.AttemptID)
	each(&l, "$.openRequirements", t.OpenRequirements)
	for i, a := range t.OpenRequirements {
		if !a.open() {
			l.Add(fault.Index("$.openRequirements", i)+".state", fault.Conflict, fmt.Sprintf("is %s among those that are open", clip(a.State)), "move it to closedRequirements")
		}
	}
	each(&l, "$.journal", t.Journal)
	for i := 1; i < len(t.Journal); i++ {
		if t.Journal[i].Seq <= t.Journal[i-1].Seq {
			l.Add(fault.Index("$.journal", i)+".seq", fault.Conflict, fmt.Sprintf("%d does not come after %d", t.Journal[i].Seq, t.Journal[i-1].Seq), "list the entries in their order")
		}
	}
	each(&l, "$.states", t.States)
	each(&l, "$.turns", t.Turns)
	each(&l, "$.toolCalls", t.ToolCalls)
	each(&l, "$.toolResults", t.ToolResults)
	each(&l, "$.completionAttempts", t.CompletionAttempts)
	each(&l, "$.recoveryAttempts", t.RecoveryAttempts)
	each(&l, "$.closedRequirements", t.ClosedRequirements)
	each(&l, "$.compactions", t.Compactions)
	each(&l, "$.subagents", t.Subagents)
	each(&l, "$.decisions", t.Decisions)
	if t.Usage != nil {
		l.Within("$.usage", t.Usage.Validate())
	}
	each(&l, "$.budgets", t.Budgets)
	return l.Err()
}

// each adds the faults of the records in a list.
func each[T interface{ Validate() error }](l *fault.List, path string, list []T) {
	for i, v := range list {
		if err := v.Validate(); err != nil {
			l.Within(fault.Index(path, i), err)
		}
	}
}
