package draft

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/deedrun/deed/contract/fault"
)

// maxDepth bounds nesting, far above any record and far below the stack.
const maxDepth = 1000

// A Step is one part of the path to a value: the name of a member, or the index of an entry.
type Step struct {
	Name  string
	Index int // -1: it is a member
}

// Path is the JSON path of steps from the root.
func Path(steps []Step) string {
	p := fault.Root
	for _, s := range steps {
		if s.Index < 0 {
			p = fault.Field(p, s.Name)
		} else {
			p = fault.Index(p, s.Index)
		}
	}
	return p
}

// A Document is one JSON text that was read.
type Document struct {
	Value any // with numbers as they are written
	// Odd are the places where a Go type may need another text than JSON allows.
	Odd []Odd

	depth  int // of nesting
	values int // objects and truth values, which is what schemas are made of
	cost   int // steps that its numbers cost
}

// An Odd is a value that is JSON, and that a Go type may not be able to hold.
type Odd struct {
	Kind       OddKind
	Steps      []Step
	Start, End int // its text
}

// OddKind says what is odd about a value.
type OddKind int

// The kinds of odd values.
const (
	OddNUL     OddKind = iota // a string with a NUL character
	OddHalf                   // a string with half a surrogate pair
	OddDecimal                // a whole number that is written with a fraction, such as 1.0
)

// Parse reads one JSON text. Its faults are fault.Faults: the first one that makes it no JSON, and all names that occur twice.
func Parse(data []byte) (*Document, error) {
	if !utf8.Valid(data) {
		return nil, one(fault.Root, fault.InvalidJSON, "is not UTF-8", "write it in UTF-8")
	}
	if len(bytes.TrimLeft(data, " \t\r\n")) == 0 {
		return nil, one(fault.Root, fault.InvalidJSON, "is empty", "write one JSON value")
	}
	p := parser{
		data: data,
		// Names that occur twice and half surrogate pairs are found here, so that each gets a fault of its own.
		dec: jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
	}
	v, err := p.value()
	if err != nil {
		p.broken(err)
		return nil, p.faults.Err()
	}
	p.doc.Value = v
	if end := p.dec.InputOffset(); len(bytes.TrimLeft(data[end:], " \t\r\n")) > 0 {
		rest := len(bytes.TrimLeft(data[end:], " \t\r\n"))
		line, column := lineOf(data, len(data)-rest)
		p.faults.Add(fault.Root, fault.TrailingData, fmt.Sprintf("ends before line %d, column %d, and more follows", line, column), "write one JSON value and nothing after it")
	}
	return &p.doc, p.faults.Err()
}

type parser struct {
	data   []byte
	dec    *jsontext.Decoder
	steps  []Step
	doc    Document
	faults fault.List
}

var errDepth = fmt.Errorf("it is nested more than %d deep", maxDepth)

// broken adds the fault that ends the reading.
func (p *parser) broken(err error) {
	at := int(p.dec.InputOffset())
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		at, err = int(syntax.ByteOffset), syntax.Err
	}
	line, column := lineOf(p.data, min(at, len(p.data)))
	p.faults.Add(Path(p.steps), fault.InvalidJSON, fmt.Sprintf("is not JSON at line %d, column %d: %v", line, column, err), "")
}

func (p *parser) value() (any, error) {
	switch p.dec.PeekKind() {
	case '{':
		p.doc.values++
		return p.object()
	case '[':
		return p.list()
	case '"':
		return p.text()
	}
	raw, err := p.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	switch raw[0] {
	case 'n':
		return nil, nil
	case 't', 'f':
		p.doc.values++
		return raw[0] == 't', nil
	}
	if _, fraction, ok := strings.Cut(string(raw), "."); ok && strings.Trim(fraction, "0") == "" {
		p.odd(OddDecimal, len(raw))
	}
	p.doc.cost += digits(len(raw))
	return clamp(json.Number(raw)), nil
}

// odd remembers the value that was just read.
func (p *parser) odd(kind OddKind, size int) {
	end := int(p.dec.InputOffset())
	p.doc.Odd = append(p.doc.Odd, Odd{kind, slices.Clone(p.steps), end - size, end})
}

func (p *parser) text() (string, error) {
	raw, err := p.dec.ReadValue()
	if err != nil {
		return "", err
	}
	size := len(raw)
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : size-1]), nil
	}
	s, err := jsontext.AppendUnquote(nil, raw)
	if err != nil { // with half a surrogate pair; what is unquoted has a replacement character for it
		p.odd(OddHalf, size)
	}
	if bytes.IndexByte(s, 0) >= 0 {
		p.odd(OddNUL, size)
	}
	return string(s), nil
}

func (p *parser) enter() error {
	if len(p.steps) >= maxDepth {
		return errDepth
	}
	_, err := p.dec.ReadToken()
	p.steps = append(p.steps, Step{})
	p.doc.depth = max(p.doc.depth, len(p.steps))
	return err
}

func (p *parser) leave() error {
	_, err := p.dec.ReadToken()
	if err == nil {
		p.steps = p.steps[:len(p.steps)-1]
	}
	return err
}

func (p *parser) list() (any, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	list := []any{}
	for i := 0; p.dec.PeekKind() != ']'; i++ {
		p.steps[len(p.steps)-1] = Step{Index: i}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, p.leave()
}

func (p *parser) object() (any, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	members := map[string]any{}
	last := len(p.steps) - 1
	for p.dec.PeekKind() != '}' {
		odd := len(p.doc.Odd)
		p.steps[last] = Step{Index: -1}
		name, err := p.text()
		if err != nil {
			return nil, err
		}
		p.steps[last].Name = name
		for i := range p.doc.Odd[odd:] { // it is odd itself
			p.doc.Odd[odd+i].Steps[last].Name = name
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		if _, twice := members[name]; twice {
			p.faults.Add(Path(p.steps), fault.DuplicateKey, "is there twice in one object", "name it once")
			continue
		}
		members[name] = v
	}
	return members, p.leave()
}

// lineOf returns the line and the column, in characters, of an offset.
func lineOf(data []byte, offset int) (line, column int) {
	before := data[:offset]
	line = 1 + bytes.Count(before, []byte("\n"))
	column = 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return line, column
}

// clamp keeps exponents within maxExponent. Numbers are compared as exact fractions, which would write 1e999999 out in
// full. What is beyond is beyond every bound that a schema can reasonably set, and stays so.
func clamp(n json.Number) json.Number {
	const maxExponent = 1000
	s := string(n)
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return n
	}
	if e, err := strconv.Atoi(s[i+1:]); err == nil && e >= -maxExponent && e <= maxExponent {
		return n
	}
	if strings.Trim(s[:i], "-0.") == "" {
		return "0"
	}
	limit := json.Number("1e" + strconv.Itoa(2*maxExponent))
	if s[i+1] == '-' {
		limit = json.Number("1e-" + strconv.Itoa(2*maxExponent))
	}
	if s[0] == '-' {
		limit = "-" + limit
	}
	return limit
}

func one(path, code, message, remedy string) error {
	return fault.Faults{{Path: path, Code: code, Message: message, Remedy: remedy}}
}
