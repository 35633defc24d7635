package project

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// bom is the mark that some editors put before the text.
var bom = []byte("\xef\xbb\xbf")

// A document is a JSON object with the places of its members, so that one of them can be changed and every other byte
// stays what it is.
type document struct {
	file    string
	bom     bool
	text    []byte // without the mark
	object  object // the root; empty for a blank file
	members []member
	faults  []placed
}

// A placed fault knows its position, so that all of them are reported in the order of the file.
type placed struct {
	offset int
	text   string
}

// An object is where an object stands: from the brace to behind its other brace.
type object struct{ start, end int }

// A member is one entry of an object. Offsets are into the text that the object stands in.
type member struct {
	name      string
	nameStart int // of the quote
	start     int // of the value
	end       int
}

// parse reads the root of a document. A blank one has no members. A name that stands there twice is refused: programs
// differ about which of them counts.
func parse(file string, data []byte) (*document, error) {
	d := &document{file: file}
	d.text, d.bom = bytes.CutPrefix(data, bom)
	if len(bytes.TrimLeft(d.text, " \t\r\n")) == 0 {
		return d, nil
	}
	if err := d.syntax(); err != nil {
		return nil, err
	}
	begin := firstByte(d.text)
	if d.text[begin] != '{' {
		return nil, d.at(begin, "the file is not a JSON object (begin it with { and end it with })")
	}
	var err error
	if d.object, d.members, err = members(d.text, begin); err != nil {
		return nil, d.locate(err)
	}
	return d, nil
}

// syntax reads the whole text strictly.
func (d *document) syntax() error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(d.text))
	if _, err := dec.ReadValue(); err != nil {
		return d.locate(err)
	}
	if rest := d.text[dec.InputOffset():]; len(bytes.TrimLeft(rest, " \t\r\n")) > 0 {
		return d.at(int(dec.InputOffset())+firstByte(rest), "there is more text behind the end of the object (remove it)")
	}
	return nil
}

// members reads the object that begins at offset start of text.
func members(text []byte, start int) (object, []member, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(text[start:]))
	if _, err := dec.ReadToken(); err != nil {
		return object{}, nil, err
	}
	var list []member
	for dec.PeekKind() == '"' {
		before := int(dec.InputOffset())
		name, err := dec.ReadToken()
		if err != nil {
			return object{}, nil, err
		}
		m := member{name: name.String(), nameStart: start + before + firstQuote(text[start+before:])}
		value, err := dec.ReadValue()
		if err != nil {
			return object{}, nil, err
		}
		m.end = start + int(dec.InputOffset())
		m.start = m.end - len(value)
		list = append(list, m)
	}
	if _, err := dec.ReadToken(); err != nil {
		return object{}, nil, err
	}
	return object{start, start + int(dec.InputOffset())}, list, nil
}

func (d *document) member(name string) (member, bool) { return find(d.members, name) }

func find(list []member, name string) (member, bool) {
	for _, m := range list {
		if m.name == name {
			return m, true
		}
	}
	return member{}, false
}

// objectAt returns the members of a member that is an object. Null, and a member that is not there, have none.
func (d *document) objectAt(m member, path string) []member {
	if m.end == 0 || d.text[m.start] == 'n' {
		return nil
	}
	if d.text[m.start] != '{' {
		d.decodeAt(m.start, path, d.text[m.start:m.end], &map[string]jsontext.Value{})
		return nil
	}
	_, list, err := members(d.text, m.start)
	if err != nil {
		d.fault(m.start, path, err.Error()) // parse has read it whole
	}
	return list
}

// decode reads a member's value, and remembers what is wrong with it.
func (d *document) decode(m member, dst any) bool {
	return d.decodeAt(m.start, m.name, d.text[m.start:m.end], dst)
}

// decodeAt reads a value that stands at an offset, under a dotted path.
func (d *document) decodeAt(offset int, path string, value []byte, dst any) bool {
	err := json.Unmarshal(value, dst)
	if err == nil {
		return true
	}
	var wrong *json.SemanticError
	if !errors.As(err, &wrong) {
		d.fault(offset, path, err.Error())
		return false
	}
	for name := range wrong.JSONPointer.Tokens() {
		path += "." + name
	}
	d.fault(offset+int(wrong.ByteOffset), path, fmt.Sprintf("is a JSON %s (write %s)", kinds[wrong.JSONKind], wanted(wrong.GoType)))
	return false
}

var kinds = map[jsontext.Kind]string{'n': "null", 't': "boolean", 'f': "boolean", '"': "string", '0': "number", '{': "object", '[': "list"}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Pointer:
		return wanted(t.Elem())
	}
	return "a number"
}

func (d *document) fault(offset int, path, message string) {
	d.faults = append(d.faults, placed{offset, d.place(offset) + ": " + path + " " + message})
}

// err is every fault that was found, each with its line.
func (d *document) err() error {
	if len(d.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(d.faults, func(a, b placed) int { return a.offset - b.offset })
	lines := make([]string, len(d.faults))
	for i, f := range d.faults {
		lines[i] = f.text
	}
	return errors.New(strings.Join(lines, "\n"))
}

func (d *document) at(offset int, message string) error {
	return errors.New(d.place(offset) + ": " + message)
}

// locate gives a syntax error its line and column.
func (d *document) locate(err error) error {
	var bad *jsontext.SyntacticError
	if !errors.As(err, &bad) {
		return d.at(len(d.text), "it is not JSON: "+err.Error())
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return d.at(int(bad.ByteOffset), fmt.Sprintf("the name %s stands there twice (remove one of them)", bad.JSONPointer))
	}
	what := "unexpected end of the text"
	if bad.Err != nil && !strings.Contains(bad.Err.Error(), "EOF") {
		what = bad.Err.Error()
	}
	return d.at(int(bad.ByteOffset), "it is not JSON: "+what)
}

// place is file:line:column of an offset; a column is counted in characters.
func (d *document) place(offset int) string {
	head := d.text[:min(max(offset, 0), len(d.text))]
	line := 1 + bytes.Count(head, []byte("\n"))
	column := 1 + len([]rune(string(head[bytes.LastIndexByte(head, '\n')+1:])))
	return fmt.Sprintf("%s:%d:%d", d.file, line, column)
}

func firstByte(text []byte) int { return len(text) - len(bytes.TrimLeft(text, " \t\r\n")) }

func firstQuote(text []byte) int { return max(0, bytes.IndexByte(text, '"')) }
