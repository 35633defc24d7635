package schema

import (
	"encoding/json"
	"reflect"
	"sync"

	"github.com/deedrun/deed/contract/schema/internal/catalog"
)

// A form is the JSON form that a Go type is read from.
type form int

const (
	text form = iota
	integer
	number
	boolean
	list
	table     // an object with any names and entries of one type
	object    // a struct
	union     // one of several structs
	rawObject // an object that is kept as it was written
	anything  // any JSON, decoded without a type
	foreign   // a type with its own UnmarshalJSON or UnmarshalText
)

// A shape is what the decoder knows about a type. Shapes are made once for each type, on first use.
type shape struct {
	form     form
	typ      reflect.Type
	entry    *shape // of a list or a table
	fields   []member
	index    map[string]int
	names    []string
	required uint64 // bits of fields
	open     bool
	extra    int    // the field that keeps unknown members, or -1
	schemaID string // what the member named schema must hold
	union    *catalog.Union
}

type member struct {
	catalog.Field
	shape *shape
	holds *shape // what a raw member holds
}

var (
	shapes     sync.Map // reflect.Type to *shape
	shapesLock sync.Mutex
)

// shapeOf returns the shape of a type.
func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	// Built under a lock and published whole: a recursive type must never be seen half made.
	shapesLock.Lock()
	defer shapesLock.Unlock()
	made := map[reflect.Type]*shape{}
	s := build(t, made)
	for t, s := range made {
		shapes.LoadOrStore(t, s)
	}
	return s
}

var (
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
	rawMessage  = reflect.TypeFor[json.RawMessage]()
)

func build(t reflect.Type, made map[reflect.Type]*shape) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	if s := made[t]; s != nil {
		return s
	}
	s := &shape{typ: t}
	made[t] = s
	switch {
	case t == rawMessage:
		s.form = rawObject
		return s
	case catalog.UnionOf(t) != nil:
		s.form, s.union = union, catalog.UnionOf(t)
		for _, m := range s.union.Members {
			build(m.Type, made)
		}
		return s
	case reflect.PointerTo(t).Implements(unmarshaler) && catalog.Extra(t) < 0:
		s.form = foreign
		return s
	}
	switch t.Kind() {
	case reflect.String:
		s.form = text
	case reflect.Bool:
		s.form = boolean
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		s.form = integer
	case reflect.Float32, reflect.Float64:
		s.form = number
	case reflect.Slice:
		s.form, s.entry = list, build(t.Elem(), made)
	case reflect.Map:
		s.form, s.entry = table, build(t.Elem(), made)
	case reflect.Struct:
		s.form = object
		buildFields(s, made)
	case reflect.Interface:
		s.form = anything
	default:
		panic("schema: " + t.String() + " has no JSON form here")
	}
	return s
}

func buildFields(s *shape, made map[reflect.Type]*shape) {
	s.open = catalog.Open(s.typ)
	s.extra = catalog.Extra(s.typ)
	s.schemaID = catalog.SchemaID(s.typ)
	s.index = map[string]int{}
	for i, f := range catalog.Fields(s.typ) {
		if i == 64 {
			panic("schema: " + s.typ.String() + " has more members than the decoder can mark as seen")
		}
		m := member{Field: f, shape: build(f.Type, made)}
		if held := catalog.Raw(s.typ, f.Name); held != nil {
			m.holds = build(held, made)
		}
		s.fields = append(s.fields, m)
		s.names = append(s.names, f.Name)
		s.index[f.Name] = i
		if !f.Optional {
			s.required |= 1 << i
		}
	}
}

// says names the JSON type of a form, for people.
func (f form) says() string {
	switch f {
	case text:
		return "a string"
	case integer:
		return "a whole number"
	case number:
		return "a number"
	case boolean:
		return "true or false"
	case list:
		return "a list"
	case table, object, union, rawObject:
		return "an object"
	}
	return "a value"
}
