package history

// The kinds of journal entries that are folded. Any other kind is kept in the journal and changes nothing else. Those of
// drivers are spelled as package driver spells them.
const (
	KindClaimed    = "claimed"
	KindBegun      = "begun"
	KindLost       = "lost"
	KindFenced     = "fenced" // another runner has the task by now
	KindSettling   = "settling"
	KindResumed    = "resumed"
	KindState      = "agent_state"        // agentruntime.AgentStateChange
	KindCompletion = "completion_attempt" // agentruntime.CompletionAttempt
	KindRecovery   = "recovery_attempt"   // agentruntime.RecoveryAttempt
	KindAction     = "required_action"    // agentruntime.RequiredAction, when it opens and when it closes
	KindBudget     = "budget"             // agentruntime.Budget
	KindBound      = "bound_reached"
	KindJudging    = "judging" // the gate begins
	KindCheck      = "check"   // a check ended
	KindVerdict    = "verdict"
	KindEnded      = "driver_ended"

	KindSession    = "session"
	KindTurn       = "turn"
	KindText       = "agent_text"
	KindToolCall   = "tool_call"
	KindToolResult = "tool_result"
	KindUsage      = "usage"
	KindPolicy     = "policy_decision"
	KindCompaction = "context_compaction"
	KindSubagent   = "subagent_run"
	KindFault      = "provider_fault"
	KindStrange    = "strange_event"
)
