package agentruntime

import "encoding/json"

// AgentState is where an agent stands within an attempt.
type AgentState string

// The states of an agent.
const (
	StateIdle                 AgentState = "idle"
	StateRunning              AgentState = "running"
	StateStreaming            AgentState = "streaming"
	StateWaitingForPermission AgentState = "waiting_for_permission"
	StateWaitingForInput      AgentState = "waiting_for_input"
	StateCompacting           AgentState = "compacting"
	StateResumable            AgentState = "resumable"
	StateCompleted            AgentState = "completed"
	StateFailedTerminal       AgentState = "failed_terminal"
)

// AgentStates lists every state in the order of the contract.
var AgentStates = []AgentState{
	StateIdle, StateRunning, StateStreaming, StateWaitingForPermission, StateWaitingForInput, StateCompacting, StateResumable, StateCompleted,
	StateFailedTerminal,
}

// An AgentStateChange is one step of an agent from a state to another.
type AgentStateChange struct {
	Schema string     `json:"schema,omitempty"`
	From   AgentState `json:"from"`
	To     AgentState `json:"to"`
	Cause  string     `json:"cause" jsonschema:"minLength=1"`
	At     Timestamp  `json:"at,omitempty"`
}

// A Budget is a bound of an attempt, and how much of it is used.
type Budget struct {
	Name      string    `json:"name" jsonschema:"minLength=1,maxLength=64"` // what is counted: turns, tool_calls, tokens, cost_micro_usd, wall_ms, …
	Limit     int64     `json:"limit" jsonschema:"minimum=0"`
	Used      int64     `json:"used" jsonschema:"minimum=0"`
	Exhausted bool      `json:"exhausted,omitempty"` // the agent was stopped for it
	At        Timestamp `json:"at,omitempty"`
}

// A JournalEvent is one entry of the journal.
type JournalEvent struct {
	Schema string          `json:"schema,omitempty"`
	Seq    int64           `json:"seq" jsonschema:"minimum=1"`
	At     Timestamp       `json:"at"`
	Kind   string          `json:"kind" jsonschema:"minLength=1,maxLength=512"`
	Detail json.RawMessage `json:"detail,omitempty"` // an object
}

// A RuntimeTask is a task as the runtime sees it while an agent works on it and afterwards: what can be known of it
// without its transcript. The first five members are those of the narrow runtime contract; the others are deed's own.
type RuntimeTask struct {
	Schema           string           `json:"schema,omitempty"`
	ID               string           `json:"id" jsonschema:"minLength=1,maxLength=512"`
	Goal             string           `json:"goal"`
	State            AgentState       `json:"state"`
	OpenRequirements []RequiredAction `json:"openRequirements"`
	Journal          []JournalEvent   `json:"journal"`

	AttemptID          string              `json:"attemptId,omitempty" jsonschema:"maxLength=512"`
	States             []AgentStateChange  `json:"states,omitempty"`
	Turns              []Turn              `json:"turns,omitempty"`
	ToolCalls          []ToolCall          `json:"toolCalls,omitempty"`
	ToolResults        []ToolResult        `json:"toolResults,omitempty"`
	CompletionAttempts []CompletionAttempt `json:"completionAttempts,omitempty"`
	RecoveryAttempts   []RecoveryAttempt   `json:"recoveryAttempts,omitempty"`
	ClosedRequirements []RequiredAction    `json:"closedRequirements,omitempty"`
	Compactions        []ContextCompaction `json:"compactions,omitempty"`
	Subagents          []SubagentRun       `json:"subagents,omitempty"`
	Decisions          []PolicyDecision    `json:"decisions,omitempty"`
	Usage              *Usage              `json:"usage,omitempty"` // of the whole attempt
	Budgets            []Budget            `json:"budgets,omitempty"`
}
