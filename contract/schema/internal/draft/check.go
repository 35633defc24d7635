package draft

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/fault"
)

// A spot is where a value is in its document.
type spot struct {
	outer *spot  // nil: the root
	name  string // of a member
	index int    // of an entry; -1: it is a member
	depth int
}

var root = &spot{index: -1}

func (p *spot) member(name string) *spot {
	return &spot{outer: p, name: name, index: -1, depth: p.depth + 1}
}

func (p *spot) entry(i int) *spot {
	return &spot{outer: p, index: i, depth: p.depth + 1}
}

// path is the JSON path.
func (p *spot) path() string {
	path := fault.Root
	for _, step := range p.parts() {
		if step.index >= 0 {
			path = fault.Index(path, step.index)
		} else {
			path = fault.Field(path, step.name)
		}
	}
	return path
}

// parts are the steps from the root.
func (p *spot) parts() []*spot {
	parts := make([]*spot, p.depth)
	for ; p.outer != nil; p = p.outer {
		parts[p.depth-1] = p
	}
	return parts
}

// byPlace orders two steps: entries by their index, members by their names.
func byPlace(a, b *spot) int {
	return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.name, b.name))
}

// A miss is one rule that a value breaks.
type miss struct {
	at     *spot
	schema string // where the rule is
	about  string // the member that it is about, if the value is an object and the rule about one
	kind   missKind
	faults fault.Faults
}

// missKind tells how near a value is to what was wanted.
type missKind int

const (
	missOther missKind = iota
	missValue          // another word than those of a closed set
	missType
)

// validate returns all faults of a value, in the order of their places.
func validate(n *node, v any, b *Budget) error {
	r := run{budget: b, tracks: n.tracks}
	found, _ := r.check(n, v, root, nil, nil)
	slices.SortStableFunc(found, func(a, b miss) int {
		return cmp.Or(slices.CompareFunc(a.at.parts(), b.at.parts(), byPlace), cmp.Compare(a.schema, b.schema), cmp.Compare(a.about, b.about))
	})
	var l fault.List
	for _, m := range found {
		for _, f := range m.faults {
			l.Add(f.Path, f.Code, f.Message, f.Remedy)
		}
	}
	return l.Err()
}

// A run is one validation.
type run struct {
	budget  *Budget
	nesting int
	tracks  bool // it matters what was evaluated
}

// seen are the members and entries of a value that some rule has looked at.
type seen struct {
	members map[string]bool
	entries map[int]bool
}

// add takes over what a schema for the same value has looked at.
func (l *look) add(o *seen) {
	if o == nil {
		return
	}
	l.budget.spend((len(o.members) + len(o.entries)) / 4)
	maps.Copy(l.seen.members, o.members)
	maps.Copy(l.seen.entries, o.entries)
}

func (s *seen) member(name string) {
	if s != nil {
		s.members[name] = true
	}
}

func (s *seen) entry(i int) {
	if s != nil {
		s.entries[i] = true
	}
}

// scope is how a schema was come to: the resources that were entered, the last one first.
type scope struct {
	in    *resource
	outer *scope
}

// chain are the schemas that are under way for one value.
type chain struct {
	node  *node
	outer *chain
}

// A look is one schema applied to one value.
type look struct {
	*run
	node  *node
	at    *spot
	scope *scope
	chain *chain
	found []miss
	seen  *seen
}

func (r *run) check(n *node, v any, at *spot, s *scope, c *chain) ([]miss, *seen) {
	r.budget.spend(1)
	if r.nesting++; r.nesting > maxNesting {
		panic(stop{one(fault.Root, fault.Conflict, fmt.Sprintf("cannot be checked: its parts and the schema's references nest deeper than %d", maxNesting), "make either flatter")})
	}
	defer func() { r.nesting-- }()
	l := &look{run: r, node: n, at: at, scope: s, chain: &chain{n, c}}
	if r.tracks {
		l.seen = &seen{map[string]bool{}, map[int]bool{}}
	}
	for i := 0; c != nil; i, c = i+1, c.outer {
		if i%16 == 15 {
			r.budget.spend(1)
		}
		if c.node == n {
			l.miss(missOther, fault.Conflict, "cannot be checked: the schema refers to itself without end", "mend the schema")
			return l.found, l.seen
		}
	}
	if n.never {
		l.miss(missOther, fault.UnknownField, "is not allowed by the schema", "remove it")
		return l.found, l.seen
	}
	if s == nil || s.in != n.resource {
		l.scope = &scope{n.resource, s}
	}
	if !l.value(v) {
		return l.found, l.seen // what else is wrong follows from it
	}
	l.combined(v)
	switch v := v.(type) {
	case string:
		l.text(v)
	case json.Number:
		l.number(v)
	case []any:
		l.list(v)
	case map[string]any:
		l.object(v)
	}
	return l.found, l.seen
}

func (l *look) miss(kind missKind, code, message, remedy string) {
	l.budget.spend(1 + l.at.depth/4)
	l.found = append(l.found, miss{at: l.at, schema: l.node.at, kind: kind, faults: fault.Faults{{Path: l.at.path(), Code: code, Message: message, Remedy: remedy}}})
}

// same applies another schema to the same value.
func (l *look) same(n *node, v any) ([]miss, *seen) { return l.check(n, v, l.at, l.scope, l.chain) }

// must takes over what another schema says of the same value.
func (l *look) must(n *node, v any) {
	if n == nil {
		return
	}
	found, seen := l.same(n, v)
	l.found = append(l.found, found...)
	l.add(seen)
}

// child applies a schema to a part of the value.
func (l *look) child(n *node, v any, at *spot) {
	found, _ := l.check(n, v, at, l.scope, nil)
	l.found = append(l.found, found...)
}

func (l *look) fits(n *node, v any, at *spot) bool {
	found, _ := l.check(n, v, at, l.scope, nil)
	return len(found) == 0
}

// value checks what a value is, and reports whether it is that.
func (l *look) value(v any) bool {
	n, before := l.node, len(l.found)
	if got := typeOf(v); n.types != nil && !slices.ContainsFunc(n.types, func(t string) bool { return t == got || t == "integer" && integer(v) }) {
		l.miss(missType, fault.WrongType, "is "+article(got), "use "+articles(n.types))
		return false
	}
	if n.constant != nil && identity(n.constant[0]) != l.identity(v) {
		l.miss(missValue, fault.NotAllowed, shown(v)+" is not allowed", "use "+shown(n.constant[0]))
		return false
	}
	if n.enum != nil && !n.enumed[l.identity(v)] {
		l.miss(missValue, fault.NotAllowed, shown(v)+" is not allowed", "use "+alternatives(n.enum))
	}
	return len(l.found) == before
}

// combined applies the schemas that are about the value itself.
func (l *look) combined(v any) {
	n := l.node
	l.must(n.ref, v)
	l.must(l.dynamic(), v)
	for _, sub := range n.all {
		l.must(sub, v)
	}
	if n.any != nil {
		l.alternatives(n.any, v, false)
	}
	if n.one != nil {
		l.alternatives(n.one, v, true)
	}
	if n.not != nil {
		if found, _ := l.same(n.not, v); len(found) == 0 {
			l.miss(missOther, fault.Conflict, "is what the schema excludes", "")
		}
	}
	if n.when == nil {
		return
	}
	if found, seen := l.same(n.when, v); len(found) == 0 {
		l.add(seen)
		l.must(n.then, v)
	} else {
		l.must(n.otherwise, v)
	}
}

// dynamic is what a dynamic reference comes to: the outermost schema of that name on the way here.
func (l *look) dynamic() *node {
	n := l.node
	if n.dynamicName == "" {
		return n.dynamic
	}
	to := n.dynamic
	for s := l.scope; s != nil; s = s.outer {
		if d := s.in.dynamic[n.dynamicName]; d != nil {
			to = d
		}
	}
	return to
}

// alternatives demands that one of several schemas fits, or exactly one. Of those that all fail it follows the nearest.
func (l *look) alternatives(list []*node, v any, exactly bool) {
	var nearest []miss
	fit := 0
	for _, sub := range list {
		found, seen := l.same(sub, v)
		if len(found) == 0 {
			fit++
			l.add(seen)
			continue
		}
		if nearest == nil || distance(l.at, found) < distance(l.at, nearest) {
			nearest = found
		}
	}
	switch {
	case fit == 0:
		l.found = append(l.found, nearest...)
	case exactly && fit > 1:
		l.miss(missOther, fault.Conflict, "fits more than one alternative where it must fit one", "")
	}
}

// distance tells how far an alternative is from what was written. One of another type was hardly meant, and one
// with another word in a closed set, such as the kind of a union, was meant less than one with a few slips.
func distance(at *spot, found []miss) int {
	d := 0
	for _, m := range found {
		switch {
		case m.kind == missType && m.at.depth == at.depth:
			d += 1000
		case m.kind == missValue:
			d += 10
		}
		d++
	}
	return d
}

func (l *look) text(s string) {
	n := l.node
	if n.length != unbounded {
		l.bound(n.length, utf8.RuneCountInString(s), "character", "characters")
	}
	l.budget.spend(len(s) / 256)
	if n.pattern != nil && !n.pattern.matches(s, l.budget) {
		l.miss(missOther, fault.BadFormat, fmt.Sprintf("%s does not match %s", shown(s), cut(n.pattern.String())), "")
	}
	if n.format == "regex" {
		l.budget.spend(expression(s))
	}
	if is := formats[n.format]; is != nil {
		if err := is(s); err != nil {
			l.miss(missOther, fault.BadFormat, fmt.Sprintf("%s is not of the format %s: %s", shown(s), n.format, cut(err.Error())), "")
		}
	}
}

// bound demands that a count is within its bounds.
func (l *look) bound(b bounds, got int, what, many string) {
	if got != 1 {
		what = many
	}
	message := fmt.Sprintf("has %d %s", got, what)
	if got < b.least {
		l.miss(missOther, fault.OutOfRange, message, fmt.Sprintf("use at least %d", b.least))
	}
	if got > b.most {
		l.miss(missOther, fault.OutOfRange, message, fmt.Sprintf("use at most %d", b.most))
	}
}

func (l *look) number(v json.Number) {
	n := l.node
	if n.minimum == nil && n.maximum == nil && n.above == nil && n.below == nil && n.multiple == nil {
		return
	}
	got := number(v)
	wrong := func(remedy string) { l.miss(missOther, fault.OutOfRange, shown(v)+" is out of range", remedy) }
	if n.minimum != nil && got.Cmp(n.minimum) < 0 {
		wrong("use at least " + decimal(n.minimum))
	}
	if n.maximum != nil && got.Cmp(n.maximum) > 0 {
		wrong("use at most " + decimal(n.maximum))
	}
	if n.above != nil && got.Cmp(n.above) <= 0 {
		wrong("use more than " + decimal(n.above))
	}
	if n.below != nil && got.Cmp(n.below) >= 0 {
		wrong("use less than " + decimal(n.below))
	}
	if n.multiple != nil && !got.Quo(got, n.multiple).IsInt() {
		wrong("use a multiple of " + decimal(n.multiple))
	}
}

func (l *look) list(v []any) {
	n := l.node
	l.budget.spend(len(v) / 8)
	l.bound(n.items, len(v), "entry", "entries")
	if n.unique {
		l.distinct(v)
	}
	for i, e := range v {
		switch {
		case i < len(n.prefix):
			l.child(n.prefix[i], e, l.at.entry(i))
		case n.rest != nil:
			l.child(n.rest, e, l.at.entry(i))
		default:
			continue
		}
		l.seen.entry(i)
	}
	if n.contains != nil {
		got := 0
		for i, e := range v {
			if l.fits(n.contains, e, l.at.entry(i)) {
				got++
				l.seen.entry(i)
			}
		}
		const of = "of the kind that it must contain"
		l.bound(n.contained, got, "entry "+of, "entries "+of)
	}
	if n.unevaluatedRest == nil {
		return
	}
	for i, e := range v {
		if !l.seen.entries[i] {
			l.child(n.unevaluatedRest, e, l.at.entry(i))
			l.seen.entry(i)
		}
	}
}

// distinct demands that no entry is there twice.
func (l *look) distinct(v []any) {
	first := map[string]int{}
	for i, e := range v {
		id := l.identity(e)
		if j, twice := first[id]; twice {
			l.found = append(l.found, miss{at: l.at, schema: l.node.at, faults: fault.Faults{{
				Path: fault.Index(l.at.path(), i), Code: fault.Duplicate, Message: fmt.Sprintf("is the same as entry %d", j), Remedy: "list it once",
			}}})
			return
		}
		first[id] = i
	}
}

func (l *look) object(v map[string]any) {
	n := l.node
	l.budget.spend(len(v)/4 + len(n.required)/8)
	l.bound(n.members, len(v), "member", "members")
	l.missing(n.required, v, "", "is missing")
	names := slices.Sorted(maps.Keys(v))
	for _, name := range names {
		if with := n.requiredWith[name]; with != nil {
			l.missing(with, v, name, fmt.Sprintf("is missing, and %s is there", shown(name)))
		}
		if sub := n.schemaWith[name]; sub != nil {
			l.must(sub, v)
		}
		if n.names != nil {
			l.name(name)
		}
	}
	l.members(v, names)
	if n.unevaluated == nil {
		return
	}
	for _, name := range names {
		if !l.seen.members[name] {
			l.child(n.unevaluated, v[name], l.at.member(name))
			l.seen.member(name)
		}
	}
}

func (l *look) missing(required []string, v map[string]any, about, message string) {
	m := miss{at: l.at, schema: l.node.at, about: about}
	for _, name := range required {
		if _, ok := v[name]; !ok {
			m.faults = append(m.faults, fault.Fault{Path: fault.Field(l.at.path(), name), Code: fault.MissingField, Message: message, Remedy: "add it"})
		}
	}
	if l.budget.spend(len(m.faults)); m.faults != nil {
		l.found = append(l.found, m)
	}
}

// name applies the schema of names to one.
func (l *look) name(name string) {
	found, _ := l.check(l.node.names, name, root, l.scope, nil)
	m := miss{at: l.at, schema: l.node.names.at, about: name}
	for _, f := range found {
		for _, f := range f.faults {
			m.faults = append(m.faults, fault.Fault{
				Path: fault.Field(l.at.path(), name), Code: f.Code, Message: "has a name that the schema refuses: " + f.Message, Remedy: f.Remedy,
			})
		}
	}
	if m.faults != nil {
		l.found = append(l.found, m)
	}
}

// members applies the schemas of members by their names.
func (l *look) members(v map[string]any, names []string) {
	n := l.node
	unknown := miss{at: l.at, schema: n.at}
	known := sync.OnceValue(func() []string { return slices.Sorted(maps.Keys(n.properties)) })
	for _, name := range names {
		applied := false
		apply := func(sub *node) {
			applied = true
			l.child(sub, v[name], l.at.member(name))
		}
		if sub := n.properties[name]; sub != nil {
			apply(sub)
		}
		for _, p := range n.patterns {
			if p.name.matches(name, l.budget) {
				apply(p.node)
			}
		}
		switch {
		case applied || n.additional == nil:
		case n.additional.never:
			applied = true
			l.budget.spend(1 + len(n.properties)/4)
			unknown.faults = append(unknown.faults, fault.Fault{
				Path: fault.Field(l.at.path(), name), Code: fault.UnknownField, Message: "is not allowed by the schema",
				Remedy: nearest(name, known()),
			})
		default:
			apply(n.additional)
		}
		if applied {
			l.seen.member(name)
		}
	}
	if unknown.faults != nil {
		l.found = append(l.found, unknown)
	}
}

func nearest(name string, known []string) string {
	if near := fault.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "remove it"
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

func integer(v any) bool {
	r := number(v)
	return r != nil && r.IsInt()
}

func (l *look) identity(v any) string {
	id := identity(v)
	l.budget.spend(1 + len(id)/64)
	return id
}

// identity is a text that two values share when they are the same to JSON Schema: numbers by what they are worth, objects
// without regard to order.
func identity(v any) string {
	var b strings.Builder
	identify(&b, v)
	return b.String()
}

func identify(b *strings.Builder, v any) {
	switch v := v.(type) {
	case json.Number:
		b.WriteString(number(v).RatString())
	case []any:
		b.WriteByte('[')
		for _, e := range v {
			identify(b, e)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(strconv.Quote(k))
			b.WriteByte(':')
			identify(b, v[k])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	case string:
		b.WriteString(strconv.Quote(v))
	default:
		fmt.Fprint(b, v)
	}
}
