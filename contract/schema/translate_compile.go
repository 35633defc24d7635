package schema

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/deedrun/deed/contract/fault"
)

// translateCompile turns what the compiler says of a schema into faults with paths in the schema.
func translateCompile(err error, doc any) error {
	var (
		invalid *jsonschema.SchemaValidationError
		load    *jsonschema.LoadURLError
		missing *jsonschema.JSONPointerNotFoundError
		anchor  *jsonschema.AnchorNotFoundError
		id      *jsonschema.ParseIDError
		twice   *jsonschema.DuplicateIDError
		anchors *jsonschema.DuplicateAnchorError
	)
	switch {
	case errors.As(err, &invalid):
		// A subschema in a place that the draft does not know is checked by itself, when something refers to it.
		sub, at := descend(doc, pointer(invalid.URL))
		var l fault.List
		l.Within(at, translate(invalid.Err, sub, nil))
		return l.Err()
	case errors.As(err, &load):
		ref, at := reference(doc, load.URL)
		return one(at, fault.Dangling, shown(ref)+" "+errOutside.Error(), "copy it into $defs")
	case errors.As(err, &missing):
		ref, at := reference(doc, missing.URL)
		return one(at, fault.Dangling, shown(ref)+" refers to nothing in this schema", "define it in $defs")
	case errors.As(err, &anchor):
		ref, at := reference(doc, anchor.Reference)
		return one(at, fault.Dangling, shown(ref)+" refers to nothing in this schema", "define it in $defs")
	case errors.As(err, &id):
		_, at := descend(doc, pointer(id.URL))
		return one(fault.Field(at, "$id"), fault.BadFormat, "is not a URI reference", "write one such as https://example.com/order")
	case errors.As(err, &twice):
		return again(doc, "$id", twice.ID, twice.Ptr1, twice.Ptr2)
	case errors.As(err, &anchors):
		return again(doc, "$anchor", anchors.Anchor, anchors.Ptr1, anchors.Ptr2)
	}
	return one(fault.Root, fault.BadFormat, cut(err.Error()), "")
}

func again(doc any, keyword, name, ptr1, ptr2 string) error {
	_, a := descend(doc, pointer("#"+ptr1))
	_, b := descend(doc, pointer("#"+ptr2))
	if b < a { // the compiler walks objects in the order of Go's maps
		a, b = b, a
	}
	return one(fault.Field(b, keyword), fault.Duplicate, fmt.Sprintf("%s is the name of %s too", shown(name), a), "give every subschema its own")
}

// reference finds the reference that the compiler resolved to a URL, and its path. When none can be told it returns
// the URL and the root.
func reference(doc any, to string) (ref, path string) {
	whole, fragment, _ := strings.Cut(to, "#")
	matches := func(ref string) bool {
		address, frag, _ := strings.Cut(ref, "#")
		if f, err := url.PathUnescape(frag); err == nil {
			frag = f
		}
		want := fragment
		if f, err := url.PathUnescape(want); err == nil {
			want = f
		}
		// A URL that could not be loaded has lost its fragment, and a relative reference its base.
		here := address == "" || whole == address || strings.HasSuffix(whole, "/"+address)
		return here && (frag == want || fragment == "" && address != "")
	}
	var find func(v any, at string) bool
	find = func(v any, at string) bool {
		switch v := v.(type) {
		case []any:
			for i, e := range v {
				if find(e, fault.Index(at, i)) {
					return true
				}
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				s, isText := v[k].(string)
				if isText && (k == "$ref" || k == "$dynamicRef") && matches(s) {
					ref, path = s, fault.Field(at, k)
					return true
				}
				if find(v[k], fault.Field(at, k)) {
					return true
				}
			}
		}
		return false
	}
	if find(doc, fault.Root) {
		return ref, path
	}
	return to, fault.Root
}
