package schema

import (
	"bytes"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/deedrun/deed/contract/fault"
)

// A Payload checks the payloads of one task type against a schema that its author wrote. It is safe for concurrent
// use.
type Payload struct {
	compiled *jsonschema.Schema
}

// CompilePayload compiles a JSON Schema, 2020-12 unless it says otherwise. A schema must stand alone: a reference to
// a file or to the network is refused, never fetched.
func CompilePayload(schema []byte) (*Payload, error) {
	if err := wellFormed(schema); err != nil {
		return nil, fmt.Errorf("read payload schema: %w", err)
	}
	s, err := compile("payload", schema)
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
func compile(name string, doc []byte) (*jsonschema.Schema, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	url := "deed:///" + name
	if err := c.AddResource(url, v); err != nil {
		return nil, err
	}
	return c.Compile(url)
}

// noLoader refuses every reference out of a schema: reading a record never opens a file or a connection.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is outside this schema, and a schema must stand alone", url)
}

// against validates data, which must be well-formed JSON.
func against(s *jsonschema.Schema, data []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return fault.Faults{{Path: fault.Root, Code: fault.InvalidJSON, Message: err.Error()}}
	}
	return translate(s.Validate(v), v)
}
