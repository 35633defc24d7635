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

// A shape is what the decoder knows about a type. Shapes are made once for each type, on first use, and so are the members of one: the
// largest record has those of a hundred others below it, and a document names few of them.
type shape struct {
	form  form
	typ   reflect.Type
	entry *shape // of a list or a table
	union *catalog.Union

	once sync.Once
	made members // of an object; see members
}

// The members of a struct.
type members struct {
	fields   []member
	index    map[string]int
	names    []string
	required uint64 // bits of fields
	open     bool
	extra    int    // the field that keeps unknown members, or -1
	schemaID string // what the member named schema must hold
}

type member struct {
	catalog.Field
	shape *shape
	holds *shape // what a raw member holds
}

var shapes sync.Map // reflect.Type to *shape

var (
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
	rawMessage  = reflect.TypeFor[json.RawMessage]()
)

// shapeOf returns the shape of a type.
func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s, _ := shapes.LoadOrStore(t, build(t))
	return s.(*shape)
}

func build(t reflect.Type) *shape {
	s := &shape{typ: t}
	switch {
	case t == rawMessage:
		s.form = rawObject
		return s
	case catalog.UnionOf(t) != nil:
		s.form, s.union = union, catalog.UnionOf(t)
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
		s.form, s.entry = list, shapeOf(t.Elem())
	case reflect.Map:
		s.form, s.entry = table, shapeOf(t.Elem())
	case reflect.Struct:
		s.form = object
	case reflect.Interface:
		s.form = anything
	default:
		panic("schema: " + t.String() + " has no JSON form here")
	}
	return s
}

// members returns those of an object.
func (s *shape) members() *members {
	s.once.Do(func() {
		m := &s.made
		m.open = catalog.Open(s.typ)
		m.extra = catalog.Extra(s.typ)
		m.schemaID = catalog.SchemaID(s.typ)
		m.index = map[string]int{}
		for i, f := range catalog.Fields(s.typ) {
			if i == 64 {
				panic("schema: " + s.typ.String() + " has more members than the decoder can mark as seen")
			}
			one := member{Field: f, shape: shapeOf(f.Type)}
			if held := catalog.Raw(s.typ, f.Name); held != nil {
				one.holds = shapeOf(held)
			}
			m.fields = append(m.fields, one)
			m.names = append(m.names, f.Name)
			m.index[f.Name] = i
			if !f.Optional {
				m.required |= 1 << i
			}
		}
	})
	return &s.made
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
