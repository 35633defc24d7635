package homeboy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// Lookup returns what a decoded request has at a dotted path, such as executor.config.provider. A list has its entries by
// number. Manifests speak of requests by such paths, also of members that no record knows.
func Lookup(doc map[string]any, path string) (any, bool) {
	path = fieldPath(path)
	if path == "" {
		return nil, false
	}
	var v any = doc
	for _, name := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		switch in := v.(type) {
		case map[string]any:
			next, ok := in[name]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// fieldPath takes the root off a path: $.a.b and a.b are the same.
func fieldPath(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(path), "$"), ".")
}

// CheckRequest holds a decoded request to the fields that the provider requires: they are there and say something. The error
// is a fault.Faults.
func (p ExecutorProvider) CheckRequest(doc map[string]any) error {
	var l fault.List
	for _, path := range p.RequestRequiredFields {
		v, there := Lookup(doc, path)
		at := "$." + fieldPath(path)
		s, text := v.(string)
		switch {
		case !there || v == nil:
			l.Add(at, fault.MissingField, fmt.Sprintf("is missing, and provider %s requires it", p.ID), "add it to the request")
		case text && strings.TrimSpace(s) == "":
			l.Add(at, fault.Blank, fmt.Sprintf("is blank, and provider %s requires it", p.ID), "say something there")
		}
	}
	return l.Err()
}
