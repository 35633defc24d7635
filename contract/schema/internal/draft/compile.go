package draft

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// A node is a compiled subschema. What is absent says nothing.
type node struct {
	at       string // its place in the document, as a JSON pointer
	resource *resource
	never    bool // the schema false
	tracks   bool // of the root: somewhere it matters what was evaluated

	types    []string
	enum     []any
	enumed   map[string]bool // their identities
	constant []any           // one value

	minimum, maximum, above, below, multiple *big.Rat
	length, items, members, contained        bounds

	pattern *pattern
	format  string
	unique  bool

	required        []string
	requiredWith    map[string][]string
	schemaWith      map[string]*node
	properties      map[string]*node
	patterns        []patterned
	additional      *node
	names           *node
	unevaluated     *node // properties
	prefix          []*node
	rest            *node // of the items
	contains        *node
	unevaluatedRest *node // items

	all, any, one              []*node
	not, when, then, otherwise *node
	ref, dynamic               *node
	dynamicName                string // of dynamic, when it depends on how it was come to
}

// bounds are those of a count.
type bounds struct{ least, most int }

var unbounded = bounds{0, math.MaxInt}

type patterned struct {
	name *pattern
	node *node
}

// A pattern is an expression that knows what it costs.
type pattern struct {
	*regexp.Regexp
	size int // instructions
}

// newPattern compiles an expression that the metaschema has seen.
func newPattern(expression string) *pattern {
	p := &pattern{Regexp: regexp.MustCompile(expression), size: len(expression)}
	if re, err := syntax.Parse(expression, syntax.Perl); err == nil {
		if program, err := syntax.Compile(re.Simplify()); err == nil {
			p.size = len(program.Inst)
		}
	}
	return p
}

// matches takes time by the product of the instructions and the text.
func (p *pattern) matches(s string, b *Budget) bool {
	b.spend(1 + p.size*len(s)/256)
	return p.MatchString(s)
}

// A resource is a part of a document that has an address of its own.
type resource struct {
	base    *url.URL
	at      string // its place, as a JSON pointer
	reached bool   // something of it is used
	anchors map[string]string
	dynamic map[string]*node // of the anchors that are dynamic, what dynamic references come to; nil: there is no such reference
}

// A compiler makes nodes of a document that is known to follow the rules of the draft.
type compiler struct {
	doc       any
	rules     *node
	budget    *Budget
	known     map[string]*resource // of the places of subschemas that the draft knows
	byAddress map[string]*resource
	resources []*resource
	nodes     map[string]*node
	todo      []func() error  // references, when all nodes that are reached in order are there
	wanted    map[string]bool // names of dynamic references
	tracks    bool            // somewhere it matters what was evaluated
}

// build compiles a document. rules are the metaschema.
func build(doc any, rules *node, b *Budget) (*node, error) {
	c := &compiler{
		doc: doc, rules: rules, budget: b, known: map[string]*resource{}, byAddress: map[string]*resource{}, wanted: map[string]bool{}, nodes: map[string]*node{},
	}
	root, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	if err := c.collect(doc, "", &resource{base: root}); err != nil {
		return nil, err
	}
	n, err := c.node("", doc)
	for err == nil && len(c.todo) > 0 {
		next := c.todo[0]
		c.todo = c.todo[1:]
		if err = next(); err == nil && len(c.todo) == 0 {
			err = c.anchored()
		}
	}
	if err != nil {
		return nil, err
	}
	n.tracks = c.tracks
	return n, nil
}

// anchored compiles what the dynamic references can come to by now. That may reach resources which have more of it.
func (c *compiler) anchored() error {
	for more := true; more; {
		more = false
		for _, r := range c.resources {
			for name, n := range r.dynamic {
				if n != nil || !r.reached || !c.wanted[name] {
					continue
				}
				var err error
				if r.dynamic[name], err = c.find(r.anchors[name]); err != nil {
					return err
				}
				more = true
			}
		}
	}
	return nil
}

// Where subschemas are: in a member, in each entry of one, in each member of one.
var (
	schemaIn      = []string{"not", "if", "then", "else", "items", "contains", "unevaluatedItems", "additionalProperties", "propertyNames", "unevaluatedProperties", "contentSchema"}
	schemasIn     = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	namedSchemaIn = []string{"$defs", "definitions", "properties", "patternProperties", "dependentSchemas", "dependencies"}
)

// collect finds the addresses and the anchors of a document.
func (c *compiler) collect(v any, at string, r *resource) error {
	c.budget.spend(1)
	m, ok := v.(map[string]any)
	if !ok {
		c.known[at] = r // a truth value
		return nil
	}
	r, err := c.enter(m, at, r)
	if err != nil {
		return err
	}
	c.known[at] = r
	for _, name := range schemaIn {
		sub, ok := m[name]
		if !ok {
			continue
		}
		if err := c.collect(sub, join(at, name), r); err != nil {
			return err
		}
	}
	for _, name := range schemasIn {
		list, _ := m[name].([]any)
		for i, e := range list {
			if err := c.collect(e, join(at, name, strconv.Itoa(i)), r); err != nil {
				return err
			}
		}
	}
	for _, name := range namedSchemaIn {
		group, _ := m[name].(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(group)) {
			if err := c.collect(group[k], join(at, name, k), r); err != nil {
				return err
			}
		}
	}
	return nil
}

// enter notes what an object says about its own name. The root is a resource in any case.
func (c *compiler) enter(m map[string]any, at string, r *resource) (*resource, error) {
	id, named := m["$id"].(string)
	if at == "" || named {
		to, err := r.base.Parse(strings.TrimSuffix(id, "#"))
		if err != nil {
			return nil, one(c.path(join(at, "$id")), fault.BadFormat, "is not a URI reference", "write one such as https://example.com/order")
		}
		if err := supported(m, c.path(at)); err != nil {
			return nil, err
		}
		if other := c.byAddress[to.String()]; other != nil && other.at != at {
			return nil, c.again(at, "$id", id, other.at)
		}
		r = c.add(to, at)
	}
	return r, c.anchor(m, at, r)
}

func (c *compiler) add(base *url.URL, at string) *resource {
	r := &resource{base: base, at: at, anchors: map[string]string{}, dynamic: map[string]*node{}}
	c.resources = append(c.resources, r)
	c.byAddress[base.String()] = r
	return r
}

// anchor notes the anchors of an object.
func (c *compiler) anchor(m map[string]any, at string, r *resource) error {
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		name, ok := m[keyword].(string)
		if !ok {
			continue
		}
		if other, taken := r.anchors[name]; taken && other != at {
			return c.again(at, keyword, name, other)
		}
		r.anchors[name] = at
		if keyword == "$dynamicAnchor" {
			r.dynamic[name] = nil
		}
	}
	return nil
}

func (c *compiler) again(at, keyword, name, other string) error {
	return one(fault.Field(c.path(at), keyword), fault.Duplicate, fmt.Sprintf("%s is the name of %s too", shown(name), c.path(other)), "give every subschema its own")
}

// path is the JSON path of a place.
func (c *compiler) path(at string) string {
	_, p := descend(c.doc, pointer("#"+escaped(at)))
	return p
}

var escaper = strings.NewReplacer("~", "~0", "/", "~1")

// join makes the JSON pointer of something deeper.
func join(at string, parts ...string) string {
	for _, p := range parts {
		at += "/" + escaper.Replace(p)
	}
	return at
}

// escaped makes a pointer the fragment of a URL.
func escaped(at string) string { return strings.ReplaceAll(at, "%", "%25") }

// find returns the compiled subschema at a place that is there.
func (c *compiler) find(at string) (*node, error) {
	v, _ := descend(c.doc, pointer("#"+escaped(at)))
	return c.node(at, v)
}

// home is the resource that a place belongs to.
func (c *compiler) home(at string) *resource {
	for {
		if r := c.known[at]; r != nil || at == "" {
			return r
		}
		at = at[:strings.LastIndexByte(at, '/')]
	}
}

// node returns the compiled subschema at a place, which is v.
func (c *compiler) node(at string, v any) (*node, error) {
	if n := c.nodes[at]; n != nil {
		return n, nil
	}
	c.budget.spend(2 + len(at)/256)
	n := &node{at: at, resource: c.home(at)}
	if n.resource == nil { // a document that is no object
		n.resource = &resource{}
	}
	n.resource.reached = true
	n.length, n.items, n.members = unbounded, unbounded, unbounded
	c.nodes[at] = n
	switch v := v.(type) {
	case bool:
		n.never = !v
		return n, nil
	case map[string]any:
		return n, c.fill(n, v)
	}
	return nil, one(c.path(at), fault.WrongType, "is not a schema", "use a boolean or an object")
}

// fill reads the keywords of an object.
func (c *compiler) fill(n *node, m map[string]any) error {
	fillValues(n, m)
	n.minimum, n.maximum, n.above, n.below = number(m["minimum"]), number(m["maximum"]), number(m["exclusiveMinimum"]), number(m["exclusiveMaximum"])
	n.multiple = number(m["multipleOf"])
	for _, b := range []struct {
		of          *bounds
		least, most string
	}{
		{&n.length, "minLength", "maxLength"},
		{&n.items, "minItems", "maxItems"},
		{&n.members, "minProperties", "maxProperties"},
	} {
		b.of.least, b.of.most = count(m[b.least], 0), count(m[b.most], math.MaxInt)
	}
	n.contained = bounds{count(m["minContains"], 1), count(m["maxContains"], math.MaxInt)}
	c.tracks = c.tracks || m["unevaluatedProperties"] != nil || m["unevaluatedItems"] != nil
	if err := c.single(n, m); err != nil {
		return err
	}
	if err := c.several(n, m); err != nil {
		return err
	}
	for _, keyword := range []string{"$ref", "$dynamicRef"} {
		if to, ok := m[keyword].(string); ok {
			c.todo = append(c.todo, func() error { return c.refer(n, keyword, to) })
		}
	}
	return nil
}

// fillValues reads what is no schema.
func fillValues(n *node, m map[string]any) {
	switch t := m["type"].(type) {
	case string:
		n.types = []string{t}
	case []any:
		n.types = texts(t)
		slices.Sort(n.types)
	}
	if n.enum, _ = m["enum"].([]any); n.enum != nil {
		n.enumed = map[string]bool{}
		for _, v := range n.enum {
			n.enumed[identity(v)] = true
		}
	}
	if v, ok := m["const"]; ok {
		n.constant = []any{v}
	}
	n.format, _ = m["format"].(string)
	n.unique, _ = m["uniqueItems"].(bool)
	if p, ok := m["pattern"].(string); ok {
		n.pattern = newPattern(p)
	}
	if list, ok := m["required"].([]any); ok {
		n.required = texts(list)
	}
	if with, ok := m["dependentRequired"].(map[string]any); ok {
		n.requiredWith = map[string][]string{}
		for k, v := range with {
			list, _ := v.([]any)
			n.requiredWith[k] = texts(list)
		}
	}
}

// single compiles the keywords with one schema.
func (c *compiler) single(n *node, m map[string]any) error {
	for _, k := range []struct {
		name string
		to   **node
	}{
		{"additionalProperties", &n.additional},
		{"propertyNames", &n.names},
		{"unevaluatedProperties", &n.unevaluated},
		{"items", &n.rest},
		{"contains", &n.contains},
		{"unevaluatedItems", &n.unevaluatedRest},
		{"not", &n.not},
		{"if", &n.when},
		{"then", &n.then},
		{"else", &n.otherwise},
	} {
		if _, ok := m[k.name]; !ok {
			continue
		}
		if (k.name == "then" || k.name == "else") && n.when == nil {
			continue // they say nothing alone
		}
		var err error
		if *k.to, err = c.node(join(n.at, k.name), m[k.name]); err != nil {
			return err
		}
	}
	return nil
}

// several compiles the keywords with lists of schemas and with schemas by name.
func (c *compiler) several(n *node, m map[string]any) error {
	for name, to := range map[string]*[]*node{"allOf": &n.all, "anyOf": &n.any, "oneOf": &n.one, "prefixItems": &n.prefix} {
		list, _ := m[name].([]any)
		for i, v := range list {
			sub, err := c.node(join(n.at, name, strconv.Itoa(i)), v)
			if err != nil {
				return err
			}
			*to = append(*to, sub)
		}
	}
	for name, to := range map[string]*map[string]*node{"properties": &n.properties, "dependentSchemas": &n.schemaWith} {
		group, _ := m[name].(map[string]any)
		for k, v := range group {
			sub, err := c.node(join(n.at, name, k), v)
			if err != nil {
				return err
			}
			if *to == nil {
				*to = map[string]*node{}
			}
			(*to)[k] = sub
		}
	}
	group, _ := m["patternProperties"].(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(group)) {
		sub, err := c.node(join(n.at, "patternProperties", k), group[k])
		if err != nil {
			return err
		}
		n.patterns = append(n.patterns, patterned{newPattern(k), sub})
	}
	return nil
}

// refer resolves a reference of a node.
func (c *compiler) refer(n *node, keyword, to string) error {
	c.budget.spend(2 + len(n.at)/64)
	where := fault.Field(c.path(n.at), keyword)
	address, err := n.resource.base.Parse(to)
	if err != nil {
		return one(where, fault.BadFormat, shown(to)+" is not a URI reference", "")
	}
	fragment := address.Fragment
	address.Fragment, address.RawFragment = "", ""
	r := c.byAddress[address.String()]
	if r == nil && address.String() == id && fragment == "" && keyword == "$ref" { // the draft itself is always at hand
		n.ref = c.rules
		return nil
	}
	if r == nil {
		return one(where, fault.Dangling, shown(to)+" is outside this schema, and a schema must stand alone", "copy it into $defs")
	}
	at, ok := r.at, fragment == ""
	switch {
	case strings.HasPrefix(fragment, "/"):
		at = r.at + fragment
		ok = exists(c.doc, pointer("#"+escaped(at)))
	case !ok:
		at, ok = r.anchors[fragment]
	}
	if !ok {
		return one(where, fault.Dangling, shown(to)+" refers to nothing in this schema", "define it in $defs")
	}
	v, p := descend(c.doc, pointer("#"+escaped(at)))
	if c.known[at] == nil { // nobody has looked at it
		var l fault.List
		l.Within(p, validate(c.rules, v, c.budget))
		if err := l.Err(); err != nil {
			return err
		}
	}
	target, err := c.node(at, v)
	if err != nil {
		return err
	}
	if keyword == "$ref" {
		n.ref = target
		return nil
	}
	n.dynamic = target
	if _, ok := r.dynamic[fragment]; ok {
		n.dynamicName, c.wanted[fragment] = fragment, true
	}
	return nil
}

func exists(doc any, location []string) bool {
	for _, part := range location {
		switch d := doc.(type) {
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(d) || strconv.Itoa(i) != part {
				return false
			}
			doc = d[i]
		case map[string]any:
			v, ok := d[part]
			if !ok {
				return false
			}
			doc = v
		default:
			return false
		}
	}
	return true
}

func texts(list []any) []string {
	out := make([]string, 0, len(list))
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// number is a number as an exact fraction; nil: it is none.
func number(v any) *big.Rat {
	n, ok := v.(json.Number)
	if !ok {
		return nil
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return nil
	}
	return r
}

// count is a number of things, or what holds when there is none. One beyond all that can be counted is as good as the most
// that can.
func count(v any, otherwise int) int {
	r := number(v)
	switch {
	case r == nil:
		return otherwise
	case r.IsInt() && r.Num().IsInt64():
		return int(r.Num().Int64())
	}
	return math.MaxInt
}
