package schema

import (
	"fmt"

	"github.com/deedrun/deed/contract/schema/internal/draft"
)

// A Payload checks the payloads of one task type against a schema that its author wrote. It is safe for concurrent
// use.
type Payload struct {
	compiled *draft.Schema
}

// ownSteps bounds what one schema that an operator wrote may take: some ten seconds.
const ownSteps = 10_000_000

// CompilePayload compiles a JSON Schema of the draft 2020-12. A schema must stand alone: a reference to a file or to
// the network is refused, never fetched. Its faults are reported as fault.Faults, with paths in the schema: all that
// break the draft's rules at once, else the first reference that leads nowhere. Formats are asserted.
func CompilePayload(schema []byte) (*Payload, error) {
	return CompilePayloadWithin(NewBudget(ownSteps), schema)
}

// A Budget bounds the work that payload schemas and payloads of strangers can ask for, all together. It is used by one
// goroutine.
type Budget = draft.Budget

// NewBudget makes a budget of so many steps; a step takes about a microsecond.
func NewBudget(steps int) *Budget { return draft.NewBudget(steps) }

// ErrBudget is returned when a Budget is used up.
var ErrBudget = draft.ErrBudget

// CompilePayloadWithin is CompilePayload for a schema of a stranger. The error wraps ErrBudget when the budget does not do.
func CompilePayloadWithin(b *Budget, schema []byte) (*Payload, error) {
	s, err := draft.CompileWithin(schema, b)
	if err != nil {
		return nil, fmt.Errorf("compile payload schema: %w", err)
	}
	return &Payload{compiled: s}, nil
}

// Check returns every fault of a payload as fault.Faults, with paths from the payload's own root.
func (p *Payload) Check(payload []byte) error {
	return p.CheckWithin(NewBudget(ownSteps), payload)
}

// CheckWithin is Check for a schema or a payload of a stranger. The error is ErrBudget when the budget does not do.
func (p *Payload) CheckWithin(b *Budget, payload []byte) error {
	return p.compiled.ValidateWithin(payload, b)
}
