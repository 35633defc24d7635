package agentruntime

import "encoding/json"

// The records of the narrow runtime: what happens between a task and its outcome, told apart from the transcript. Their
// members are spelled as that contract spells them. Each is the detail of a journal entry, so task and attempt are those
// of the journal.

// A Turn is one answer of a model with the tool calls that it asked for.
type Turn struct {
	Schema     string    `json:"schema,omitempty"`
	ID         string    `json:"id" jsonschema:"minLength=1,maxLength=512"`
	Index      int       `json:"index" jsonschema:"minimum=1"` // within the attempt
	SubagentID string    `json:"subagentId,omitempty" jsonschema:"maxLength=512"`
	StartedAt  Timestamp `json:"startedAt,omitempty"`
	EndedAt    Timestamp `json:"endedAt,omitempty"`
	Model      string    `json:"model,omitempty" jsonschema:"maxLength=512"`      // the one that answered
	StopReason string    `json:"stopReason,omitempty" jsonschema:"maxLength=512"` // in the words of whoever stopped
	ToolCalls  int       `json:"toolCalls,omitempty" jsonschema:"minimum=0"`
	Usage      *Usage    `json:"usage,omitempty"`
}

// Usage is what a stretch of work cost. Input tokens include those that were read from a cache or written to one.
type Usage struct {
	Schema            string `json:"schema,omitempty"`
	Model             string `json:"model,omitempty" jsonschema:"maxLength=512"`
	InputTokens       int64  `json:"inputTokens" jsonschema:"minimum=0"`
	CachedInputTokens int64  `json:"cachedInputTokens,omitempty" jsonschema:"minimum=0"` // of these, read from a cache
	CacheWriteTokens  int64  `json:"cacheWriteTokens,omitempty" jsonschema:"minimum=0"`  // of these, written to a cache
	OutputTokens      int64  `json:"outputTokens" jsonschema:"minimum=0"`
	ReasoningTokens   int64  `json:"reasoningTokens,omitempty" jsonschema:"minimum=0"` // of the output tokens
	CostMicroUSD      *int64 `json:"costMicroUsd,omitempty" jsonschema:"minimum=0"`    // as the agent tells it; absent: it says nothing
}

// A ToolCall is what an agent wants done.
type ToolCall struct {
	Schema     string          `json:"schema,omitempty"`
	CallID     string          `json:"callId" jsonschema:"minLength=1,maxLength=512"`
	Turn       int             `json:"turn,omitempty" jsonschema:"minimum=0"` // the index of its turn
	SubagentID string          `json:"subagentId,omitempty" jsonschema:"maxLength=512"`
	Tool       string          `json:"tool" jsonschema:"minLength=1,maxLength=512"` // as the agent names it
	Input      json.RawMessage `json:"input,omitempty"`                             // an object; left out beyond a bound: see inputDigest
	InputSHA   string          `json:"inputDigest,omitempty" jsonschema:"maxLength=80"`
	At         Timestamp       `json:"at,omitempty"`
}

// ToolStatus says how a tool call ended.
type ToolStatus string

// The statuses of a ToolResult.
const (
	ToolSuccess ToolStatus = "success"
	ToolFailure ToolStatus = "failure"
)

// ToolStatuses lists every status.
var ToolStatuses = []ToolStatus{ToolSuccess, ToolFailure}

// A ToolResult is what a tool call gave. A failure stays in the task's state until the runtime or a policy calls it
// terminal.
type ToolResult struct {
	Schema      string     `json:"schema,omitempty"`
	CallID      string     `json:"callId" jsonschema:"minLength=1,maxLength=512"`
	Status      ToolStatus `json:"status"`
	Output      string     `json:"output,omitempty"` // what the agent was given, cut beyond a bound
	ErrorType   string     `json:"errorType,omitempty" jsonschema:"maxLength=512"`
	Retryable   *bool      `json:"retryable,omitempty"`
	Terminal    bool       `json:"terminal,omitempty"`                           // the runtime or a policy ended the task for it
	OutputBytes int64      `json:"outputBytes,omitempty" jsonschema:"minimum=0"` // of the whole output
	OutputRef   string     `json:"outputRef,omitempty"`                          // where the whole is, in the evidence
	OutputSHA   string     `json:"outputDigest,omitempty" jsonschema:"maxLength=80"`
	DurationMS  int64      `json:"durationMs,omitempty" jsonschema:"minimum=0"`
	At          Timestamp  `json:"at,omitempty"`
}

// A CompletionDecision is the gate's answer to a completion attempt. A rejection has reasons.
type CompletionDecision struct {
	Schema   string   `json:"schema,omitempty"`
	Accepted bool     `json:"accepted"`
	Reasons  []string `json:"reasons"`
}

// A CompletionAttempt is one time that an agent said it was done.
type CompletionAttempt struct {
	Schema    string              `json:"schema,omitempty"`
	ID        string              `json:"id" jsonschema:"minLength=1,maxLength=512"`
	Number    int                 `json:"number" jsonschema:"minimum=1"` // 1, 2, … within the attempt
	Turn      int                 `json:"turn,omitempty" jsonschema:"minimum=0"`
	Claim     string              `json:"claim,omitempty"` // the agent's word
	Decision  *CompletionDecision `json:"decision,omitempty"`
	Workspace string              `json:"workspaceDigest,omitempty" jsonschema:"maxLength=80"` // what was judged
	At        Timestamp           `json:"at,omitempty"`
}

// A RecoveryAttempt is a turn that answers a rejection: the reasons go back into the same conversation.
type RecoveryAttempt struct {
	Schema              string    `json:"schema,omitempty"`
	ID                  string    `json:"id" jsonschema:"minLength=1,maxLength=512"`
	CompletionAttemptID string    `json:"completionAttemptId" jsonschema:"minLength=1,maxLength=512"` // the one that was rejected
	Number              int       `json:"number" jsonschema:"minimum=1"`
	Limit               int       `json:"limit" jsonschema:"minimum=1"`
	Reasons             []string  `json:"reasons"`
	SameConversation    bool      `json:"sameConversation"` // false: the agent could not go on with it and began anew
	At                  Timestamp `json:"at,omitempty"`
}

// The states of a RequiredAction.
const (
	ActionOpen      = "open"
	ActionAnswered  = "answered"
	ActionDismissed = "dismissed"
)

// A RequiredAction is something that a person must decide before the work can go on.
type RequiredAction struct {
	Schema        string          `json:"schema,omitempty"`
	ID            string          `json:"id" jsonschema:"minLength=1,maxLength=512"`
	Kind          string          `json:"kind" jsonschema:"minLength=1,maxLength=64"`                          // permission, question, budget, or another word
	Prompt        string          `json:"prompt"`                                                              // what is asked
	Why           string          `json:"why,omitempty"`                                                       // why it is asked
	Rule          string          `json:"rule,omitempty" jsonschema:"maxLength=512"`                           // the rule that asks
	Subject       json.RawMessage `json:"subject,omitempty"`                                                   // the tool call, the budget, …
	ContextDigest string          `json:"contextDigest,omitempty" jsonschema:"maxLength=80"`                   // an answer holds for this context alone
	Deadline      Timestamp       `json:"deadline,omitempty"`                                                  // absent: none
	Default       string          `json:"default,omitempty" jsonschema:"maxLength=64"`                         // what the deadline decides: deny
	MayAnswer     []string        `json:"mayAnswer,omitempty"`                                                 // absent: any operator
	State         string          `json:"state,omitempty" jsonschema:"enum=open,enum=answered,enum=dismissed"` // absent: open
	Answer        json.RawMessage `json:"answer,omitempty"`
	AnsweredBy    string          `json:"answeredBy,omitempty" jsonschema:"maxLength=512"`
	OpenedAt      Timestamp       `json:"openedAt,omitempty"`
	ClosedAt      Timestamp       `json:"closedAt,omitempty"`
}

// A ContextCompaction is one time that a conversation was shortened.
type ContextCompaction struct {
	Schema       string    `json:"schema,omitempty"`
	ID           string    `json:"id" jsonschema:"minLength=1,maxLength=512"`
	Turn         int       `json:"turn,omitempty" jsonschema:"minimum=0"`
	SubagentID   string    `json:"subagentId,omitempty" jsonschema:"maxLength=512"`
	Reason       string    `json:"reason" jsonschema:"minLength=1,maxLength=64"` // share_reached, context_error, or the agent's own
	TokensBefore int64     `json:"tokensBefore,omitempty" jsonschema:"minimum=0"`
	TokensAfter  int64     `json:"tokensAfter,omitempty" jsonschema:"minimum=0"`
	Carried      []string  `json:"carried,omitempty"` // what went over word for word, by name
	SummarySHA   string    `json:"summaryDigest,omitempty" jsonschema:"maxLength=80"`
	At           Timestamp `json:"at,omitempty"`
}

// The states of a SubagentRun.
const (
	SubagentRunning   = "running"
	SubagentCompleted = "completed"
	SubagentFailed    = "failed"
	SubagentCancelled = "cancelled"
)

// A SubagentRun is work that an agent delegated, within bounds that it drew from its own.
type SubagentRun struct {
	Schema     string    `json:"schema,omitempty"`
	ID         string    `json:"id" jsonschema:"minLength=1,maxLength=512"`
	ParentID   string    `json:"parentId,omitempty" jsonschema:"maxLength=512"` // absent: the attempt's own agent
	CallID     string    `json:"callId,omitempty" jsonschema:"maxLength=512"`   // the tool call that made it
	Goal       string    `json:"goal"`
	Depth      int       `json:"depth" jsonschema:"minimum=1"`
	Tools      []string  `json:"tools,omitempty"`
	MaxTurns   int       `json:"maxTurns,omitempty" jsonschema:"minimum=0"`
	State      string    `json:"state" jsonschema:"enum=running,enum=completed,enum=failed,enum=cancelled"`
	Summary    string    `json:"summary,omitempty"`
	Turns      int       `json:"turns,omitempty" jsonschema:"minimum=0"`
	Usage      *Usage    `json:"usage,omitempty"`
	JournalRef string    `json:"journalRef,omitempty"` // its own journal, in the evidence
	StartedAt  Timestamp `json:"startedAt,omitempty"`
	EndedAt    Timestamp `json:"endedAt,omitempty"`
}

// PolicyEffect is what a policy says.
type PolicyEffect string

// The effects.
const (
	PolicyAllow PolicyEffect = "allow"
	PolicyDeny  PolicyEffect = "deny"
	PolicyAsk   PolicyEffect = "ask"
)

// PolicyEffects lists every effect.
var PolicyEffects = []PolicyEffect{PolicyAllow, PolicyDeny, PolicyAsk}

// The boundaries at which policy decides.
const (
	BoundaryTool = "tool"
	BoundaryStop = "stop"
)

// How a PolicyDecision is held.
const (
	HeldEnforced = "enforced" // deed stood at the boundary
	HeldDeclared = "declared" // the agent was told, and is on its honour
)

// A PolicyDecision is one answer of the policy, with the rule and the reason for it.
type PolicyDecision struct {
	Schema   string       `json:"schema,omitempty"`
	ID       string       `json:"id" jsonschema:"minLength=1,maxLength=512"`
	Boundary string       `json:"boundary" jsonschema:"enum=tool,enum=stop"`
	Turn     int          `json:"turn,omitempty" jsonschema:"minimum=0"`
	CallID   string       `json:"callId,omitempty" jsonschema:"maxLength=512"`
	Tool     string       `json:"tool,omitempty" jsonschema:"maxLength=512"`
	Subject  string       `json:"subject,omitempty"` // the path, host or command that was decided on
	Effect   PolicyEffect `json:"effect"`
	Rule     string       `json:"rule" jsonschema:"minLength=1,maxLength=512"` // a rule, a hook, or default
	Reason   string       `json:"reason,omitempty"`
	By       string       `json:"by,omitempty" jsonschema:"maxLength=512"` // who answered, where a person was asked
	ActionID string       `json:"actionId,omitempty" jsonschema:"maxLength=512"`
	Held     string       `json:"held,omitempty" jsonschema:"enum=enforced,enum=declared"`
	At       Timestamp    `json:"at,omitempty"`
}
