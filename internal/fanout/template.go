package fanout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/homeboy"
)

// What a template may make of memory: a task of a few words can name all items of a large fanout, many times.
const (
	maxDepth = 100
	maxTask  = 32 << 20
	maxPlan  = 512 << 20
)

var (
	errTooDeep  = fmt.Errorf("is nested deeper than %d levels", maxDepth)
	errTooLarge = fmt.Errorf("renders to more than %d MiB", maxTask>>20)
)

// A scope is what the expressions of a template see, by the first part of their paths.
type scope map[string]node

// A node is something that a path leads into. It returns nil for a path that leads nowhere.
type node interface {
	at(parts []string) homeboy.Value
}

// values is a node whose members are at hand.
type values map[string]homeboy.Value

func (v values) at(parts []string) homeboy.Value {
	if len(parts) > 0 {
		return at(v[parts[0]], parts[1:])
	}
	if v == nil {
		return homeboy.Value("{}")
	}
	raw, err := json.Marshal(map[string]homeboy.Value(v))
	if err != nil {
		return nil
	}
	return raw
}

func (s scope) value(expression string) homeboy.Value {
	parts := strings.Split(strings.TrimSpace(expression), ".")
	n, ok := s[parts[0]]
	if !ok {
		return nil
	}
	return n.at(parts[1:])
}

// A renderer fills in templates for one task.
type renderer struct {
	scope scope
	left  int // bytes that the task may still become
}

func newRenderer(s scope) *renderer { return &renderer{scope: s, left: maxTask} }

// render returns a template with its expressions filled in, at every depth; nil is a value that is not there. The names
// of members are no templates. What an expression gives is not looked at again.
func (r *renderer) render(raw homeboy.Value, depth int) (homeboy.Value, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	var out homeboy.Value
	var err error
	switch kind(raw) {
	case '"':
		s, ok := raw.Text()
		if !ok {
			return nil, errors.New("is not a JSON string")
		}
		if out, err = r.text(s); err != nil {
			return nil, err
		}
	case '[':
		return r.list(raw, depth)
	case '{':
		return r.object(raw, depth)
	default:
		out = raw
	}
	return out, r.spend(len(out))
}

func (r *renderer) spend(n int) error {
	if r.left -= n; r.left < 0 {
		return errTooLarge
	}
	return nil
}

func (r *renderer) list(raw homeboy.Value, depth int) (homeboy.Value, error) {
	all, ok := list(raw)
	if !ok {
		return nil, errors.New("is not a JSON array")
	}
	var out bytes.Buffer
	out.WriteByte('[')
	for i, e := range all {
		v, err := r.render(e, depth+1)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		if i > 0 {
			out.WriteByte(',')
		}
		if v == nil {
			v = homeboy.Value("null") // an array keeps its places
		}
		out.Write(v)
	}
	out.WriteByte(']')
	return out.Bytes(), nil
}

func (r *renderer) object(raw homeboy.Value, depth int) (homeboy.Value, error) {
	o, err := parseObject(raw)
	if err != nil {
		return nil, err
	}
	var out object
	for _, m := range o {
		v, err := r.render(m.value, depth+1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		if v != nil {
			out = append(out, member{m.name, v})
		}
	}
	return out.write(), nil
}

// text fills in one string. An expression that is all of it gives its value as it is; among other text strings stand as
// they are, null and nothing give nothing, and the rest is JSON.
func (r *renderer) text(s string) (homeboy.Value, error) {
	begin, end, ok := expression(s, 0)
	if !ok {
		return quote(s), nil
	}
	if begin == 0 && end == len(s) {
		return r.scope.value(s[2 : len(s)-2]), nil
	}
	var out strings.Builder
	last := 0
	for ok {
		out.WriteString(s[last:begin])
		v, err := inText(r.scope.value(s[begin+2 : end-2]))
		if err != nil {
			return nil, err
		}
		if out.WriteString(v); out.Len() > r.left {
			return nil, errTooLarge
		}
		last = end
		begin, end, ok = expression(s, end)
	}
	out.WriteString(s[last:])
	return quote(out.String()), nil
}

// expression finds the next {{ … }} from a place on. Between the braces stands something, and no closing brace.
func expression(s string, from int) (begin, end int, ok bool) {
	for {
		i := strings.Index(s[from:], "{{")
		if i < 0 {
			return 0, 0, false
		}
		begin = from + i
		j := strings.IndexByte(s[begin+2:], '}')
		if j < 0 {
			return 0, 0, false
		}
		if end = begin + 2 + j; j > 0 && strings.HasPrefix(s[end:], "}}") {
			return begin, end + 2, true
		}
		from = begin + 1
	}
}

func inText(v homeboy.Value) (string, error) {
	if v.Null() {
		return "", nil
	}
	if s, ok := v.Text(); ok {
		return s, nil
	}
	var out bytes.Buffer
	if err := json.Compact(&out, v); err != nil {
		return "", fmt.Errorf("write a value into text: %w", err)
	}
	return out.String(), nil
}
