package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/deedrun/deed/contract/fault"
)

const (
	draft = "https://json-schema.org/draft/2020-12/schema"
	// base is the address of a schema that is being compiled. Nothing can be loaded from it.
	base = "deed:///schema"
)

// maxSubschemas bounds a schema. The time to compile one grows with the square of this number, and ten thousand take
// about a second.
const maxSubschemas = 10_000

// A validator is a compiled schema with the document that it was compiled from, which knows the names for remedies.
type validator struct {
	schema *jsonschema.Schema
	doc    any
}

// compile compiles one document that stands alone.
func compile(doc []byte) (*validator, error) {
	if err := wellFormed(doc); err != nil {
		return nil, err
	}
	v, values, err := parse(doc)
	if err != nil {
		return nil, err
	}
	if values > maxSubschemas {
		return nil, one(fault.Root, fault.OutOfRange, fmt.Sprintf("has %d objects and truth values", values), fmt.Sprintf("use at most %d", maxSubschemas))
	}
	if m, ok := v.(map[string]any); ok {
		if names, ok := m["$schema"].(string); ok && strings.TrimSuffix(names, "#") != draft {
			return nil, one(fault.Field(fault.Root, "$schema"), fault.NotAllowed, shown(names)+" is not supported here", "write "+draft)
		}
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	if err := c.AddResource(base, v); err != nil {
		return nil, err
	}
	s, err := c.Compile(base)
	if err != nil {
		return nil, translateCompile(err, v)
	}
	return &validator{schema: s, doc: v}, nil
}

// errOutside is why a reference out of a schema is refused.
var errOutside = errors.New("is outside this schema, and a schema must stand alone")

// noLoader refuses every reference out of a schema: reading a record never opens a file or a connection.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errOutside }

// against validates data, which must be well-formed JSON.
func against(s *validator, data []byte) error {
	v, _, err := parse(data)
	if err != nil {
		return err
	}
	return translate(s.schema.Validate(v), v, s.doc)
}

// parse reads one JSON value with its numbers as they are written, and counts its objects and truth values.
func parse(data []byte) (v any, values int, err error) {
	v, err = jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, 0, one(fault.Root, fault.InvalidJSON, err.Error(), "")
	}
	return bounded(v, &values), values, nil
}

// bounded replaces the numbers of a value that the validator cannot take, and counts what could be a schema.
func bounded(v any, values *int) any {
	switch v := v.(type) {
	case bool:
		*values++
	case json.Number:
		return clamp(v)
	case []any:
		for i, e := range v {
			v[i] = bounded(e, values)
		}
	case map[string]any:
		*values++
		for k, e := range v {
			v[k] = bounded(e, values)
		}
	}
	return v
}

// clamp keeps exponents within maxExponent. The validator compares exact fractions: it would write 1e999999 out in
// full, and it panics on 1e9999999. What is beyond is beyond every bound that a schema can reasonably set, and stays so.
func clamp(n json.Number) json.Number {
	const maxExponent = 1000
	s := string(n)
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return n
	}
	if e, err := strconv.Atoi(s[i+1:]); err == nil && e >= -maxExponent && e <= maxExponent {
		return n
	}
	if strings.Trim(s[:i], "-0.") == "" {
		return "0"
	}
	limit := json.Number("1e" + strconv.Itoa(2*maxExponent))
	if s[i+1] == '-' {
		limit = json.Number("1e-" + strconv.Itoa(2*maxExponent))
	}
	if s[0] == '-' {
		limit = "-" + limit
	}
	return limit
}

func one(path, code, message, remedy string) error {
	return fault.Faults{{Path: path, Code: code, Message: message, Remedy: remedy}}
}
