package catalog

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/homeboy"
)

// A Field is one member of a struct as JSON sees it.
type Field struct {
	Name     string
	Index    int
	Type     reflect.Type // a pointer is taken off
	Pointer  bool
	Optional bool // may be absent
	Nullable bool // may be null
	Rules    Rules
}

// Rules are the bounds that a field's `jsonschema` tag, or its type, sets. On a list they hold for its entries,
// but for MinItems.
type Rules struct {
	Minimum, Maximum     *float64
	MinLength, MaxLength int // MaxLength 0: none
	MinItems             int
	Enum                 []string
	Optional             bool // the member itself may be absent
}

// Fields returns the members of a struct type. The types of the contract are plain: no embedding, no `string`
// option; anything else is a programmer's error and panics.
func Fields(t reflect.Type) []Field {
	var fields []Field
	for i := range t.NumField() {
		sf := t.Field(i)
		tag := sf.Tag.Get("json")
		if !sf.IsExported() || tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if name == "" || sf.Anonymous || strings.Contains(options, "string") {
			panic("catalog: " + t.String() + "." + sf.Name + " is not a plain member with a JSON name")
		}
		f := Field{Name: name, Index: i, Type: sf.Type, Optional: strings.HasPrefix(options, "omit")}
		if f.Type.Kind() == reflect.Pointer {
			f.Pointer, f.Type = true, f.Type.Elem()
			f.Nullable = !f.Optional
		}
		f.Rules, f.Nullable = rules(f.Type, sf.Tag.Get("jsonschema"), f.Nullable)
		f.Rules.Optional = f.Optional && f.Type.Kind() == reflect.String
		fields = append(fields, f)
	}
	return fields
}

// Extra returns the index of the field in which a struct keeps the members that it does not know, or -1. Such a struct
// reads and writes itself, and is still an object with the members that Fields lists.
func Extra(t reflect.Type) int {
	if t.Kind() != reflect.Struct {
		return -1
	}
	f, ok := t.FieldByName("Extra")
	if !ok || f.Type != reflect.TypeFor[homeboy.Extra]() {
		return -1
	}
	return f.Index[0]
}

func rules(t reflect.Type, tag string, nullable bool) (Rules, bool) {
	var r Rules
	leaf := t
	for leaf.Kind() == reflect.Slice && leaf.Elem().Kind() != reflect.Uint8 {
		leaf = leaf.Elem()
	}
	r.Enum = Words(leaf)
	if leaf == reflect.TypeFor[agentruntime.Timestamp]() || leaf == reflect.TypeFor[agentruntime.RuntimeEvent]() {
		r.MinLength = 1
	}
	var enum []string
	for part := range strings.SplitSeq(tag, ",") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "nullable":
			nullable = true
		case "minimum":
			r.Minimum = number(value)
		case "maximum":
			r.Maximum = number(value)
		case "minLength":
			r.MinLength = int(*number(value))
		case "maxLength":
			r.MaxLength = int(*number(value))
		case "minItems":
			r.MinItems = int(*number(value))
		case "enum":
			enum = append(enum, value)
		}
	}
	if enum != nil {
		r.Enum = enum
	}
	return r, nullable
}

func number(s string) *float64 {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("catalog: " + s + " in a jsonschema tag is not a number")
	}
	return &n
}
