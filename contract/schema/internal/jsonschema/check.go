package jsonschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/fault"
)

// Check returns every fault of a value, as Parse returns it, as fault.Faults.
func (s *Schema) Check(value any) error {
	c := checker{track: s.track}
	c.check(s.root, value, nil)
	return c.faults.Err()
}

// A place is where a value stands; its path is written only for a fault.
type place struct {
	up    *place
	name  string
	index int // -1 for a member
}

func (p *place) String() string {
	switch {
	case p == nil:
		return fault.Root
	case p.index >= 0:
		return fault.Index(p.up.String(), p.index)
	}
	return fault.Field(p.up.String(), p.name)
}

func (p *place) member(name string) *place { return &place{p, name, -1} }
func (p *place) entry(i int) *place        { return &place{p, "", i} }

// seen is what the subschemas of a value have looked at, for unevaluatedProperties and unevaluatedItems.
type seen struct {
	names map[string]bool
	items map[int]bool
}

func (s *seen) name(n string) {
	if s.names == nil {
		s.names = map[string]bool{}
	}
	s.names[n] = true
}

func (s *seen) item(i int) {
	if s.items == nil {
		s.items = map[int]bool{}
	}
	s.items[i] = true
}

func (s *seen) add(o seen) {
	for n := range o.names {
		s.name(n)
	}
	for i := range o.items {
		s.item(i)
	}
}

type checker struct {
	faults fault.List
	track  bool // remember what was looked at
	weight int  // how far the value is from the schema; see alternatives
}

// try applies a schema without reporting its faults here.
func (c *checker) try(n *node, v any, at *place) (seen, *checker) {
	quiet := &checker{track: c.track}
	return quiet.check(n, v, at), quiet
}

func (c *checker) holds() bool { return c.faults.Len() == 0 }

func (c *checker) fault(at *place, code, message, remedy string) {
	c.faults.Add(at.String(), code, message, remedy)
	c.weight++
}

// check applies a schema to a value, reports its faults and returns what it has looked at.
func (c *checker) check(n *node, v any, at *place) seen {
	var s seen
	if n.always != nil {
		if !*n.always {
			c.fault(at, fault.UnknownField, "is not allowed by the schema", "remove it")
		}
		return s
	}
	c.general(n, v, at)
	switch v := v.(type) {
	case string:
		c.text(n, v, at)
	case json.Number:
		c.number(n, v, at)
	case []any:
		c.list(n, v, at, &s)
	case map[string]any:
		c.object(n, v, at, &s)
	}
	c.logic(n, v, at, &s)
	switch v := v.(type) {
	case []any:
		if n.unevaluatedItems != nil {
			for i, e := range v {
				if !s.items[i] {
					c.check(n.unevaluatedItems, e, at.entry(i))
					s.item(i)
				}
			}
		}
	case map[string]any:
		if n.unevaluatedProps != nil {
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if !s.names[name] {
					c.check(n.unevaluatedProps, v[name], at.member(name))
					s.name(name)
				}
			}
		}
	}
	return s
}

func (c *checker) general(n *node, v any, at *place) {
	if n.types != nil {
		t := typeOf(v)
		if !slices.Contains(n.types, t) && (t != "integer" || !slices.Contains(n.types, "number")) {
			c.fault(at, fault.WrongType, "is "+article(t), "use "+articles(n.types))
			c.weight += 2
		}
	}
	if n.enum != nil {
		text := canonical(v)
		if !slices.ContainsFunc(n.enum, func(e any) bool { return canonical(e) == text }) {
			words := make([]string, len(n.enum))
			for i, e := range n.enum {
				words[i] = show(e)
			}
			c.fault(at, fault.NotAllowed, show(v)+" is not allowed", "use one of "+strings.Join(words, ", "))
			c.weight += 10
		}
	}
	if n.constant != nil && canonical(*n.constant) != canonical(v) {
		c.fault(at, fault.NotAllowed, show(v)+" is not allowed", "use "+show(*n.constant))
		c.weight += 10
	}
}

func article(t string) string {
	switch t {
	case "null":
		return "null"
	case "array", "integer", "object":
		return "an " + t
	}
	return "a " + t
}

func articles(types []string) string {
	words := make([]string, len(types))
	for i, t := range types {
		words[i] = article(t)
	}
	return strings.Join(words, " or ")
}

func (c *checker) text(n *node, v string, at *place) {
	if n.minLength >= 0 || n.maxLength >= 0 {
		c.count(utf8.RuneCountInString(v), n.minLength, n.maxLength, "character", at)
	}
	if n.pattern != nil && !n.pattern.MatchString(v) {
		c.fault(at, fault.BadFormat, show(v)+" does not match "+n.pattern.String(), "")
	}
	if f := formats[n.format]; f != nil && !f(v) {
		c.fault(at, fault.BadFormat, fmt.Sprintf("%s is not of the format %s", show(v), n.format), "")
	}
}

func (c *checker) count(got, low, high int, what string, at *place) {
	if got != 1 {
		what += "s"
	}
	switch {
	case low >= 0 && got < low:
		c.fault(at, fault.OutOfRange, fmt.Sprintf("has %d %s", got, what), fmt.Sprintf("use at least %d", low))
	case high >= 0 && got > high:
		c.fault(at, fault.OutOfRange, fmt.Sprintf("has %d %s", got, what), fmt.Sprintf("use at most %d", high))
	}
}

func (c *checker) number(n *node, v json.Number, at *place) {
	if n.minimum == nil && n.maximum == nil && n.exclusiveMinimum == nil && n.exclusiveMaximum == nil && n.multipleOf == nil {
		return
	}
	r, ok := rational(v)
	if !ok {
		c.fault(at, fault.OutOfRange, show(v)+" is out of all bounds", "use a number that can be compared")
		return
	}
	for _, b := range []struct {
		bound *big.Rat
		holds func(sign int) bool
		says  string
	}{
		{n.minimum, func(s int) bool { return s >= 0 }, "at least"},
		{n.maximum, func(s int) bool { return s <= 0 }, "at most"},
		{n.exclusiveMinimum, func(s int) bool { return s > 0 }, "more than"},
		{n.exclusiveMaximum, func(s int) bool { return s < 0 }, "less than"},
	} {
		if b.bound != nil && !b.holds(r.Cmp(b.bound)) {
			c.fault(at, fault.OutOfRange, show(v)+" is out of range", "use "+b.says+" "+decimal(b.bound))
		}
	}
	if n.multipleOf != nil && !new(big.Rat).Quo(r, n.multipleOf).IsInt() {
		c.fault(at, fault.OutOfRange, show(v)+" is not a multiple of "+decimal(n.multipleOf), "")
	}
}

func decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.RatString()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func (c *checker) list(n *node, v []any, at *place, s *seen) {
	c.count(len(v), n.minItems, n.maxItems, "entry", at)
	if n.uniqueItems {
		first := map[string]int{}
		for i, e := range v {
			text := canonical(e)
			if j, ok := first[text]; ok {
				c.fault(at.entry(i), fault.Duplicate, fmt.Sprintf("is the same as entry %d", j), "list it once")
				continue
			}
			first[text] = i
		}
	}
	for i, e := range v {
		switch {
		case i < len(n.prefixItems):
			c.check(n.prefixItems[i], e, at.entry(i))
		case n.items != nil:
			c.check(n.items, e, at.entry(i))
		default:
			continue
		}
		if c.track {
			s.item(i)
		}
	}
	if n.contains == nil {
		return
	}
	found := 0
	for i, e := range v {
		if _, quiet := c.try(n.contains, e, at.entry(i)); quiet.holds() {
			found++
			s.item(i)
		}
	}
	low := n.minContains
	if low < 0 {
		low = 1
	}
	if found < low || n.maxContains >= 0 && found > n.maxContains {
		c.fault(at, fault.OutOfRange, fmt.Sprintf("has %d entries of the kind that it must contain", found), contains(low, n.maxContains))
	}
}

func contains(low, high int) string {
	if high < 0 {
		return fmt.Sprintf("use at least %d", low)
	}
	return fmt.Sprintf("use %d to %d", low, high)
}

func (c *checker) object(n *node, v map[string]any, at *place, s *seen) {
	c.count(len(v), n.minProperties, n.maxProperties, "member", at)
	for _, name := range n.required {
		if _, ok := v[name]; !ok {
			c.fault(at.member(name), fault.MissingField, "is missing", "add it")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		for _, other := range n.dependentRequired[name] {
			if _, ok := v[other]; !ok {
				c.fault(at.member(other), fault.MissingField, fmt.Sprintf("is missing, and %s is there", show(name)), "add it")
			}
		}
		if n.propertyNames != nil {
			c.check(n.propertyNames, name, at.member(name))
		}
		known := false
		if p := n.properties[name]; p != nil {
			c.check(p, v[name], at.member(name))
			known = true
		}
		for _, p := range n.patternProperties {
			if p.re.MatchString(name) {
				c.check(p.node, v[name], at.member(name))
				known = true
			}
		}
		if !known && n.additionalProperties != nil {
			c.additional(n, name, v[name], at)
			known = true
		}
		if known && c.track {
			s.name(name)
		}
	}
}

// additional checks a member that the schema does not name, and says which one was meant where none is allowed.
func (c *checker) additional(n *node, name string, v any, at *place) {
	a := n.additionalProperties
	if a.always == nil || *a.always {
		c.check(a, v, at.member(name))
		return
	}
	remedy := "remove it"
	if near := fault.Nearest(name, slices.Sorted(maps.Keys(n.properties))); near != "" {
		remedy = fmt.Sprintf("did you mean %q?", near)
	}
	c.fault(at.member(name), fault.UnknownField, "is not allowed by the schema", remedy)
}

// logic applies the subschemas that look at the same value.
func (c *checker) logic(n *node, v any, at *place, s *seen) {
	apply := func(m *node) { s.add(c.check(m, v, at)) }
	if n.ref != nil {
		apply(n.ref)
	}
	for _, m := range n.allOf {
		apply(m)
	}
	if n.anyOf != nil {
		c.alternatives(n.anyOf, v, at, s, false)
	}
	if n.oneOf != nil {
		c.alternatives(n.oneOf, v, at, s, true)
	}
	if n.not != nil {
		if _, quiet := c.try(n.not, v, at); quiet.holds() {
			c.fault(at, fault.Conflict, "is what the schema excludes", "")
		}
	}
	if n.cond != nil {
		if saw, quiet := c.try(n.cond, v, at); quiet.holds() {
			s.add(saw)
			if n.yes != nil {
				apply(n.yes)
			}
		} else if n.no != nil {
			apply(n.no)
		}
	}
	if m, ok := v.(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(n.dependentSchemas)) {
			if _, there := m[name]; there {
				apply(n.dependentSchemas[name])
			}
		}
	}
}

// alternatives applies anyOf or oneOf. When none holds, the faults of the one that came nearest are reported: one of
// another type was hardly meant, and one with another word in a closed set, such as the kind of a union, was meant
// less than one with a few slips.
func (c *checker) alternatives(nodes []*node, v any, at *place, s *seen, exactlyOne bool) {
	var nearest *checker
	least, held := 0, 0
	for _, m := range nodes {
		saw, quiet := c.try(m, v, at)
		if quiet.holds() {
			held++
			s.add(saw)
			continue
		}
		w := quiet.weight
		if slices.ContainsFunc(quiet.faults.Faults(), func(f fault.Fault) bool { return f.Code == fault.WrongType && f.Path == at.String() }) {
			w += 1000
		}
		if nearest == nil || w < least {
			nearest, least = quiet, w
		}
	}
	switch {
	case held == 0:
		c.faults.Within(fault.Root, nearest.faults.Err())
		c.weight += nearest.weight
	case exactlyOne && held > 1:
		c.fault(at, fault.Conflict, fmt.Sprintf("fits %d alternatives where it must fit one", held), "")
	}
}
