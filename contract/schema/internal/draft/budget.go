package draft

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/deedrun/deed/contract/fault"
)

// ErrBudget is returned when a Budget is used up.
var ErrBudget = errors.New("it takes more steps than are allowed")

// A Budget bounds the work that schemas and values of strangers can ask for: a few hundred bytes of references can ask for 2^35
// evaluations, and the library has no bound and no way to be cancelled. It is counted down by everything that is done with it. A step
// takes about a microsecond.
type Budget struct{ left int }

// NewBudget makes a budget of so many steps.
func NewBudget(steps int) *Budget { return &Budget{left: steps} }

// A stop ends what is under way, however deep it is.
type stop struct{ err error }

// spend takes steps from the budget.
func (b *Budget) spend(steps int) {
	if b == nil {
		return
	}
	if b.left -= steps; b.left < 0 {
		b.left = 0
		panic(stop{ErrBudget})
	}
}

// stopped turns the end of the work into an error.
func stopped(err *error) {
	switch r := recover().(type) {
	case nil:
	case stop:
		*err = r.err
	default:
		panic(r)
	}
}

// digits is what a number costs: it is made an exact fraction in time by the square of its length.
func digits(length int) int { return 1 + length/32*(length/32) }

// expression is what it costs to compile one. Seven characters of a counted repetition can make a thousand instructions.
func expression(text string) int {
	if strings.Contains(text, "{") {
		return 100 * len(text)
	}
	return 1 + len(text)/16
}

// A meter charges the work of one schema to the budget of whoever uses it.
type meter struct {
	mu     sync.Mutex // held while the schema is used
	budget *Budget    // of the use under way; nil: it has no end
	each   int        // what an evaluation costs
}

func (m *meter) spend(steps int) { m.budget.spend(steps) }

// A pattern is an expression that is charged for. It takes time by the product of its instructions and the text.
type pattern struct {
	*regexp.Regexp
	meter *meter
	size  int // instructions
}

func (p *pattern) MatchString(s string) bool {
	p.meter.spend(1 + p.size*len(s)/256)
	return p.Regexp.MatchString(s)
}

// compile is a jsonschema.RegexpEngine.
func (m *meter) compile(text string) (jsonschema.Regexp, error) {
	m.spend(expression(text))
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	p := &pattern{Regexp: re, meter: m, size: len(text)}
	if parsed, err := syntax.Parse(text, syntax.Perl); err == nil {
		if program, err := syntax.Compile(parsed.Simplify()); err == nil {
			p.size = len(program.Inst)
		}
	}
	return p, nil
}

// charge makes a schema charge for each of its evaluations. The library asks for the format of a value before it looks into the value,
// which is the one place where a program of its own can stand.
func (m *meter) charge(s *jsonschema.Schema) {
	if s.Bool != nil {
		return
	}
	price := priceOf(s)
	name, is := "", func(any) error { return nil }
	if f := s.Format; f != nil {
		name, is = f.Name, f.Validate
	}
	s.Format = &jsonschema.Format{Name: name, Validate: func(v any) error {
		m.spend(m.each + price.of(v, s))
		return is(v)
	}}
}

// A price says what an evaluation of a schema costs before any schema below it has charged for itself. One whose type, constant or
// closed set does not fit never does.
type price struct {
	same    int // the schemas for the same value
	entry   int // the schemas for each entry or member of it
	members int // looked up by name
}

func priceOf(s *jsonschema.Schema) price {
	var p price
	for _, sub := range sameValue(s) {
		p.same += fixed(sub)
	}
	for _, sub := range eachPart(s) {
		p.entry += fixed(sub)
	}
	p.members = (len(s.Required) + len(s.DependentRequired)) / 8
	return p
}

func (p price) of(v any, s *jsonschema.Schema) int {
	switch v := v.(type) {
	case string:
		return p.same + len(v)/256
	case []any:
		steps := p.same + len(v)*(1+p.entry)
		for i := range min(len(v), len(s.PrefixItems)) {
			steps += fixed(s.PrefixItems[i])
		}
		if s.UniqueItems {
			steps += nodes(v)
		}
		return steps
	case map[string]any:
		steps := p.same + p.members + len(v)*(1+p.entry)
		for name := range v {
			if sub := s.Properties[name]; sub != nil {
				steps += fixed(sub)
			}
		}
		return steps
	}
	return p.same
}

// fixed is what it costs to compare a value with a closed set.
func fixed(s *jsonschema.Schema) int {
	steps := 1
	if s.Enum != nil {
		steps += nodes(s.Enum.Values) / 4
	}
	if s.Const != nil {
		steps += nodes(*s.Const) / 4
	}
	return steps
}

// nodes is the size of a value.
func nodes(v any) int {
	n := 1
	switch v := v.(type) {
	case string:
		n += len(v) / 64
	case []any:
		for _, e := range v {
			n += nodes(e)
		}
	case map[string]any:
		for name, e := range v {
			n += nodes(e) + len(name)/64
		}
	}
	return n
}

// sameValue are the schemas that a schema applies to its own value.
func sameValue(s *jsonschema.Schema) []*jsonschema.Schema {
	subs := slices.Concat(s.AllOf, s.AnyOf, s.OneOf, []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else})
	if s.DynamicRef != nil {
		subs = append(subs, s.DynamicRef.Ref)
	}
	for _, sub := range s.DependentSchemas {
		subs = append(subs, sub)
	}
	for _, dep := range s.Dependencies {
		if sub, ok := dep.(*jsonschema.Schema); ok {
			subs = append(subs, sub)
		}
	}
	return slices.DeleteFunc(subs, func(sub *jsonschema.Schema) bool { return sub == nil })
}

// eachPart are the schemas that a schema applies to each entry or member of its value.
func eachPart(s *jsonschema.Schema) []*jsonschema.Schema {
	subs := []*jsonschema.Schema{s.Items2020, s.Contains, s.UnevaluatedItems, s.UnevaluatedProperties, s.PropertyNames}
	for _, either := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch sub := either.(type) {
		case *jsonschema.Schema:
			subs = append(subs, sub)
		case []*jsonschema.Schema:
			subs = append(subs, sub...)
		}
	}
	for _, sub := range s.PatternProperties {
		subs = append(subs, sub)
	}
	return slices.DeleteFunc(subs, func(sub *jsonschema.Schema) bool { return sub == nil })
}

// chain is the longest way through schemas for one value. A circle is one that the library finds when it is gone; it can be no longer
// than there are schemas.
func chain(all []*jsonschema.Schema) int {
	const open = -1
	length := map[*jsonschema.Schema]int{}
	circle := false
	var visit func(s *jsonschema.Schema) int
	visit = func(s *jsonschema.Schema) int {
		if n, ok := length[s]; ok {
			circle = circle || n == open
			return max(n, 0)
		}
		length[s] = open
		longest := 0
		for _, sub := range sameValue(s) {
			longest = max(longest, visit(sub))
		}
		length[s] = longest + 1
		return longest + 1
	}
	longest := 0
	for _, s := range all {
		longest = max(longest, visit(s))
	}
	if circle {
		return len(all)
	}
	return longest
}

// propertyNames checks the names of members. The library does the same, and then reports a place that it goes on writing to.
type propertyNames struct{ names *jsonschema.Schema }

func (p propertyNames) Validate(ctx *jsonschema.ValidatorContext, v any) {
	members, ok := v.(map[string]any)
	if !ok {
		return
	}
	for name := range members {
		var wrong *jsonschema.ValidationError
		if errors.As(p.names.Validate(name), &wrong) {
			ctx.AddErr(&jsonschema.ValidationError{
				SchemaURL: p.names.Location, InstanceLocation: slices.Clone(ctx.ValueLocation()),
				ErrorKind: &kind.PropertyNames{Property: name}, Causes: wrong.Causes,
			})
		}
	}
}

// maxNesting bounds the stack.
const maxNesting = 5_000

var errNesting = one(fault.Root, fault.Conflict, "cannot be checked: its parts and the schema's references nest deeper than 5000", "make either flatter")
