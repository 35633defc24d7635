package boundary

import (
	"bytes"
	"encoding/json"
	"strings"
)

// A tree is a JSON object that another program wrote: a member of an unexpected type counts as absent.
type tree map[string]any

func parse(raw []byte) (tree, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var t tree
	if err := dec.Decode(&t); err != nil {
		return nil, err
	}
	return t, nil
}

// in returns the object at a path, or nil if there is none. A nil tree can be queried further.
func (t tree) in(path ...string) tree {
	for _, name := range path {
		next, _ := t[name].(map[string]any)
		t = next
	}
	return t
}

// either returns the first of these objects that exists.
func (t tree) either(names ...string) tree {
	for _, n := range names {
		if o := t.in(n); o != nil {
			return o
		}
	}
	return nil
}

// text returns the first of these members that is a non-empty string.
func (t tree) text(names ...string) string {
	for _, n := range names {
		if s, ok := t[n].(string); ok && strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

func (t tree) number(name string) (int64, bool) {
	n, ok := t[name].(json.Number)
	if !ok {
		return 0, false
	}
	v, err := n.Int64()
	return v, err == nil
}

func (t tree) is(name string, want bool) bool {
	b, ok := t[name].(bool)
	return ok && b == want
}

func (t tree) list(name string) []any {
	l, _ := t[name].([]any)
	return l
}

// raw returns the object at a member as JSON, or nil.
func (t tree) raw(name string) json.RawMessage {
	o := t.in(name)
	if o == nil {
		return nil
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil
	}
	return text
}

// hasValue reports whether a value holds something: not null, false, 0, "" or {}.
func hasValue(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return strings.TrimSpace(v) != ""
	case json.Number:
		f, err := v.Float64()
		return err != nil || f != 0
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return true
}
