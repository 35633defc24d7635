package project

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A style is how a file is laid out.
type style struct {
	newline string // "": everything stands on one line
	unit    string // of indentation
	colon   bool   // a blank behind a colon
	comma   bool   // a blank behind a comma, on one line
}

// plain is the style of a file that deed makes.
var plain = style{newline: "\n", unit: "  ", colon: true, comma: true}

// setBaseline returns the document with baselines.<key> set, or nothing if the present value is equivalent.
func (d *document) setBaseline(key string, value []byte) ([]byte, error) {
	var edited []byte
	switch m, ok := d.member("baselines"); {
	case d.object == (object{}): // blank
		inner := plain.value(wrap(key, value), "  ")
		edited = []byte("{\n  \"baselines\": " + inner + "\n}\n")
	case !ok:
		edited = d.insert(d.object, d.members, "baselines", wrap(key, value))
	case d.text[m.start] != '{':
		return nil, d.at(m.start, "baselines is not a JSON object (make it one, or remove the key)")
	default:
		inner, list, err := members(d.text, m.start)
		if err != nil {
			return nil, d.locate(err)
		}
		if old, ok := find(list, key); ok {
			if same(d.text[old.start:old.end], value) {
				return nil, nil
			}
			s := d.style()
			if !d.ownLine(old.nameStart) {
				s.newline = ""
			}
			edited = splice(d.text, old.start, old.end, s.value(value, d.indent(old.nameStart)))
		} else {
			edited = d.insert(inner, list, key, value)
		}
	}
	if d.bom {
		edited = append(bytes.Clone(bom), edited...)
	}
	return edited, nil
}

// wrap is an object of one member.
func wrap(key string, value []byte) []byte {
	return fmt.Appendf(nil, "{%s:%s}", quote(key), value)
}

func quote(s string) string {
	b, err := encode(s)
	if err != nil {
		panic("project: a string has no JSON: " + err.Error())
	}
	return string(b)
}

// insert adds a member behind the last one of an object.
func (d *document) insert(o object, list []member, name string, value []byte) []byte {
	s := d.style()
	if len(list) > 0 {
		last := list[len(list)-1]
		if s.newline == "" || !d.ownLine(last.nameStart) {
			one := s
			one.newline = ""
			sep := ","
			if s.comma {
				sep = ", "
			}
			return splice(d.text, last.end, last.end, sep+one.member(name, value, ""))
		}
		indent := d.indent(last.nameStart)
		return splice(d.text, last.end, last.end, ","+s.newline+indent+s.member(name, value, indent))
	}
	if s.newline == "" {
		return splice(d.text, o.start, o.end, "{"+s.member(name, value, "")+"}")
	}
	outer := d.indent(o.start)
	indent := outer + s.unit
	return splice(d.text, o.start, o.end, "{"+s.newline+indent+s.member(name, value, indent)+s.newline+outer+"}")
}

// style is that of the root's members. An object without any has the style of a new file, and its own newline.
func (d *document) style() style {
	s := plain
	if bytes.Contains(d.text, []byte("\r\n")) {
		s.newline = "\r\n"
	}
	if len(d.members) == 0 {
		return s
	}
	first := d.members[0]
	s.colon = d.text[first.start-1] != ':'
	if !d.ownLine(first.nameStart) {
		s.newline = ""
		s.comma = len(d.members) < 2 && s.colon
		if len(d.members) > 1 {
			s.comma = d.text[d.members[1].nameStart-1] != ','
		}
		return s
	}
	if unit := d.indent(first.nameStart); unit != "" {
		s.unit = unit
	}
	return s
}

// ownLine reports whether nothing but blanks stands before an offset on its line, and it is not the first line.
func (d *document) ownLine(offset int) bool {
	i := bytes.LastIndexByte(d.text[:offset], '\n')
	return i >= 0 && len(bytes.TrimLeft(d.text[i+1:offset], " \t")) == 0
}

// indent is the blanks that the line of an offset begins with.
func (d *document) indent(offset int) string {
	line := d.text[bytes.LastIndexByte(d.text[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// member is a name and its value, laid out behind an indentation.
func (s style) member(name string, value []byte, indent string) string {
	colon := ":"
	if s.colon {
		colon = ": "
	}
	return quote(name) + colon + s.value(value, indent)
}

// value lays a value out, as it would stand on a line with this indentation.
func (s style) value(value []byte, indent string) string {
	v := jsontext.Value(bytes.Clone(value))
	opts := []jsontext.Options{jsontext.SpaceAfterColon(s.colon), jsontext.SpaceAfterComma(s.comma)}
	if s.newline != "" {
		opts = []jsontext.Options{jsontext.SpaceAfterColon(s.colon), jsontext.WithIndentPrefix(indent), jsontext.WithIndent(s.unit)}
	}
	if err := v.Format(append(opts, jsontext.PreserveRawStrings(true))...); err != nil {
		return string(value) // it was encoded by us, and is valid
	}
	return strings.ReplaceAll(string(v), "\n", s.newline)
}

func splice(text []byte, from, to int, with string) []byte {
	out := make([]byte, 0, len(text)-(to-from)+len(with))
	out = append(out, text[:from]...)
	out = append(out, with...)
	return append(out, text[to:]...)
}
