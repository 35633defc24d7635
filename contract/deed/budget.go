package deed

// A Budget bounds what one task may use, over all its attempts and recovery turns. What is absent is no bound.
type Budget struct {
	Turns       int     `json:"turns,omitempty" jsonschema:"minimum=0,maximum=1000000"`
	ToolCalls   int     `json:"tool_calls,omitempty" jsonschema:"minimum=0,maximum=10000000"`
	Tokens      int64   `json:"tokens,omitempty" jsonschema:"minimum=0"` // input and output together
	CostUSD     float64 `json:"cost_usd,omitempty" jsonschema:"minimum=0"`
	WallSeconds int64   `json:"wall_seconds,omitempty" jsonschema:"minimum=0,maximum=604800"` // of the agent, checks not included
}

// IsZero reports whether nothing is bounded.
func (b Budget) IsZero() bool { return b == Budget{} }
