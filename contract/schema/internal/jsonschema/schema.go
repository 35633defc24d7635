// Package jsonschema checks JSON values against schemas of JSON Schema 2020-12 and reports every fault with its
// path. It owns compiling and checking; it never opens a file or a connection, so a schema must stand alone.
//
// deed has its own checker because of what others cost or leave out: compiling all meta-schemas when the program
// starts takes longer than everything else that a short command does, and the first fault alone does not help an
// author. The tests hold it to the official test suite and to an established validator.
//
// Known formats are asserted. Not supported, and refused by name when a schema is compiled: other drafts,
// references out of the schema, and $dynamicRef.
package jsonschema

import (
	"math/big"
	"regexp"
)

// Draft is the one dialect.
const Draft = "https://json-schema.org/draft/2020-12/schema"

// A Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	root  *node
	track bool // some subschema asks what the others have looked at
}

// A node is one subschema. Absent limits are -1.
type node struct {
	at     string // its path in the schema document
	always *bool  // a schema that is true or false

	types    []string
	enum     []any
	constant *any
	format   string

	minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf *big.Rat

	minLength, maxLength int
	pattern              *regexp.Regexp

	prefixItems              []*node
	items, contains          *node
	minItems, maxItems       int
	minContains, maxContains int
	uniqueItems              bool
	unevaluatedItems         *node

	properties           map[string]*node
	patternProperties    []patternNode
	additionalProperties *node
	propertyNames        *node
	required             []string
	dependentRequired    map[string][]string
	dependentSchemas     map[string]*node
	minProperties        int
	maxProperties        int
	unevaluatedProps     *node

	allOf, anyOf, oneOf []*node
	not, cond, yes, no  *node
	ref                 *node
}

type patternNode struct {
	re   *regexp.Regexp
	node *node
}

// inPlace returns the subschemas that apply to the same value.
func (n *node) inPlace() []*node {
	all := append(append(append([]*node{}, n.allOf...), n.anyOf...), n.oneOf...)
	for _, m := range []*node{n.not, n.cond, n.yes, n.no, n.ref} {
		if m != nil {
			all = append(all, m)
		}
	}
	for _, m := range n.dependentSchemas {
		all = append(all, m)
	}
	return all
}
