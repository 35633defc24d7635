package canonjson

import (
	"cmp"
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A value whose form is plain from its type is written straight away: a brief of a thousand files is mostly text, and as text, in
// order and once more in order it would be walked through four times. Everything else goes through text, so that encoding/json alone says
// what a value with methods or rare tags looks like.

// maxDepth is where values are left to encoding/json, which knows one that contains itself.
const maxDepth = 500

// maxExact is the largest integer up to which all are doubles.
const maxExact = 1 << 53

// appendValue appends the canonical form of v.
func appendValue(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	if !v.IsValid() {
		return append(dst, "null"...), nil
	}
	form := formOf(v.Type())
	if form.rare || depth > maxDepth {
		return appendRare(dst, v)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return appendValue(dst, v.Elem(), depth+1)
	case reflect.Bool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if n := v.Int(); -maxExact <= n && n <= maxExact {
			return strconv.AppendInt(dst, n, 10), nil
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if n := v.Uint(); n <= maxExact {
			return strconv.AppendUint(dst, n, 10), nil
		}
	case reflect.Float64:
		if f := v.Float(); f != 0 && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return jsontext.AppendFloat(dst, f, 64), nil
		}
	case reflect.String:
		return appendString(dst, v.String()), nil
	case reflect.Slice, reflect.Array:
		return appendList(dst, v, depth)
	case reflect.Map:
		return appendMap(dst, v, depth)
	case reflect.Struct:
		return appendStruct(dst, v, form.fields, depth)
	}
	return appendRare(dst, v)
}

// appendRare appends what encoding/json makes of a value, put in order.
func appendRare(dst []byte, v reflect.Value) ([]byte, error) {
	if v.CanAddr() { // a method of the pointer counts, as it does for encoding/json
		v = v.Addr()
	}
	out, err := throughText(v.Interface())
	return append(dst, out...), err
}

// appendString writes a byte that is no UTF-8 as the replacement character, as encoding/json does.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

func appendList(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	if v.Kind() == reflect.Slice && v.IsNil() {
		return append(dst, "null"...), nil
	}
	dst = append(dst, '[')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendValue(dst, v.Index(i), depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func appendMap(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	if v.IsNil() {
		return append(dst, "null"...), nil
	}
	keys := v.MapKeys()
	for _, k := range keys {
		if !utf8.ValidString(k.String()) { // two of them may be written alike
			return appendRare(dst, v)
		}
	}
	slices.SortFunc(keys, func(a, b reflect.Value) int { return compareNames(a.String(), b.String()) })
	dst = append(dst, '{')
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, k.String()), ':')
		var err error
		if dst, err = appendValue(dst, v.MapIndex(k), depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func appendStruct(dst []byte, v reflect.Value, fields []field, depth int) ([]byte, error) {
	dst = append(dst, '{')
	sep := false
	for _, f := range fields {
		x := v.FieldByIndex(f.index)
		if f.omitEmpty && isEmpty(x) {
			continue
		}
		if sep {
			dst = append(dst, ',')
		}
		sep = true
		dst = append(dst, f.quoted...)
		var err error
		if dst, err = appendValue(dst, x, depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// isEmpty is what encoding/json leaves out by omitempty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// compareNames orders by UTF-16 code unit.
func compareNames(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] >= utf8.RuneSelf || b[i] >= utf8.RuneSelf {
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		}
		if a[i] != b[i] {
			break
		}
	}
	return strings.Compare(a, b)
}

// A form is how values of a type are written.
type form struct {
	rare   bool    // by encoding/json
	fields []field // of a struct, in order
}

type field struct {
	name      string
	quoted    string // with the colon
	index     []int
	omitEmpty bool
}

var (
	forms         sync.Map // reflect.Type to *form
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	number        = reflect.TypeFor[json.Number]()
)

func formOf(t reflect.Type) *form {
	if f, ok := forms.Load(t); ok {
		return f.(*form)
	}
	f, _ := forms.LoadOrStore(t, newForm(t))
	return f.(*form)
}

func newForm(t reflect.Type) *form {
	p := reflect.PointerTo(t)
	if t == number || t.Kind() != reflect.Interface && (p.Implements(marshaler) || p.Implements(textMarshaler)) {
		return &form{rare: true}
	}
	switch t.Kind() {
	case reflect.Slice:
		return &form{rare: t.Elem().Kind() == reflect.Uint8} // base64
	case reflect.Map:
		return &form{rare: t.Key().Kind() != reflect.String}
	case reflect.Struct:
		fields, ok := fieldsOf(t, nil)
		if !ok {
			return &form{rare: true}
		}
		slices.SortFunc(fields, func(a, b field) int { return compareNames(a.name, b.name) })
		return &form{fields: fields}
	}
	return &form{}
}

// fieldsOf lists the members of a struct with those of structs in it that have no name of their own. It is not ok when encoding/json has a
// rule for them that is not repeated here.
func fieldsOf(t reflect.Type, above []int) (fields []field, ok bool) {
	var inner []field
	for i := range t.NumField() {
		sf := t.Field(i)
		tag := sf.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		index := append(slices.Clone(above), i)
		switch {
		case tag == "-":
		case sf.Anonymous && name == "":
			if sf.Type.Kind() != reflect.Struct {
				return nil, false
			}
			list, ok := fieldsOf(sf.Type, index)
			if !ok {
				return nil, false
			}
			inner = append(inner, list...)
		case !sf.IsExported() && !sf.Anonymous:
		case sf.Anonymous, options != "" && options != "omitempty", strings.ContainsFunc(name, unusual):
			return nil, false
		default:
			name = cmp.Or(name, sf.Name)
			fields = append(fields, field{name, string(appendString(nil, name)) + ":", index, options != ""})
		}
	}
	named := map[string]int{}
	for _, f := range fields {
		named[f.name]++
	}
	hides := len(fields)
	for _, f := range inner {
		if slices.ContainsFunc(fields[:hides], func(o field) bool { return o.name == f.name }) {
			continue // the outer one hides it
		}
		named[f.name]++
		fields = append(fields, f)
	}
	for _, n := range named {
		if n > 1 { // tags decide which of them counts
			return nil, false
		}
	}
	return fields, true
}

// unusual reports a character that may make encoding/json refuse a name in a tag.
func unusual(r rune) bool {
	return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}
