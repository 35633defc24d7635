package homeboy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// A layout is what reading and writing know of a struct: its members in the order in which they are written, and the
// field that keeps all others.
type layout struct {
	members []member
	index   map[string]int
	extra   int // the field named Extra, or -1
}

type member struct {
	name     string
	field    int
	optional bool
}

var layouts sync.Map // reflect.Type to *layout

func layoutOf(t reflect.Type) *layout {
	if l, ok := layouts.Load(t); ok {
		return l.(*layout)
	}
	l := &layout{index: map[string]int{}, extra: -1}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			l.extra = i
			continue
		}
		l.index[name] = len(l.members)
		l.members = append(l.members, member{name: name, field: i, optional: options == "omitempty"})
	}
	got, _ := layouts.LoadOrStore(t, l)
	return got.(*layout)
}

// writeObject writes a record: known members in the order of the struct, then the others by name. A member of Extra
// whose name is a known one is left out: it could only contradict the field.
func writeObject(record any) ([]byte, error) {
	v := reflect.ValueOf(record)
	l := layoutOf(v.Type())
	var out bytes.Buffer
	out.WriteByte('{')
	for _, m := range l.members {
		f := v.Field(m.field)
		if m.optional && absent(f) {
			continue
		}
		if err := writeMember(&out, m.name, f.Interface()); err != nil {
			return nil, err
		}
	}
	if l.extra >= 0 {
		extra := v.Field(l.extra).Interface().(Extra)
		for _, name := range slices.Sorted(maps.Keys(extra)) {
			if _, known := l.index[name]; known {
				continue
			}
			if err := writeMember(&out, name, extra[name]); err != nil {
				return nil, err
			}
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func writeMember(out *bytes.Buffer, name string, value any) error {
	if v := reflect.ValueOf(value); v.Kind() == reflect.Slice && v.IsNil() && v.Type() != valueType {
		value = reflect.MakeSlice(v.Type(), 0, 0).Interface() // a required list is never null
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	key, err := json.Marshal(name)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if out.Len() > 1 {
		out.WriteByte(',')
	}
	out.Write(key)
	out.WriteByte(':')
	out.Write(text)
	return nil
}

var valueType = reflect.TypeFor[Value]()

// absent reports whether an optional member is left out. An empty list or object that is not nil was said, and stays.
func absent(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice:
		return v.IsNil() || v.Type() == valueType && v.Len() == 0
	case reflect.Map:
		return v.IsNil()
	}
	return v.IsZero()
}

var errNotObject = errors.New("is not an object")

// readObject reads canonical members into the record behind target, and keeps the others in its Extra. Names are
// compared as they are written; encoding/json alone would take Status for status.
func readObject(data []byte, target any) error {
	if string(bytes.TrimSpace(data)) == "null" {
		return nil // as encoding/json has it
	}
	members, err := split(data)
	if err != nil {
		return err
	}
	v := reflect.ValueOf(target).Elem()
	l := layoutOf(v.Type())
	v.SetZero()
	for name, raw := range members {
		i, known := l.index[name]
		if !known {
			keep(v, l, name, raw)
			continue
		}
		if err := json.Unmarshal(raw, v.Field(l.members[i].field).Addr().Interface()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// keep puts an unknown member into Extra.
func keep(v reflect.Value, l *layout, name string, raw Value) {
	if l.extra < 0 {
		return
	}
	f := v.Field(l.extra)
	if f.IsNil() {
		f.Set(reflect.ValueOf(Extra{}))
	}
	f.Interface().(Extra)[name] = raw
}

// split returns the members of one object as they are written.
func split(data []byte) (map[string]Value, error) {
	if t := bytes.TrimSpace(data); len(t) == 0 || t[0] != '{' {
		return nil, errNotObject
	}
	var members map[string]Value
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	return members, nil
}

// Texts is a list of strings that the wild also writes as a single string. It is written as a list.
type Texts []string

// UnmarshalJSON reads a list of strings or one string.
func (t *Texts) UnmarshalJSON(data []byte) error {
	switch d := bytes.TrimSpace(data); {
	case len(d) > 0 && d[0] == '"':
		var one string
		if err := json.Unmarshal(data, &one); err != nil {
			return err
		}
		*t = Texts{one}
		return nil
	case len(d) > 0 && d[0] == '[':
		list := []*string{}
		if err := json.Unmarshal(data, &list); err != nil {
			return errNotTexts
		}
		*t = make(Texts, len(list))
		for i, s := range list {
			if s == nil {
				return errNotTexts
			}
			(*t)[i] = *s
		}
		return nil
	}
	return errNotTexts
}

var errNotTexts = errors.New("is neither a string nor a list of strings")
