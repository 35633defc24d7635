package fanout

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/canonjson"
)

// An object is the members of a JSON object in the order in which they are written.
type object []member

type member struct {
	name  string
	value homeboy.Value
}

var errNotObject = errors.New("is not an object")

// parseObject returns the members of raw. Of a name that is there twice the last counts, as readers of JSON have it.
func parseObject(raw homeboy.Value) (object, error) {
	d := reader(raw)
	if d.PeekKind() != '{' {
		return nil, errNotObject
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	var o object
	var place map[string]int // of the names, where they are too many to look through
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String() // before the next read, which takes the token's memory
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		end := int(d.InputOffset())
		m := member{key, raw[end-len(value) : end : end]}
		if place == nil && len(o) == few {
			place = o.places()
		}
		if place == nil {
			o = o.with(m.name, m.value)
			continue
		}
		if i, twice := place[key]; twice {
			o[i].value = m.value
			continue
		}
		place[key] = len(o)
		o = append(o, m)
	}
	return o, nil
}

// few is how many names are looked through faster than they are indexed.
const few = 16

func (o object) places() map[string]int {
	out := make(map[string]int, 2*len(o))
	for i, m := range o {
		out[m.name] = i
	}
	return out
}

// reader reads JSON as tolerantly as encoding/json, from where the values came.
func reader(raw homeboy.Value) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

func (o object) get(name string) homeboy.Value {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// with returns the object with a member set, in the place that it has or at the end.
func (o object) with(name string, value homeboy.Value) object {
	for i := range o {
		if o[i].name == name {
			o[i].value = value
			return o
		}
	}
	return append(o, member{name, value})
}

func (o object) write() homeboy.Value {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(quote(m.name))
		out.WriteByte(':')
		out.Write(m.value)
	}
	out.WriteByte('}')
	return out.Bytes()
}

// list returns the elements of an array.
func list(raw homeboy.Value) ([]homeboy.Value, bool) {
	if kind(raw) != '[' {
		return nil, false
	}
	var out []homeboy.Value
	return out, json.Unmarshal(raw, &out) == nil
}

// kind returns the first byte of a value, which shows its type; 0 for none.
func kind(raw homeboy.Value) byte {
	if t := bytes.TrimSpace(raw); len(t) > 0 {
		return t[0]
	}
	return 0
}

// quote returns a text as JSON.
func quote(s string) homeboy.Value {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil { // not UTF-8: what is no character is replaced
		b, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return b
}

func number(n int) homeboy.Value { return strconv.AppendInt(nil, int64(n), 10) }

func texts(all []string) homeboy.Value {
	var out bytes.Buffer
	out.WriteByte('[')
	for i, s := range all {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(quote(s))
	}
	out.WriteByte(']')
	return out.Bytes()
}

// text returns what a value says where a text is asked for: a string without the blanks around it, or a number as
// JavaScript writes it. Anything else says nothing.
func text(raw homeboy.Value) string {
	switch c := kind(raw); {
	case c == '"':
		s, _ := raw.Text()
		return strings.TrimSpace(s)
	case c == '-' || c >= '0' && c <= '9':
		n, err := canonjson.Canonicalize(append([]byte("["), append(bytes.TrimSpace(raw), ']')...))
		if err != nil {
			return "" // no finite number
		}
		return string(n[1 : len(n)-1])
	}
	return ""
}

func firstText(values ...homeboy.Value) string {
	for _, v := range values {
		if s := text(v); s != "" {
			return s
		}
	}
	return ""
}

// at follows a dotted path into a value. Parts are names of members, or indices of an array; length is that of an array.
// A path that leads nowhere gives nil.
func at(v homeboy.Value, parts []string) homeboy.Value {
	for _, part := range parts {
		switch kind(v) {
		case '{':
			o, err := parseObject(v)
			if err != nil {
				return nil
			}
			v = o.get(part)
		case '[':
			all, ok := list(v)
			if !ok {
				return nil
			}
			v = element(all, part)
		default:
			return nil
		}
	}
	return v
}

func element(all []homeboy.Value, part string) homeboy.Value {
	if part == "length" {
		return number(len(all))
	}
	i, err := strconv.Atoi(part)
	if err != nil || i < 0 || i >= len(all) || strconv.Itoa(i) != part {
		return nil
	}
	return all[i]
}
