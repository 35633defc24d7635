package bundle

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/deedrun/deed/contract/evidence"
)

// typedManifest makes the manifest that later readers use of the tree that was verified. Every bundle that is verified has one:
// a member that has another form than deed knows is left out, and names are matched exactly, so that no reader uses another
// member than the one that was checked.
func typedManifest(tree map[string]any) (*evidence.Manifest, error) {
	known, _ := fit(tree, reflect.TypeFor[evidence.Manifest]())
	text, err := json.Marshal(known)
	if err != nil {
		return nil, err
	}
	m := &evidence.Manifest{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, err
	}
	return m, nil
}

// fit returns what a type can hold of a decoded value; ok is false when that is nothing. Entries of a list keep their places
// only when all of them fit, as those of a verified manifest's lists of files and cases do.
func fit(v any, t reflect.Type) (out any, ok bool) {
	if t == reflect.TypeFor[evidence.Value]() {
		return v, true
	}
	switch t.Kind() {
	case reflect.Interface:
		return v, true
	case reflect.Pointer:
		return fit(v, t.Elem())
	case reflect.String:
		_, ok = v.(string)
		return v, ok
	case reflect.Bool:
		_, ok = v.(bool)
		return v, ok
	case reflect.Map:
		_, ok = v.(map[string]any)
		return v, ok
	case reflect.Slice:
		return fitList(v, t.Elem())
	case reflect.Struct:
		return fitObject(v, t)
	}
	return nil, false
}

func fitList(v any, entry reflect.Type) (any, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := make([]any, 0, len(list))
	for _, e := range list {
		if e, ok := fit(e, entry); ok {
			out = append(out, e)
		}
	}
	return out, true
}

func fitObject(v any, t reflect.Type) (any, bool) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	out := make(map[string]any, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if member, there := m[name]; there {
			if member, ok := fit(member, f.Type); ok {
				out[name] = member
			}
		}
	}
	return out, true
}
