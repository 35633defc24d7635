package redact

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
)

// Value redacts every string of *v that its JSON form would show: members, elements, map keys, byte slices, and the
// strings and keys inside json.RawMessage, which are decoded first so that escapes hide nothing and which come back as
// valid JSON. Names of struct fields, numbers and booleans stay as they are. v is a pointer to anything that
// encoding/json round-trips; what *v shares with other values is copied, never changed in place. On an error *v is left
// as it was. Of two map keys that become equal one is kept.
func (r *Redactor) Value(v any) error {
	if !r.Active() {
		return nil
	}
	p := reflect.ValueOf(v)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return fmt.Errorf("redact: a value of type %T is no pointer to redact behind", v)
	}
	_, err := r.behind(p.Elem(), p.Elem().Set)
	return err
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	jsonNumber    = reflect.TypeFor[json.Number]()
)

func marshals(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(jsonMarshaler) || p.Implements(textMarshaler)
}

// behind redacts a copy of v and hands it to set when it differs.
func (r *Redactor) behind(v reflect.Value, set func(reflect.Value)) (bool, error) {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	changed, err := r.walk(c)
	if changed && err == nil {
		set(c)
	}
	return changed, err
}

// walk redacts v, which is settable and not shared, and reports whether it changed.
func (r *Redactor) walk(v reflect.Value) (bool, error) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return false, nil
		}
		return r.behind(v.Elem(), func(c reflect.Value) { v.Set(c.Addr()) })
	case reflect.Interface:
		if v.IsNil() {
			return false, nil
		}
		return r.behind(v.Elem(), v.Set)
	}
	// The fields of an embedded struct of an unexported type are promoted; the struct's own methods are out of reach.
	if v.CanInterface() && marshals(v.Type()) {
		return r.remarshal(v)
	}
	switch v.Kind() {
	case reflect.String:
		if v.Type() == jsonNumber {
			return false, nil
		}
		out, counts := r.Redact([]byte(v.String()))
		if counts.Total() == 0 {
			return false, nil
		}
		v.SetString(string(out))
		return true, nil
	case reflect.Struct:
		return r.fields(v)
	case reflect.Map:
		return r.entries(v)
	case reflect.Slice:
		return r.slice(v)
	case reflect.Array:
		return r.elements(v)
	}
	return false, nil
}

func (r *Redactor) fields(v reflect.Value) (changed bool, err error) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() && !(f.Anonymous && f.Type.Kind() == reflect.Struct) {
			continue
		}
		c, err := r.walk(v.Field(i))
		if err != nil {
			return false, fmt.Errorf("%s: %w", f.Name, err)
		}
		changed = changed || c
	}
	return changed, nil
}

func (r *Redactor) entries(v reflect.Value) (changed bool, err error) {
	if v.IsNil() {
		return false, nil
	}
	t := v.Type()
	if t.Key().Kind() != reflect.String && marshals(t.Key()) {
		return r.remarshal(v)
	}
	out := reflect.MakeMapWithSize(t, v.Len())
	for it := v.MapRange(); it.Next(); {
		key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		key.Set(it.Key())
		value.Set(it.Value())
		for _, part := range []reflect.Value{key, value} {
			c, err := r.walk(part)
			if err != nil {
				return false, err
			}
			changed = changed || c
		}
		out.SetMapIndex(key, value)
	}
	if changed {
		v.Set(out)
	}
	return changed, nil
}

func (r *Redactor) slice(v reflect.Value) (bool, error) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		out, counts := r.Redact(v.Bytes())
		if counts.Total() == 0 {
			return false, nil
		}
		v.SetBytes(out)
		return true, nil
	}
	if v.Len() == 0 {
		return false, nil
	}
	out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(out, v)
	changed, err := r.elements(out)
	if changed && err == nil {
		v.Set(out)
	}
	return changed, err
}

func (r *Redactor) elements(v reflect.Value) (changed bool, err error) {
	for i := range v.Len() {
		c, err := r.walk(v.Index(i))
		if err != nil {
			return false, err
		}
		changed = changed || c
	}
	return changed, nil
}

// remarshal redacts the strings of what v writes as JSON and reads the result back.
func (r *Redactor) remarshal(v reflect.Value) (bool, error) {
	text, err := json.Marshal(v.Addr().Interface())
	if err != nil {
		return false, err
	}
	text, changed, err := r.JSON(text)
	if err != nil || !changed {
		return false, err
	}
	fresh := reflect.New(v.Type())
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(fresh.Interface()); err != nil {
		return false, fmt.Errorf("read a redacted %s: %w", v.Type(), err)
	}
	v.Set(fresh.Elem())
	return true, nil
}

// JSON redacts each string of a valid JSON text, names of members included, and leaves every other byte alone, so that
// numbers keep their digits and members their order. Strings are decoded first, so that escapes hide nothing. Without a
// hit it returns the text itself, and false.
func (r *Redactor) JSON(text []byte) (out []byte, changed bool, err error) {
	if !r.Active() {
		return text, false, nil
	}
	done := 0 // what of text is in out
	for at := 0; ; {
		start := bytes.IndexByte(text[at:], '"')
		if start < 0 {
			break
		}
		start += at
		if at, err = literalEnd(text, start); err != nil {
			return nil, false, err
		}
		clean, hit, err := r.literal(text[start:at])
		if err != nil {
			return nil, false, err
		}
		if hit {
			out = append(append(out, text[done:start]...), clean...)
			done = at
		}
	}
	if done == 0 {
		return text, false, nil
	}
	return append(out, text[done:]...), true, nil
}

// literalEnd returns where the literal ends that begins at a quote.
func literalEnd(text []byte, start int) (int, error) {
	for at := start + 1; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++ // what follows it is of the literal, whatever it is
		case '"':
			return at + 1, nil
		}
	}
	return 0, fmt.Errorf("redact: a string that begins at byte %d of a JSON text does not end", start)
}

// literal redacts one string literal. One without an escape is looked at as it stands.
func (r *Redactor) literal(text []byte) (clean []byte, hit bool, err error) {
	said := text[1 : len(text)-1]
	if bytes.IndexByte(said, '\\') >= 0 {
		var s string
		if err := json.Unmarshal(text, &s); err != nil {
			return nil, false, err
		}
		said = []byte(s)
	}
	out, counts := r.Redact(said)
	if counts.Total() == 0 {
		return text, false, nil
	}
	clean, err = json.Marshal(string(out))
	return clean, true, err
}
