// Package draft owns JSON Schema, draft 2020-12: compiling a schema that stands alone, and validating values against it with
// every fault at once, in deed's words. It loads nothing from outside. Whether a text is well-formed JSON is looked at before.
//
// A program that has it pays nothing at its start: the metaschema and every expression are compiled when they are asked for.
package draft

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

const (
	id = "https://json-schema.org/draft/2020-12/schema"
	// base is the address of a schema that has none.
	base = "deed:///schema"
)

// maxSubschemas bounds a schema.
const maxSubschemas = 10_000

// A Schema is a compiled schema. It is safe for concurrent use.
type Schema struct{ root *node }

// Compile compiles one document that stands alone, and is well-formed JSON. Its faults are fault.Faults, with paths in the
// schema: all that break the rules of the draft at once, else the first name or reference that is of no use. Formats are asserted.
// With a budget, which may be nil, the error can be ErrBudget.
func Compile(doc []byte, b *Budget) (s *Schema, err error) {
	defer stopped(&err)
	v, values, err := parse(doc, b)
	if err != nil {
		return nil, err
	}
	if values > maxSubschemas {
		return nil, one(fault.Root, fault.OutOfRange, fmt.Sprintf("has %d objects and truth values", values), fmt.Sprintf("use at most %d", maxSubschemas))
	}
	if m, ok := v.(map[string]any); ok { // the rules of another draft are others
		if err := supported(m, fault.Root); err != nil {
			return nil, err
		}
	}
	if err := validate(meta(), v, b); err != nil {
		return nil, err
	}
	root, err := build(v, meta(), b)
	if err != nil {
		return nil, err
	}
	return &Schema{root}, nil
}

// Validate returns every fault of a well-formed JSON text as fault.Faults, in the order of their places. With a budget, which
// may be nil, the error can be ErrBudget.
func (s *Schema) Validate(data []byte, b *Budget) (err error) {
	defer stopped(&err)
	v, _, err := parse(data, b)
	if err != nil {
		return err
	}
	return validate(s.root, v, b)
}

// supported demands that a schema names this draft, or none.
func supported(m map[string]any, at string) error {
	names, ok := m["$schema"].(string)
	if !ok || strings.TrimSuffix(names, "#") == id {
		return nil
	}
	return one(fault.Field(at, "$schema"), fault.NotAllowed, shown(names)+" is not supported here", "write "+id)
}

// parse reads one JSON value with its numbers as they are written, and counts its objects and truth values.
func parse(data []byte, b *Budget) (v any, values int, err error) {
	b.spend(len(data) / 64)
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, 0, one(fault.Root, fault.InvalidJSON, err.Error(), "")
	}
	return bounded(v, &values, b), values, nil
}

// bounded replaces the numbers of a value that are beyond reason, and counts what could be a schema.
func bounded(v any, values *int, b *Budget) any {
	switch v := v.(type) {
	case bool:
		*values++
	case json.Number:
		b.spend(digits(string(v)))
		return clamp(v)
	case []any:
		for i, e := range v {
			v[i] = bounded(e, values, b)
		}
	case map[string]any:
		*values++
		for k, e := range v {
			v[k] = bounded(e, values, b)
		}
	}
	return v
}

// clamp keeps exponents within maxExponent. Numbers are compared as exact fractions, which would write 1e999999 out in
// full. What is beyond is beyond every bound that a schema can reasonably set, and stays so.
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
