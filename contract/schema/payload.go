package schema

import (
	"fmt"
)

// A Payload checks the payloads of one task type against a schema that its author wrote. It is safe for concurrent
// use.
type Payload struct {
	compiled *validator
}

// CompilePayload compiles a JSON Schema of the draft 2020-12. A schema must stand alone: a reference to a file or to
// the network is refused, never fetched. Its faults are reported as fault.Faults, with paths in the schema: all that
// break the draft's rules at once, else the first reference that leads nowhere. Formats are asserted.
func CompilePayload(schema []byte) (*Payload, error) {
	v, err := compile(schema)
	if err != nil {
		return nil, fmt.Errorf("compile payload schema: %w", err)
	}
	return &Payload{compiled: v}, nil
}

// Check returns every fault of a payload as fault.Faults, with paths from the payload's own root.
func (p *Payload) Check(payload []byte) error {
	if err := wellFormed(payload); err != nil {
		return err
	}
	return against(p.compiled, payload)
}
