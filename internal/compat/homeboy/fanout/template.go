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

// values is a node whose members are parsed.
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

func (s scope) value(path []string) homeboy.Value {
	n, ok := s[path[0]]
	if !ok {
		return nil
	}
	return n.at(path[1:])
}

// pathOf splits an expression into the parts of its path.
func pathOf(expression string) []string { return strings.Split(strings.TrimSpace(expression), ".") }

// A template is a JSON value with expressions in its strings, taken apart once. Exactly one member is set.
type template struct {
	literal homeboy.Value // has no expression
	value   []string      // the path of an expression that is all of a string
	text    []segment     // a string with expressions in it
	list    []template
	object  []namedTemplate
}

// A segment is literal text, or an expression.
type segment struct {
	literal string
	path    []string // nil: literal
}

type namedTemplate struct {
	name string
	template
}

// compile takes a template apart, at every depth. The names of members are no templates.
func compile(raw homeboy.Value, depth int) (template, error) {
	if depth > maxDepth {
		return template{}, errTooDeep
	}
	switch kind(raw) {
	case '"':
		s, ok := raw.Text()
		if !ok {
			return template{}, errors.New("is not a JSON string")
		}
		return compileText(s), nil
	case '[':
		return compileList(raw, depth)
	case '{':
		return compileObject(raw, depth)
	}
	return template{literal: raw}, nil
}

func compileList(raw homeboy.Value, depth int) (template, error) {
	all, ok := list(raw)
	if !ok {
		return template{}, errors.New("is not a JSON array")
	}
	t, plain := template{list: []template{}}, true
	for i, e := range all {
		c, err := compile(e, depth+1)
		if err != nil {
			return template{}, fmt.Errorf("[%d]: %w", i, err)
		}
		plain = plain && c.literal != nil
		t.list = append(t.list, c)
	}
	if plain {
		return template{literal: raw}, nil
	}
	return t, nil
}

func compileObject(raw homeboy.Value, depth int) (template, error) {
	o, err := parseObject(raw)
	if err != nil {
		return template{}, err
	}
	t, plain := template{object: []namedTemplate{}}, true
	for _, m := range o {
		c, err := compile(m.value, depth+1)
		if err != nil {
			return template{}, fmt.Errorf("%s: %w", m.name, err)
		}
		plain = plain && c.literal != nil
		t.object = append(t.object, namedTemplate{m.name, c})
	}
	if plain {
		return template{literal: o.write()}, nil
	}
	return t, nil
}

func compileText(s string) template {
	begin, end, ok := expression(s, 0)
	if !ok {
		return template{literal: quote(s)}
	}
	if begin == 0 && end == len(s) {
		return template{value: pathOf(s[2 : len(s)-2])}
	}
	var t template
	last := 0
	for ok {
		t.text = append(t.text, segment{literal: s[last:begin]}, segment{path: pathOf(s[begin+2 : end-2])})
		last = end
		begin, end, ok = expression(s, end)
	}
	t.text = append(t.text, segment{literal: s[last:]})
	return t
}

// A renderer fills in templates for one task.
type renderer struct {
	scope scope
	left  int // bytes that the task may still become
}

func newRenderer(s scope) *renderer { return &renderer{scope: s, left: maxTask} }

// render returns a template with its expressions filled in; nil is a value that is not there. What an expression gives
// is not looked at again.
func (r *renderer) render(t template) (homeboy.Value, error) {
	switch {
	case t.list != nil:
		return r.list(t.list)
	case t.object != nil:
		return r.object(t.object)
	case t.text != nil:
		return r.text(t.text)
	case t.value != nil:
		v := r.scope.value(t.value)
		return v, r.spend(len(v))
	}
	return t.literal, r.spend(len(t.literal))
}

func (r *renderer) spend(n int) error {
	if r.left -= n; r.left < 0 {
		return errTooLarge
	}
	return nil
}

func (r *renderer) list(all []template) (homeboy.Value, error) {
	var out bytes.Buffer
	out.WriteByte('[')
	for i, e := range all {
		v, err := r.render(e)
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

func (r *renderer) object(all []namedTemplate) (homeboy.Value, error) {
	var out object
	for _, m := range all {
		v, err := r.render(m.template)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		if v != nil {
			out = append(out, member{m.name, v})
		}
	}
	return out.write(), nil
}

// text fills in a string. Strings stay as they are, null and absent values give nothing, and the rest is JSON.
func (r *renderer) text(all []segment) (homeboy.Value, error) {
	var out strings.Builder
	for _, s := range all {
		word := s.literal
		if s.path != nil {
			var err error
			if word, err = inText(r.scope.value(s.path)); err != nil {
				return nil, err
			}
		}
		if err := r.spend(len(word)); err != nil {
			return nil, err
		}
		out.WriteString(word)
	}
	return quote(out.String()), nil
}

// expression finds the next {{ … }} from a position on. There must be something between the braces, and no closing
// brace.
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
