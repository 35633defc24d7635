package schema

import (
	"fmt"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema/internal/jsonschema"
)

// A Payload checks the payloads of one task type against a schema that its author wrote. It is safe for concurrent
// use.
type Payload struct {
	compiled *jsonschema.Schema
}

// CompilePayload compiles a JSON Schema of the draft 2020-12. A schema must stand alone: a reference to a file or to
// the network is refused, never fetched. All faults of the schema are reported at once as fault.Faults, with paths in
// the schema.
func CompilePayload(schema []byte) (*Payload, error) {
	s, err := compile(schema)
	if err != nil {
		return nil, fmt.Errorf("compile payload schema: %w", err)
	}
	return &Payload{compiled: s}, nil
}

// Check returns every fault of a payload as fault.Faults, with paths from the payload's own root.
func (p *Payload) Check(payload []byte) error {
	if err := wellFormed(payload); err != nil {
		return err
	}
	return against(p.compiled, payload)
}

// compile compiles one document that stands alone.
func compile(doc []byte) (*jsonschema.Schema, error) {
	if err := wellFormed(doc); err != nil {
		return nil, err
	}
	v, err := jsonschema.Parse(doc)
	if err != nil {
		return nil, fault.Faults{{Path: fault.Root, Code: fault.InvalidJSON, Message: err.Error()}}
	}
	return jsonschema.Compile(v)
}

// against checks data, which must be well-formed JSON.
func against(s *jsonschema.Schema, data []byte) error {
	v, err := jsonschema.Parse(data)
	if err != nil {
		return fault.Faults{{Path: fault.Root, Code: fault.InvalidJSON, Message: err.Error()}}
	}
	return s.Check(v)
}
