package schema

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/fault"
)

// Decode reads one record strictly. Every fault is reported at once as fault.Faults: what is not JSON, a name that
// occurs twice or that the record does not have, a missing member, a wrong type, a bound, and what the record's own
// Validate finds. Records that deed itself writes may hold members that this version does not know.
//
// T need not be a published record: any struct of plain members with JSON names can be read. When id is not empty
// and the record names its schema, it must be this one.
func Decode[T any](id string, data []byte) (T, error) {
	var v T
	err := decode(id, data, reflect.ValueOf(&v).Elem())
	if err != nil {
		var zero T
		return zero, err
	}
	return v, nil
}

// decode reads data into v and validates it.
func decode(id string, data []byte, v reflect.Value) error {
	s := scanner{data: data, path: make([]step, 0, 16), keys: make([][]byte, 0, 48)}
	if !s.document(func() bool { return s.read(shapeOf(v.Type()), nil, v) }) {
		return s.faults.Err()
	}
	found := s.faults.Faults()
	if id != "" && v.Kind() == reflect.Struct {
		found = append(found, names(id, v)...)
	}
	if c, ok := v.Addr().Interface().(interface{ Validate() error }); ok {
		found = merge(found, c.Validate())
	}
	return found.Err()
}

// names demands that a record whose type the catalog does not know names the schema it was asked for.
func names(id string, v reflect.Value) fault.Faults {
	f := v.FieldByName("Schema")
	known := shapeOf(v.Type())
	if known.form == object && known.members().schemaID != "" || !f.IsValid() || f.Kind() != reflect.String || f.String() == "" || f.String() == id {
		return nil
	}
	return fault.Faults{{Path: "$.schema", Code: fault.WrongSchema, Message: fmt.Sprintf("%q is not the schema of this record", clip([]byte(f.String()))), Remedy: fmt.Sprintf("write %q", id)}}
}

// document reads one whole text. It returns false, with the fault added, when the text is not one JSON value.
func (s *scanner) document(value func() bool) bool {
	if !utf8.Valid(s.data) {
		s.faults = fault.List{}
		s.faults.Add(fault.Root, fault.InvalidJSON, "is not UTF-8", "write it in UTF-8")
		return false
	}
	if s.peek() == 0 && s.pos == len(s.data) {
		s.faults.Add(fault.Root, fault.InvalidJSON, "is empty", "write one JSON value")
		return false
	}
	if !value() {
		at := s.at()
		line, column := place(s.data, s.pos)
		s.faults.Add(at, fault.InvalidJSON, fmt.Sprintf("is not JSON at line %d, column %d: %s", line, column, s.broken), "")
		return false
	}
	if s.peek() != 0 || s.pos < len(s.data) {
		line, column := place(s.data, s.pos)
		s.faults.Add(fault.Root, fault.TrailingData, fmt.Sprintf("ends before line %d, column %d, and more follows", line, column), "write one JSON value and nothing after it")
		return false
	}
	return true
}

// place returns the line and the column, in characters, of an offset.
func place(data []byte, pos int) (line, column int) {
	before := data[:pos]
	line = 1 + bytes.Count(before, []byte("\n"))
	column = 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return line, column
}

// merge adds the faults of Validate that do not merely follow from those of reading: a member that could not be
// read is blank, and says nothing about what its author wrote.
func merge(found fault.Faults, err error) fault.Faults {
	if err == nil {
		return found
	}
	more := fault.Of(err)
	if more == nil {
		return append(found, fault.Fault{Path: fault.Root, Code: fault.BadFormat, Message: err.Error()})
	}
	structural := found
	for _, f := range more {
		follows := false
		for _, s := range structural {
			if within(f.Path, s.Path) || within(s.Path, f.Path) {
				follows = true
				break
			}
		}
		if !follows {
			found = append(found, f)
		}
	}
	return found
}

// within reports whether a path is another or lies below it.
func within(path, other string) bool {
	if !strings.HasPrefix(path, other) {
		return false
	}
	rest := path[len(other):]
	return rest == "" || rest[0] == '.' || rest[0] == '['
}

// wellFormed demands one JSON value without names that occur twice.
func wellFormed(data []byte) error {
	s := scanner{data: data}
	s.document(s.skip)
	return s.faults.Err()
}

// ErrUnknownSchema says that no published schema has the id asked for.
var ErrUnknownSchema = errors.New("unknown schema")
