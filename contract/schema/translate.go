package schema

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/deedrun/deed/contract/fault"
)

// translate turns the error tree of the JSON Schema validator into faults of doc, in the order of their places.
// schema is the document that doc was checked against, or nil.
func translate(err error, doc, schema any) error {
	if err == nil {
		return nil
	}
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return one(fault.Root, fault.BadFormat, err.Error(), "")
	}
	found := leaves(v)
	for _, e := range found {
		if k, ok := e.ErrorKind.(*kind.PropertyNames); ok {
			e.InstanceLocation = holder(doc, e.InstanceLocation, k.Property)
		}
	}
	// The validator walks objects in the order of Go's maps.
	slices.SortStableFunc(found, func(a, b *jsonschema.ValidationError) int {
		return cmp.Or(
			slices.CompareFunc(a.InstanceLocation, b.InstanceLocation, byPlace),
			cmp.Compare(a.SchemaURL, b.SchemaURL),
			cmp.Compare(about(a), about(b)),
		)
	})
	var l fault.List
	for _, e := range found {
		report(&l, e, doc, schema)
	}
	return l.Err()
}

// byPlace orders two parts of a place: entries by their index, names by their letters.
func byPlace(a, b string) int {
	i, aerr := strconv.Atoi(a)
	j, berr := strconv.Atoi(b)
	if aerr == nil && berr == nil {
		return cmp.Compare(i, j)
	}
	return cmp.Compare(a, b)
}

// about returns the member that an error at an object is about, if it is about one.
func about(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.PropertyNames:
		return k.Property
	case *kind.DependentRequired:
		return k.Prop
	}
	return ""
}

// leaves returns the errors that say something by themselves. Of alternatives that all failed it follows the one
// that came nearest.
func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	switch e.ErrorKind.(type) {
	case *kind.Contains, *kind.MinContains, *kind.PropertyNames:
		// The causes are about entries that need not fit, and about names as if they stood alone.
		return []*jsonschema.ValidationError{e}
	case *kind.OneOf, *kind.AnyOf:
		var best []*jsonschema.ValidationError
		for _, c := range e.Causes {
			if ls := leaves(c); best == nil || distance(e, ls) < distance(e, best) {
				best = ls
			}
		}
		return best
	}
	var all []*jsonschema.ValidationError
	for _, c := range e.Causes {
		all = append(all, leaves(c)...)
	}
	return all
}

// distance tells how far an alternative is from what was written. One of another type was hardly meant, and one
// with another word in a closed set, such as the kind of a union, was meant less than one with a few slips.
func distance(alternatives *jsonschema.ValidationError, ls []*jsonschema.ValidationError) int {
	d := 0
	for _, e := range ls {
		switch e.ErrorKind.(type) {
		case *kind.Type:
			if len(e.InstanceLocation) == len(alternatives.InstanceLocation) {
				d += 1000
			}
		case *kind.Const, *kind.Enum:
			d += 10
		}
		d++
	}
	return d
}

// report says one error of the validator in deed's words.
func report(l *fault.List, e *jsonschema.ValidationError, doc, schema any) {
	v, at := descend(doc, e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		l.Add(at, fault.WrongType, "is "+article(k.Got), "use "+articles(k.Want))
	case *kind.Enum:
		l.Add(at, fault.NotAllowed, shown(v)+" is not allowed", "use "+alternatives(k.Want))
	case *kind.Const:
		l.Add(at, fault.NotAllowed, shown(v)+" is not allowed", "use "+shown(k.Want))
	case *kind.Format:
		l.Add(at, fault.BadFormat, fmt.Sprintf("%s is not of the format %s: %s", shown(v), k.Want, cut(k.Err.Error())), "")
	case *kind.Pattern:
		l.Add(at, fault.BadFormat, fmt.Sprintf("%s does not match %s", shown(v), cut(k.Want)), "")
	case *kind.Required:
		for _, name := range k.Missing {
			l.Add(fault.Field(at, name), fault.MissingField, "is missing", "add it")
		}
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			l.Add(fault.Field(at, name), fault.MissingField, fmt.Sprintf("is missing, and %s is there", shown(k.Prop)), "add it")
		}
	case *kind.AdditionalProperties:
		known := properties(schema, e.SchemaURL)
		for _, name := range slices.Sorted(slices.Values(k.Properties)) {
			l.Add(fault.Field(at, name), fault.UnknownField, "is not allowed by the schema", nearest(name, known))
		}
	case *kind.FalseSchema:
		l.Add(at, fault.UnknownField, "is not allowed by the schema", "remove it")
	case *kind.PropertyNames:
		var names fault.List
		for _, c := range e.Causes {
			for _, leaf := range leaves(c) {
				report(&names, leaf, k.Property, schema)
			}
		}
		for _, f := range names.Faults() {
			l.Add(fault.Field(at, k.Property), f.Code, "has a name that the schema refuses: "+f.Message, f.Remedy)
		}
	case *kind.UniqueItems:
		l.Add(fault.Index(at, k.Duplicates[1]), fault.Duplicate, fmt.Sprintf("is the same as entry %d", k.Duplicates[0]), "list it once")
	case *kind.Not:
		l.Add(at, fault.Conflict, "is what the schema excludes", "")
	case *kind.OneOf:
		l.Add(at, fault.Conflict, "fits more than one alternative where it must fit one", "")
	case *kind.RefCycle:
		l.Add(at, fault.Conflict, "cannot be checked: the schema refers to itself without end", "mend the schema")
	default:
		if !reportBounds(l, at, v, e.ErrorKind) {
			l.Add(at, fault.Conflict, "breaks the schema's rule "+cut(strings.Join(e.ErrorKind.KeywordPath(), " ")), "")
		}
	}
}

// reportBounds reports a number or a length outside its bounds, and returns false for any other error.
func reportBounds(l *fault.List, at string, v any, k jsonschema.ErrorKind) bool {
	number := func(remedy string) { l.Add(at, fault.OutOfRange, shown(v)+" is out of range", remedy) }
	count := func(got int, what, many, bound string, want int) {
		if got != 1 {
			what = many
		}
		l.Add(at, fault.OutOfRange, fmt.Sprintf("has %d %s", got, what), fmt.Sprintf("use at %s %d", bound, want))
	}
	const of = "of the kind that it must contain"
	switch k := k.(type) {
	case *kind.Minimum:
		number("use at least " + decimal(k.Want))
	case *kind.Maximum:
		number("use at most " + decimal(k.Want))
	case *kind.ExclusiveMinimum:
		number("use more than " + decimal(k.Want))
	case *kind.ExclusiveMaximum:
		number("use less than " + decimal(k.Want))
	case *kind.MultipleOf:
		number("use a multiple of " + decimal(k.Want))
	case *kind.MinLength:
		count(k.Got, "character", "characters", "least", k.Want)
	case *kind.MaxLength:
		count(k.Got, "character", "characters", "most", k.Want)
	case *kind.MinItems:
		count(k.Got, "entry", "entries", "least", k.Want)
	case *kind.MaxItems:
		count(k.Got, "entry", "entries", "most", k.Want)
	case *kind.MinProperties:
		count(k.Got, "member", "members", "least", k.Want)
	case *kind.MaxProperties:
		count(k.Got, "member", "members", "most", k.Want)
	case *kind.Contains:
		count(0, "", "entries "+of, "least", 1)
	case *kind.MinContains:
		count(len(k.Got), "entry "+of, "entries "+of, "least", k.Want)
	case *kind.MaxContains:
		count(len(k.Got), "entry "+of, "entries "+of, "most", k.Want)
	default:
		return false
	}
	return true
}

// properties returns the names of the members that the subschema at a URL lists.
func properties(schema any, url string) []string {
	sub, _ := descend(schema, pointer(url))
	m, _ := sub.(map[string]any)
	listed, _ := m["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(listed))
}

func nearest(name string, known []string) string {
	if near := fault.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "remove it"
}

// holder returns the location of the object with a refused name, which the validator places at location. It keeps that
// location in memory that it uses again for the object's siblings, so the place can be that of a sibling; then the
// first object as deep that has the name is meant.
func holder(doc any, location []string, name string) []string {
	has := func(v any) bool {
		m, _ := v.(map[string]any)
		_, ok := m[name]
		return ok
	}
	if v, _ := descend(doc, location); has(v) {
		return slices.Clone(location)
	}
	var find func(v any, rest int) (reversed []string, ok bool)
	find = func(v any, rest int) ([]string, bool) {
		if rest == 0 {
			return nil, has(v)
		}
		switch v := v.(type) {
		case []any:
			for i, e := range v {
				if at, ok := find(e, rest-1); ok {
					return append(at, strconv.Itoa(i)), true
				}
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				if at, ok := find(v[k], rest-1); ok {
					return append(at, k), true
				}
			}
		}
		return nil, false
	}
	at, ok := find(doc, len(location))
	if !ok {
		return slices.Clone(location)
	}
	slices.Reverse(at)
	return at
}
