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

// refusal says in deed's words why a schema cannot be compiled.
func refusal(doc any, err error) error {
	var (
		wrong   *jsonschema.ValidationError
		load    *jsonschema.LoadURLError
		pointer *jsonschema.JSONPointerNotFoundError
		anchor  *jsonschema.AnchorNotFoundError
		id      *jsonschema.DuplicateIDError
		twice   *jsonschema.DuplicateAnchorError
		badID   *jsonschema.ParseIDError
		badURL  *jsonschema.ParseURLError
		pattern *jsonschema.InvalidRegexError
		schema  *jsonschema.SchemaValidationError
	)
	const nothing, define = " refers to nothing in this schema", "define it in $defs"
	again := func(keyword, at, name, other string) error {
		return one(fault.Field(pathOf(doc, at), keyword), fault.Duplicate, fmt.Sprintf("%s is the name of %s too", shown(name), pathOf(doc, other)), "give every subschema its own")
	}
	switch {
	case errors.As(err, &schema) && errors.As(schema.Err, &wrong):
		at := fragment(schema.URL)
		part := descend(doc, at)
		e := explainer{doc: part}
		found := e.explain(wrong)
		sortByPlace(found)
		var l fault.List
		l.Within(pathOf(doc, at), found.Faults())
		return l.Err()
	case errors.As(err, &load):
		at, ref := reference(doc, load.URL)
		return one(at, fault.Dangling, shown(ref)+" is outside this schema, and a schema must stand alone", "copy it into $defs")
	case errors.As(err, &pointer):
		at, ref := reference(doc, pointer.URL)
		return one(at, fault.Dangling, shown(ref)+nothing, define)
	case errors.As(err, &anchor):
		at, ref := reference(doc, anchor.Reference)
		return one(at, fault.Dangling, shown(ref)+nothing, define)
	case errors.As(err, &id):
		first, second := order(id.Ptr1, id.Ptr2)
		return again("$id", second, id.ID, first)
	case errors.As(err, &twice):
		first, second := order(twice.Ptr1, twice.Ptr2)
		return again("$anchor", second, twice.Anchor, first)
	case errors.As(err, &badID):
		return one(fault.Field(pathOf(doc, fragment(badID.URL)), "$id"), fault.BadFormat, "is not a URI reference", "write one such as https://example.com/order")
	case errors.As(err, &badURL):
		at, ref := reference(doc, badURL.URL)
		return one(at, fault.BadFormat, shown(ref)+" is not a URI reference", "")
	case errors.As(err, &pattern):
		return one(pathOf(doc, fragment(pattern.URL)), fault.BadFormat, fmt.Sprintf("%s is not a regular expression: %v", shown(pattern.Regex), pattern.Err), "")
	}
	return one(fault.Root, fault.BadFormat, "cannot be used: "+cut(err.Error()), "write a schema of the draft 2020-12")
}

func order(a, b string) (first, second string) { return min(a, b), max(a, b) }

// fragment is what follows the # of a URL.
func fragment(url string) string {
	_, after, _ := strings.Cut(url, "#")
	return after
}

var unescaper = strings.NewReplacer("~1", "/", "~0", "~", "%25", "%")

// walk follows a JSON pointer as far as it goes. The document tells a list's index from a name of digits.
func walk(doc any, pointer string) (any, string) {
	p := fault.Root
	parts := strings.Split(pointer, "/")
	for _, part := range parts[1:] {
		part = unescaper.Replace(part)
		switch d := doc.(type) {
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(d) {
				return doc, p
			}
			p, doc = fault.Index(p, i), d[i]
		case map[string]any:
			v, ok := d[part]
			if !ok {
				return doc, p
			}
			p, doc = fault.Field(p, part), v
		default:
			return doc, p
		}
	}
	return doc, p
}

func descend(doc any, pointer string) any {
	v, _ := walk(doc, pointer)
	return v
}

func pathOf(doc any, pointer string) string {
	_, p := walk(doc, pointer)
	return p
}

// reference finds the reference that the library followed to a URL: it says where that leads, and not where it stands.
func reference(doc any, url string) (at, ref string) {
	best := ""
	at = fault.Root
	var visit func(v any, path string)
	visit = func(v any, path string) {
		switch v := v.(type) {
		case []any:
			for i, e := range v {
				visit(e, fault.Index(path, i))
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				text, isText := v[name].(string)
				isReference := isText && (name == "$ref" || name == "$dynamicRef")
				address, _, _ := strings.Cut(text, "#")
				if isReference && len(text) > len(best) && (strings.HasSuffix(url, strings.TrimLeft(text, "./")) || address != "" && strings.HasSuffix(url, address)) {
					best, at = text, fault.Field(path, name)
				}
				visit(v[name], fault.Field(path, name))
			}
		}
	}
	visit(doc, fault.Root)
	if best == "" {
		best = url
	}
	return at, best
}
