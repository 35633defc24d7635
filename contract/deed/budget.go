package deed

import (
	"fmt"
	"math"

	"github.com/deedrun/deed/contract/fault"
)

// A Budget bounds what one task may use, over all its attempts and recovery turns. What is absent is no bound.
type Budget struct {
	Turns       int     `json:"turns,omitempty" jsonschema:"minimum=0,maximum=1000000"`
	ToolCalls   int     `json:"tool_calls,omitempty" jsonschema:"minimum=0,maximum=10000000"`
	Tokens      int64   `json:"tokens,omitempty" jsonschema:"minimum=0,maximum=1000000000000000"` // input and output together
	CostUSD     float64 `json:"cost_usd,omitempty" jsonschema:"minimum=0,maximum=1000000"`
	WallSeconds int64   `json:"wall_seconds,omitempty" jsonschema:"minimum=0,maximum=604800"` // of the agent, checks not included
}

// Bounds of a Budget.
const (
	MaxBudgetTurns     = 1_000_000
	MaxBudgetToolCalls = 10_000_000
	MaxBudgetTokens    = 1_000_000_000_000_000
	MaxBudgetCostUSD   = 1_000_000
)

// microUSD is how many millionths make a dollar: deed counts money in them, as whole numbers.
const microUSD = 1_000_000

// IsZero reports whether nothing is bounded.
func (b Budget) IsZero() bool { return b == Budget{} }

// CostMicroUSD is the bound on money in millionths of a dollar, 0 for none.
func (b Budget) CostMicroUSD() int64 { return int64(math.Round(b.CostUSD * microUSD)) }

// Over is the budget with the bounds of other where it has none of its own.
func (b Budget) Over(other Budget) Budget {
	or(&b.Turns, other.Turns)
	or(&b.ToolCalls, other.ToolCalls)
	or(&b.Tokens, other.Tokens)
	or(&b.CostUSD, other.CostUSD)
	or(&b.WallSeconds, other.WallSeconds)
	return b
}

func or[T comparable](dst *T, v T) {
	var zero T
	if *dst == zero {
		*dst = v
	}
}

// Validate returns every fault of the record.
func (b Budget) Validate() error {
	var l fault.List
	l.Between("$.turns", int64(b.Turns), 0, MaxBudgetTurns)
	l.Between("$.tool_calls", int64(b.ToolCalls), 0, MaxBudgetToolCalls)
	l.Between("$.tokens", b.Tokens, 0, MaxBudgetTokens)
	l.Between("$.wall_seconds", b.WallSeconds, 0, MaxTimeoutSeconds)
	switch c := b.CostUSD; {
	case !(c >= 0 && c <= MaxBudgetCostUSD): // not a number is neither
		l.Add("$.cost_usd", fault.OutOfRange, fmt.Sprintf("%v is out of range", c), fmt.Sprintf("use 0 to %d dollars", MaxBudgetCostUSD))
	case c > 0 && b.CostMicroUSD() == 0:
		l.Add("$.cost_usd", fault.OutOfRange, fmt.Sprintf("%v is less than deed can count", c), "use at least 0.000001 dollars, or leave it out for no bound")
	}
	return l.Err()
}
