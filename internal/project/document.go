package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

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
	faults  []string
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

// decode reads a member's value, and remembers what is wrong with it.
func (d *document) decode(m member, dst any) bool {
	err := json.Unmarshal(d.text[m.start:m.end], dst)
	if err == nil {
		return true
	}
	at, path := m.start, m.name
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		at += max(0, int(wrong.Offset)-1)
		if wrong.Field != "" {
			path += "." + wrong.Field
		}
	}
	d.fault(at, path, wrongType(err))
	return false
}

// wrongType says what a value is and what it should be.
func wrongType(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	return fmt.Sprintf("is a JSON %s (write %s)", wrong.Value, wanted(wrong))
}

func wanted(wrong *json.UnmarshalTypeError) string {
	switch wrong.Type.Kind().String() {
	case "string":
		return "a string"
	case "bool":
		return "true or false"
	case "slice":
		return "a list"
	case "map", "struct":
		return "an object"
	}
	return "a number"
}

func (d *document) fault(offset int, path, message string) {
	d.faults = append(d.faults, d.place(offset)+": "+path+" "+message)
}

// err is every fault that was found, each with its line.
func (d *document) err() error {
	if len(d.faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(d.faults, "\n"))
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
