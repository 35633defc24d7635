package jsonschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// Parse reads one JSON value with its numbers as they are written.
func Parse(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more follows the one JSON value")
	}
	return v, nil
}

// Compile compiles a schema, as Parse returns it, and returns every fault in it as fault.Faults, with paths in the
// schema document.
func Compile(doc any) (*Schema, error) {
	c := &compiler{nodes: map[string]*node{}, index: newIndex(doc)}
	root := c.compile(doc, fault.Root, home)
	for len(c.pending) > 0 {
		next := c.pending[0]
		c.pending = c.pending[1:]
		next()
	}
	if c.faults.Len() == 0 {
		c.loops()
	}
	if err := c.faults.Err(); err != nil {
		return nil, err
	}
	s := &Schema{root: root}
	for _, n := range c.nodes {
		s.track = s.track || n.unevaluatedItems != nil || n.unevaluatedProps != nil
	}
	return s, nil
}

type compiler struct {
	index   *index
	nodes   map[string]*node // by path in the document
	pending []func()         // references, resolved when all else is known
	faults  fault.List
}

func (c *compiler) wrong(at, message string) { c.faults.Add(at, fault.BadFormat, message, "") }

// compile returns the node of a subschema, which is made once however often it is referred to.
func (c *compiler) compile(v any, at, base string) *node {
	if n := c.nodes[at]; n != nil {
		return n
	}
	n := &node{
		at: at, minLength: -1, maxLength: -1, minItems: -1, maxItems: -1, minContains: -1, maxContains: -1,
		minProperties: -1, maxProperties: -1,
	}
	c.nodes[at] = n
	switch v := v.(type) {
	case bool:
		n.always = &v
	case map[string]any:
		if b, ok := c.index.baseAt[at]; ok {
			base = b
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			c.keyword(n, key, v[key], fault.Field(at, key), base)
		}
	default:
		c.wrong(at, "is not a schema: an object, true or false is needed")
	}
	return n
}

// keyword compiles the keywords that hold no schemas.
func (c *compiler) keyword(n *node, key string, v any, at, base string) {
	switch key {
	case "$schema":
		if s, ok := v.(string); !ok || strings.TrimSuffix(s, "#") != Draft {
			c.wrong(at, fmt.Sprintf("%s is not supported here; write %s", show(v), Draft))
		}
	case "$ref":
		if s, ok := c.text(v, at); ok {
			c.pending = append(c.pending, func() { c.refer(n, s, at, base) })
		}
	case "$dynamicRef", "$recursiveRef":
		c.wrong(at, "is not supported here; use $ref")
	case "type":
		n.types = c.types(v, at)
	case "enum":
		list, ok := v.([]any)
		if !ok {
			c.wrong(at, "is not a list")
		}
		n.enum = append([]any{}, list...)
	case "const":
		n.constant = &v
	case "format":
		n.format, _ = c.text(v, at)
	case "pattern":
		n.pattern = c.regexp(v, at)
	case "minimum":
		n.minimum = c.number(v, at)
	case "maximum":
		n.maximum = c.number(v, at)
	case "exclusiveMinimum":
		n.exclusiveMinimum = c.number(v, at)
	case "exclusiveMaximum":
		n.exclusiveMaximum = c.number(v, at)
	case "multipleOf":
		n.multipleOf = c.number(v, at)
		if n.multipleOf != nil && n.multipleOf.Sign() <= 0 {
			c.wrong(at, "is not more than 0")
		}
	case "minLength":
		n.minLength = c.count(v, at)
	case "maxLength":
		n.maxLength = c.count(v, at)
	case "minItems":
		n.minItems = c.count(v, at)
	case "maxItems":
		n.maxItems = c.count(v, at)
	case "minContains":
		n.minContains = c.count(v, at)
	case "maxContains":
		n.maxContains = c.count(v, at)
	case "minProperties":
		n.minProperties = c.count(v, at)
	case "maxProperties":
		n.maxProperties = c.count(v, at)
	case "uniqueItems":
		b, ok := v.(bool)
		if !ok {
			c.wrong(at, "is not true or false")
		}
		n.uniqueItems = b
	case "required":
		n.required = c.texts(v, at)
	case "dependentRequired":
		n.dependentRequired = map[string][]string{}
		c.each(v, at, func(name string, v any, at string) { n.dependentRequired[name] = c.texts(v, at) })
	default:
		c.applicator(n, key, v, at, base)
	}
}

// applicator compiles the keywords that hold schemas. Everything else is an annotation, as the draft says.
func (c *compiler) applicator(n *node, key string, v any, at, base string) {
	one := func() *node { return c.compile(v, at, base) }
	switch key {
	case "items":
		if _, ok := v.([]any); ok {
			c.wrong(at, "is a list; in this draft that is prefixItems")
			return
		}
		n.items = one()
	case "contains":
		n.contains = one()
	case "unevaluatedItems":
		n.unevaluatedItems = one()
	case "additionalProperties":
		n.additionalProperties = one()
	case "propertyNames":
		n.propertyNames = one()
	case "unevaluatedProperties":
		n.unevaluatedProps = one()
	case "not":
		n.not = one()
	case "if":
		n.cond = one()
	case "then":
		n.yes = one()
	case "else":
		n.no = one()
	case "prefixItems":
		n.prefixItems = c.schemas(v, at, base)
	case "allOf":
		n.allOf = c.schemas(v, at, base)
	case "anyOf":
		n.anyOf = c.schemas(v, at, base)
	case "oneOf":
		n.oneOf = c.schemas(v, at, base)
	case "properties":
		n.properties = map[string]*node{}
		c.each(v, at, func(name string, v any, at string) { n.properties[name] = c.compile(v, at, base) })
	case "patternProperties":
		c.each(v, at, func(name string, v any, at string) {
			if re := c.regexp(name, at); re != nil {
				n.patternProperties = append(n.patternProperties, patternNode{re, c.compile(v, at, base)})
			}
		})
	case "dependentSchemas":
		n.dependentSchemas = map[string]*node{}
		c.each(v, at, func(name string, v any, at string) { n.dependentSchemas[name] = c.compile(v, at, base) })
	case "$defs", "definitions":
		c.each(v, at, func(_ string, v any, at string) { c.compile(v, at, base) })
	}
}

// each calls f for every member of an object, in the order of names.
func (c *compiler) each(v any, at string, f func(name string, v any, at string)) {
	m, ok := v.(map[string]any)
	if !ok {
		c.wrong(at, "is not an object")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		f(name, m[name], fault.Field(at, name))
	}
}

func (c *compiler) schemas(v any, at, base string) []*node {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		c.wrong(at, "is not a list of schemas")
		return nil
	}
	out := make([]*node, len(list))
	for i, e := range list {
		out[i] = c.compile(e, fault.Index(at, i), base)
	}
	return out
}

var typeWords = []string{"null", "boolean", "object", "array", "number", "string", "integer"}

func (c *compiler) types(v any, at string) []string {
	words := []string{}
	if s, ok := v.(string); ok {
		words = append(words, s)
	} else {
		words = c.texts(v, at)
	}
	for _, w := range words {
		fault.OneOf(&c.faults, at, w, typeWords...)
	}
	return words
}

func (c *compiler) text(v any, at string) (string, bool) {
	s, ok := v.(string)
	if !ok {
		c.wrong(at, "is not a string")
	}
	return s, ok
}

func (c *compiler) texts(v any, at string) []string {
	list, ok := v.([]any)
	if !ok {
		c.wrong(at, "is not a list of strings")
		return nil
	}
	out := make([]string, 0, len(list))
	for i, e := range list {
		if s, ok := c.text(e, fault.Index(at, i)); ok {
			out = append(out, s)
		}
	}
	return out
}

func (c *compiler) regexp(v any, at string) *regexp.Regexp {
	s, ok := c.text(v, at)
	if !ok {
		return nil
	}
	re, err := regexp.Compile(s)
	if err != nil {
		c.wrong(at, fmt.Sprintf("%s is not a pattern that can be used: %v", show(s), err))
		return nil
	}
	return re
}

func (c *compiler) number(v any, at string) *big.Rat {
	n, ok := v.(json.Number)
	if !ok {
		c.wrong(at, "is not a number")
		return nil
	}
	r, ok := rational(n)
	if !ok {
		c.wrong(at, "is a number out of all bounds")
	}
	return r
}

func (c *compiler) count(v any, at string) int {
	if n, ok := v.(json.Number); ok {
		if r, ok := rational(n); ok && r.IsInt() && r.Sign() >= 0 && r.Num().IsInt64() && r.Num().Int64() < 1<<31 {
			return int(r.Num().Int64())
		}
	}
	c.wrong(at, "is not a whole number from 0 on")
	return -1
}

// loops refuses a schema that applies to a value what applies to the same value, without end.
func (c *compiler) loops() {
	const open, done = 1, 2
	state := map[*node]int{}
	var visit func(n *node) bool
	visit = func(n *node) bool {
		switch state[n] {
		case open:
			c.wrong(n.at, "refers to itself without end")
			return false
		case done:
			return true
		}
		state[n] = open
		for _, m := range n.inPlace() {
			if !visit(m) {
				return false
			}
		}
		state[n] = done
		return true
	}
	for _, at := range slices.Sorted(maps.Keys(c.nodes)) {
		if !visit(c.nodes[at]) {
			return
		}
	}
}
