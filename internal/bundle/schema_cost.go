package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A payload schema is a program that a stranger wrote: a few hundred bytes of references can ask for 2^35 evaluations, and
// the validator cannot be stopped. So the work is bounded before it begins. A step is about what the validator does in a
// microsecond.
const (
	// schemaBudget is how many steps all payload schemas of one bundle may take.
	schemaBudget = 1_000_000
	// maxInPlace is how many schemas may follow each other on the same value; each looks through those before it.
	maxInPlace = 200
	// maxNesting bounds the validator's stack.
	maxNesting = 5_000
)

var (
	errSchemaBudget  = fmt.Errorf("checking it could take more than %d steps, counted over all payload schemas of the bundle", schemaBudget)
	errSchemaNesting = fmt.Errorf("its references and the payload nest deeper than %d on one value or %d in all", maxInPlace, maxNesting)
	errSchemaDynamic = errors.New("the cost of $recursiveRef, of a $dynamicAnchor used twice and of one named meta cannot be bounded")
)

// A meter counts what a schema and a payload could cost. The first fault that it meets stays.
type meter struct {
	left    int
	fault   error
	anchors map[string]bool
	insts   map[string]int // instructions of each pattern
}

func newMeter() *meter {
	return &meter{left: schemaBudget, anchors: map[string]bool{}, insts: map[string]int{}}
}

// spend reports whether n steps were left.
func (m *meter) spend(n int) bool {
	m.left -= n
	if m.left < 0 {
		m.left = 0
		m.refuse(errSchemaBudget)
	}
	return m.fault == nil
}

func (m *meter) refuse(err error) {
	if m.fault == nil {
		m.fault = err
	}
}

// schema charges for compiling doc, which takes time by the square of its subschemas, and returns it with every number
// replaced by one: what refers to what stays, and no number can cost anything.
func (m *meter) schema(doc []byte) (any, error) {
	m.fault = nil
	clear(m.anchors)
	if !m.spend(len(doc) / 16) {
		return nil, m.fault
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return nil, err
	}
	subschemas := 0
	v = m.plan(v, &subschemas)
	m.spend(subschemas * subschemas / 100)
	return v, m.fault
}

func (m *meter) plan(v any, subschemas *int) any {
	switch v := v.(type) {
	case bool:
		*subschemas++
	case json.Number:
		m.spend(digits(v))
		return json.Number("1")
	case []any:
		for i, e := range v {
			v[i] = m.plan(e, subschemas)
		}
	case map[string]any:
		*subschemas++
		if name, ok := v["$dynamicAnchor"].(string); ok {
			if m.anchors[name] || name == "meta" {
				m.refuse(errSchemaDynamic)
			}
			m.anchors[name] = true
		}
		if p, ok := v["pattern"].(string); ok {
			m.pattern(p)
		}
		if ps, ok := v["patternProperties"].(map[string]any); ok {
			for p := range ps {
				m.pattern(p)
			}
		}
		for k, e := range v {
			v[k] = m.plan(e, subschemas)
		}
	}
	return v
}

// pattern charges for compiling a pattern. Seven characters of a counted repetition can make a thousand instructions.
func (m *meter) pattern(p string) {
	if strings.Contains(p, "{") {
		m.spend(100 * len(p))
	}
}

// digits is what a number costs: it is made an exact fraction in time by the square of its length.
func digits(n json.Number) int { return 1 + len(n)/32*(len(n)/32) }

// payload walks a schema over a payload as the validator would if it took every branch, and charges for each visit.
func (m *meter) payload(doc any, payload []byte) error {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noSchemas{})
	const base = "deed:///cost"
	if err := c.AddResource(base, doc); err != nil {
		return err
	}
	s, err := c.Compile(base)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(payload))
	if err != nil {
		return err
	}
	m.visit(s, v, visitAt{})
	return m.fault
}

// noSchemas loads nothing: reading a bundle never opens a connection.
type noSchemas struct{}

func (noSchemas) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is outside the schema", url)
}

// A visitAt is where in the walk a visit happens.
type visitAt struct {
	inPlace int // schemas on this value before this one
	nesting int // visits around this one
	depth   int // of the value in the payload
}

func (at visitAt) here() visitAt { return visitAt{at.inPlace + 1, at.nesting + 1, at.depth} }

func (at visitAt) below() visitAt { return visitAt{0, at.nesting + 1, at.depth + 1} }

func (m *meter) visit(s *jsonschema.Schema, v any, at visitAt) {
	if s == nil || m.fault != nil {
		return
	}
	if at.inPlace > maxInPlace || at.nesting > maxNesting {
		m.refuse(errSchemaNesting)
		return
	}
	// A fault carries the path to its value.
	if !m.spend(1 + at.depth/4) {
		return
	}
	if strings.HasPrefix(s.Location, "https://json-schema.org/draft/") || strings.HasPrefix(s.Location, "http://json-schema.org/draft-") {
		m.weigh(v, 100) // a schema of schemas visits each value a fixed number of times
		return
	}
	if s.RecursiveRef != nil {
		m.refuse(errSchemaDynamic)
		return
	}
	m.assertions(s, v)
	m.inPlace(s, v, at.here())
	switch v := v.(type) {
	case map[string]any:
		m.members(s, v, at.below())
	case []any:
		m.elements(s, v, at.below())
	}
}

// assertions charges for the keywords that compare values.
func (m *meter) assertions(s *jsonschema.Schema, v any) {
	if s.Const != nil {
		m.weigh(v, 1)
	}
	if s.Enum != nil {
		m.weigh(v, len(s.Enum.Values))
	}
	switch v := v.(type) {
	case string:
		m.spend(len(v) / 256)
		if s.Pattern != nil {
			m.match(s.Pattern, v)
		}
	case json.Number:
		m.spend(digits(v))
	case []any:
		m.spend(len(v) / 8)
		if s.UniqueItems {
			m.weigh(v, 20) // up to twenty elements are compared pair by pair, more by their hashes
		}
	case map[string]any:
		m.spend(len(v)/8 + len(s.Required)/8 + len(s.DependentRequired))
		for name, required := range s.DependentRequired {
			if _, ok := v[name]; ok {
				m.spend(len(required) / 8)
			}
		}
	}
}

func (m *meter) inPlace(s *jsonschema.Schema, v any, at visitAt) {
	for _, sub := range []*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else} {
		m.visit(sub, v, at)
	}
	if s.DynamicRef != nil {
		m.visit(s.DynamicRef.Ref, v, at) // names are unique, so it leads nowhere else
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, sub := range list {
			m.visit(sub, v, at)
		}
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return
	}
	m.spend(len(s.DependentSchemas)/8 + len(s.Dependencies))
	for name, sub := range s.DependentSchemas {
		if _, ok := obj[name]; ok {
			m.visit(sub, v, at)
		}
	}
	for name, dep := range s.Dependencies {
		if _, ok := obj[name]; ok {
			m.either(dep, v, at)
		}
	}
}

func (m *meter) members(s *jsonschema.Schema, obj map[string]any, at visitAt) {
	for name, v := range obj {
		if m.fault != nil {
			return
		}
		m.visit(s.Properties[name], v, at)
		for p, sub := range s.PatternProperties {
			if m.match(p, name) && p.MatchString(name) {
				m.visit(sub, v, at)
			}
		}
		m.either(s.AdditionalProperties, v, at)
		m.visit(s.UnevaluatedProperties, v, at)
		m.visit(s.PropertyNames, name, at)
	}
}

func (m *meter) elements(s *jsonschema.Schema, list []any, at visitAt) {
	for i, v := range list {
		if m.fault != nil {
			return
		}
		if i < len(s.PrefixItems) {
			m.visit(s.PrefixItems[i], v, at)
		}
		if tuple, ok := s.Items.([]*jsonschema.Schema); ok && i < len(tuple) {
			m.visit(tuple[i], v, at)
		}
		m.either(s.Items, v, at)
		m.either(s.AdditionalItems, v, at)
		for _, sub := range []*jsonschema.Schema{s.Items2020, s.Contains, s.UnevaluatedItems} {
			m.visit(sub, v, at)
		}
	}
}

// either visits what is a schema in a field that can hold something else.
func (m *meter) either(field, v any, at visitAt) {
	if sub, ok := field.(*jsonschema.Schema); ok {
		m.visit(sub, v, at)
	}
}

// match charges for matching a pattern, which takes time by the product of its instructions and the text, and reports
// whether it may be done.
func (m *meter) match(p jsonschema.Regexp, text string) bool {
	n, ok := m.insts[p.String()]
	if !ok {
		n = len(p.String())
		if re, err := syntax.Parse(p.String(), syntax.Perl); err == nil {
			if prog, err := syntax.Compile(re.Simplify()); err == nil {
				n = len(prog.Inst)
			}
		}
		m.insts[p.String()] = n
	}
	return m.spend(1 + n*len(text)/256)
}

// weigh charges for looking at the whole of a value, so many times.
func (m *meter) weigh(v any, times int) {
	switch v := v.(type) {
	case string:
		m.spend(times * (1 + len(v)/256))
	case json.Number:
		m.spend(times * digits(v))
	case []any:
		m.spend(times)
		for _, e := range v {
			if m.fault != nil {
				return
			}
			m.weigh(e, times)
		}
	case map[string]any:
		m.spend(times)
		for _, e := range v {
			if m.fault != nil {
				return
			}
			m.weigh(e, times)
		}
	default:
		m.spend(times)
	}
}
