package schema

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/deedrun/deed/contract/fault"
)

// translate turns the error tree of the JSON Schema validator into faults.
func translate(err error, doc any) error {
	if err == nil {
		return nil
	}
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return err
	}
	var l fault.List
	printer := message.NewPrinter(language.English)
	for _, leaf := range leaves(v) {
		report(&l, leaf, doc, printer)
	}
	return l.Err()
}

// leaves returns the errors that say something by themselves. Of alternatives that all failed it follows the one
// that came nearest.
func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	switch e.ErrorKind.(type) {
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

func report(l *fault.List, e *jsonschema.ValidationError, doc any, printer *message.Printer) {
	at := jsonPath(e.InstanceLocation, doc)
	says := func(code, remedy string) { l.Add(at, code, e.ErrorKind.LocalizedString(printer), remedy) }
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			l.Add(fault.Field(at, name), fault.MissingField, "is missing", "add it")
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			l.Add(fault.Field(at, name), fault.UnknownField, "is not allowed by the schema", "remove it")
		}
	case *kind.FalseSchema:
		l.Add(at, fault.UnknownField, "is not allowed by the schema", "remove it")
	case *kind.Type:
		says(fault.WrongType, "")
	case *kind.Enum:
		says(fault.NotAllowed, "")
	case *kind.Const:
		says(fault.NotAllowed, fmt.Sprintf("use %v", k.Want))
	case *kind.Format, *kind.Pattern:
		says(fault.BadFormat, "")
	case *kind.UniqueItems:
		says(fault.Duplicate, "")
	case *kind.Minimum, *kind.Maximum, *kind.ExclusiveMinimum, *kind.ExclusiveMaximum, *kind.MultipleOf,
		*kind.MinLength, *kind.MaxLength, *kind.MinItems, *kind.MaxItems, *kind.MinProperties, *kind.MaxProperties:
		says(fault.OutOfRange, "")
	default:
		says(fault.Conflict, "")
	}
}

// jsonPath writes the validator's location as a JSON path. The document tells a list's index from a name of digits.
func jsonPath(location []string, doc any) string {
	p := fault.Root
	for _, part := range location {
		switch d := doc.(type) {
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(d) {
				return p
			}
			p, doc = fault.Index(p, i), d[i]
		case map[string]any:
			p, doc = fault.Field(p, part), d[part]
		default:
			return p
		}
	}
	return p
}
