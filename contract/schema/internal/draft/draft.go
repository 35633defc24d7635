package draft

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

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
type Schema struct {
	root    *jsonschema.Schema
	at      map[string]*jsonschema.Schema // by location
	bound   *meter                        // of a schema by a stranger, which one goroutine uses at a time
	longest int                           // way through schemas for one value
}

// Compile compiles a schema that deed trusts.
func Compile(doc []byte) (*Schema, error) {
	d, err := Parse(doc)
	if err != nil {
		return nil, err
	}
	return compile(d, nil)
}

// CompileWithin compiles the schema of a stranger. Its faults are fault.Faults, with paths in the schema: all that break the rules of
// the draft at once, else the first name or reference that is of no use. Formats are asserted. The error can be ErrBudget.
func CompileWithin(doc []byte, b *Budget) (s *Schema, err error) {
	defer stopped(&err)
	b.spend(len(doc) / 64)
	d, err := Parse(doc)
	if err != nil {
		return nil, err
	}
	b.spend(d.cost)
	if d.values > maxSubschemas {
		return nil, one(fault.Root, fault.OutOfRange, fmt.Sprintf("has %d objects and truth values", d.values), fmt.Sprintf("use at most %d", maxSubschemas))
	}
	b.spend(30 * d.values) // what the draft's own schema costs for each
	if err := supported(d.Value, fault.Root); err != nil {
		return nil, err
	}
	return compile(d, &meter{budget: b})
}

type nothingElse struct{}

func (nothingElse) Load(string) (any, error) {
	return nil, errors.New("a schema must stand alone")
}

func compile(d *Document, m *meter) (*Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(nothingElse{})
	if m != nil {
		c.UseRegexpEngine(m.compile)
	}
	if err := c.AddResource(base, d.Value); err != nil {
		return nil, refusal(d.Value, err)
	}
	root, err := c.Compile(base)
	if err != nil {
		return nil, refusal(d.Value, err)
	}
	s := &Schema{root: root, at: map[string]*jsonschema.Schema{}, bound: m}
	s.collect(root)
	for _, place := range dynamicAnchors(d.Value, "") { // dynamic references lead there, in ways that cannot be seen from here
		sub, err := c.Compile(base + "#" + place)
		if err != nil {
			return nil, refusal(d.Value, err)
		}
		s.collect(sub)
	}
	if m != nil {
		s.longest = chain(slices.Collect(maps.Values(s.at)))
		for _, sub := range s.at {
			m.charge(sub)
		}
		m.budget = nil
	}
	return s, nil
}

// collect lists a schema and all that it leads to.
func (s *Schema) collect(root *jsonschema.Schema) {
	todo := []*jsonschema.Schema{root}
	for len(todo) > 0 {
		sub := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s.at[sub.Location] != nil {
			continue
		}
		s.at[sub.Location] = sub
		todo = append(todo, sameValue(sub)...)
		todo = append(todo, eachPart(sub)...)
		todo = append(todo, sub.PrefixItems...)
		for _, p := range sub.Properties {
			todo = append(todo, p)
		}
		if sub.PropertyNames != nil {
			sub.Extensions = append(sub.Extensions, propertyNames{sub.PropertyNames})
			sub.PropertyNames = nil
		}
	}
}

// dynamicAnchors are the JSON pointers, as fragments, of all objects with one.
func dynamicAnchors(v any, at string) []string {
	var found []string
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			found = append(found, dynamicAnchors(e, at+"/"+strconv.Itoa(i))...)
		}
	case map[string]any:
		if _, ok := v["$dynamicAnchor"].(string); ok {
			found = append(found, at)
		}
		for name, e := range v {
			found = append(found, dynamicAnchors(e, at+"/"+escaped(name))...)
		}
	}
	return found
}

// Validate returns every fault of a value as fault.Faults, in the order of their places.
func (s *Schema) Validate(d *Document) (err error) {
	return s.Explain(d).Faults().Err()
}

// ValidateWithin is Validate for the schema or the value of a stranger. The error can be ErrBudget.
func (s *Schema) ValidateWithin(data []byte, b *Budget) (err error) {
	defer stopped(&err)
	b.spend(len(data) / 64)
	d, err := Parse(data)
	if err != nil {
		return err
	}
	b.spend(d.cost)
	if s.longest*(d.depth+1) > maxNesting {
		return errNesting
	}
	s.bound.mu.Lock()
	defer s.bound.mu.Unlock()
	s.bound.budget, s.bound.each = b, (1+d.depth/16)*(1+s.longest/32)
	defer func() { s.bound.budget = nil }()
	return s.Validate(d)
}

// Explain returns every fault of a value, in the order of their places.
func (s *Schema) Explain(d *Document) Findings {
	var wrong *jsonschema.ValidationError
	if !errors.As(s.root.Validate(d.Value), &wrong) {
		return nil
	}
	e := explainer{schemas: s.at, doc: d.Value}
	found := e.explain(wrong)
	sortByPlace(found)
	return found
}

// supported demands that a schema, and each schema inside of it, names this draft or none.
func supported(v any, at string) error {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			if err := supported(e, fault.Index(at, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		if names, ok := v["$schema"].(string); ok && strings.TrimSuffix(names, "#") != id {
			return one(fault.Field(at, "$schema"), fault.NotAllowed, shown(names)+" is not supported here", "write "+id)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if name == "const" || name == "enum" || name == "default" || name == "examples" {
				continue
			}
			if err := supported(v[name], fault.Field(at, name)); err != nil {
				return err
			}
		}
	}
	return nil
}
