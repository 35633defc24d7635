package homeboy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/fault"
)

// The codes of warnings. Programs decide on these.
const (
	WarnAlias        = "alias"         // a member has another name than the contract gives it
	WarnForm         = "form"          // a value has another form that can be understood
	WarnDropped      = "dropped"       // a value that cannot be understood was left out
	WarnMissing      = "missing"       // a member that must be there is not
	WarnSchema       = "schema"        // the document names another schema
	WarnTaskID       = "task_id"       // the id of the task is absent, or another one
	WarnRefused      = "refused"       // a claim that does not count
	WarnUnknown      = "unknown_word"  // a word outside the vocabulary
	WarnContradicted = "contradiction" // two members say different things
	WarnEncoding     = "encoding"      // a byte order mark, or text that is not UTF-8
)

// A Warning is one liberty that a reader took, with what was written in that place.
type Warning struct {
	Path    string `json:"path"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Raw     Value  `json:"raw,omitempty"`
}

// String returns the warning on one line.
func (w Warning) String() string { return w.Path + ": " + w.Message }

// maxWarnings bounds what a hostile document can make of its reader's memory.
const maxWarnings = 200

// A reading collects what was repaired while one document was read.
type reading struct {
	warnings []Warning
	more     int
}

func (r *reading) warn(at, code, message string, raw Value) {
	if len(r.warnings) == maxWarnings {
		r.more++
		return
	}
	r.warnings = append(r.warnings, Warning{Path: at, Code: code, Message: message, Raw: raw})
}

// has reports whether a place was told with a code.
func (r *reading) has(at, code string) bool {
	return slices.ContainsFunc(r.warnings, func(w Warning) bool { return w.Path == at && w.Code == code })
}

func (r *reading) all() []Warning {
	if r.more == 0 {
		return r.warnings
	}
	return append(r.warnings, Warning{Path: fault.Root, Code: WarnDropped, Message: fmt.Sprintf("has %d more repairs", r.more)})
}

// A mender turns a dialect of a record into the canonical form before it is read.
type mender interface {
	mend(m *members)
}

// A widener turns a value that is no object into the object that it is short for; nil means that it cannot.
type widener interface {
	widen(raw Value) Value
}

// members is one object while it is mended.
type members struct {
	at  string
	raw map[string]Value
	r   *reading
}

// alias moves the first of the other names that says something to the canonical one, unless that is there. What is
// not moved stays under its own name.
func (m *members) alias(name string, others ...string) {
	if !m.raw[name].Null() {
		return
	}
	for _, other := range others {
		if raw := m.raw[other]; !raw.Null() {
			m.r.warn(fault.Field(m.at, other), WarnAlias, "is called "+name+" in the contract", raw)
			m.raw[name] = raw
			delete(m.raw, other)
			return
		}
	}
}

// text returns a member that is a string.
func (m *members) text(name string) string {
	s, _ := m.raw[name].Text()
	return s
}

// document reads one JSON object into the record behind target, as tolerantly as its members allow. Only what is not
// one JSON object is an error.
func document(data []byte, target any) (*reading, error) {
	r := &reading{}
	if rest, ok := bytes.CutPrefix(data, []byte("\xef\xbb\xbf")); ok {
		r.warn(fault.Root, WarnEncoding, "begins with a byte order mark", nil)
		data = rest
	}
	if !utf8.Valid(data) {
		r.warn(fault.Root, WarnEncoding, "is not UTF-8; what is not a character became U+FFFD", nil)
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	if !json.Valid(data) {
		return nil, invalid(data)
	}
	if !fault.IsObject(data) {
		return nil, fault.Faults{{Path: fault.Root, Code: fault.WrongType, Message: "is not a JSON object", Remedy: "write one object"}}
	}
	r.read(data, reflect.ValueOf(target).Elem(), fault.Root)
	return r, nil
}

// invalid tells why a text is not one JSON value.
func invalid(data []byte) error {
	f := fault.Fault{Path: fault.Root, Code: fault.InvalidJSON, Remedy: "write one JSON object and nothing else"}
	d := json.NewDecoder(bytes.NewReader(data))
	var first json.RawMessage
	switch err := d.Decode(&first); {
	case len(bytes.TrimSpace(data)) == 0:
		f.Message = "is empty"
	case err == nil:
		f.Code, f.Message = fault.TrailingData, fmt.Sprintf("has more after its first value, which ends at byte %d", d.InputOffset())
	default:
		f.Message = "is not JSON: " + err.Error()
	}
	return fault.Faults{f}
}

// read reads one value and returns whether it could be understood. What could not be is told and leaves v as it is.
func (r *reading) read(data Value, v reflect.Value, at string) bool {
	if v.Kind() == reflect.Pointer {
		if data.Null() {
			return true
		}
		p := reflect.New(v.Type().Elem())
		if !r.read(data, p.Elem(), at) {
			return false
		}
		v.Set(p)
		return true
	}
	if v.Type() == valueType {
		v.SetBytes(bytes.TrimSpace(data))
		return true
	}
	if data.Null() {
		return true // the wild writes null for absent
	}
	switch v.Kind() {
	case reflect.Struct:
		return r.object(data, v, at)
	case reflect.Slice:
		return r.list(data, v, at)
	case reflect.Map:
		return r.table(data, v, at)
	case reflect.Int64:
		return r.integer(data, v, at)
	}
	if json.Unmarshal(data, v.Addr().Interface()) == nil {
		if v.Kind() == reflect.String && strings.IndexByte(v.String(), 0) >= 0 {
			r.warn(at, WarnForm, "holds NUL characters; they are left out", data)
			v.SetString(strings.ReplaceAll(v.String(), "\x00", ""))
		}
		return true
	}
	if v.Kind() == reflect.String && (data[0] == '-' || data[0] >= '0' && data[0] <= '9') {
		r.warn(at, WarnForm, "is a number; its digits are taken as the text", data)
		v.SetString(string(data))
		return true
	}
	return r.drop(data, v, at)
}

func (r *reading) drop(data Value, v reflect.Value, at string) bool {
	r.warn(at, WarnDropped, "is "+says(data)+" and should be "+wants(v.Type())+"; it is left out", bytes.TrimSpace(data))
	return false
}

func (r *reading) object(data Value, v reflect.Value, at string) bool {
	target := v.Addr().Interface()
	raw, err := split(data)
	if err != nil {
		w, ok := target.(widener)
		if !ok {
			return r.drop(data, v, at)
		}
		wide := w.widen(data)
		if raw, err = split(wide); err != nil {
			return r.drop(data, v, at)
		}
		r.warn(at, WarnForm, "is "+says(data)+", short for an object", bytes.TrimSpace(data))
	}
	for _, name := range twice(data) {
		r.warn(fault.Field(at, name), WarnContradicted, "is there twice; the last one counts", nil)
	}
	if m, ok := target.(mender); ok {
		m.mend(&members{at: at, raw: raw, r: r})
	}
	l := layoutOf(v.Type())
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		i, known := l.index[name]
		if !known {
			keep(v, l, name, raw[name])
			continue
		}
		r.read(raw[name], v.Field(l.members[i].field), fault.Field(at, name))
	}
	return true
}

// twice returns the names that occur more than once in an object, in the order in which they come again.
func twice(data Value) []string {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var again []string
	seen := map[string]int{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return again
		}
		key, _ := name.(string)
		if seen[key]++; seen[key] == 2 {
			again = append(again, key)
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return again
		}
	}
	return again
}

func (r *reading) list(data Value, v reflect.Value, at string) bool {
	var entries []Value
	if err := json.Unmarshal(data, &entries); err != nil {
		// A single value where a list belongs is a list of one.
		one := reflect.New(v.Type().Elem()).Elem()
		quiet := reading{}
		if !quiet.read(data, one, at) {
			return r.drop(data, v, at)
		}
		if v.Type() != textsType { // there the contract has both forms
			r.warn(at, WarnForm, "is a single value; it is taken as a list of one", bytes.TrimSpace(data))
		}
		for _, w := range quiet.warnings {
			r.warn(w.Path, w.Code, w.Message, w.Raw)
		}
		v.Set(reflect.Append(reflect.MakeSlice(v.Type(), 0, 1), one))
		return true
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, len(entries)))
	for i, raw := range entries {
		e := reflect.New(v.Type().Elem()).Elem()
		if raw.Null() && e.Type() != valueType {
			r.warn(fault.Index(at, i), WarnDropped, "is null; it is left out", raw)
			continue
		}
		if r.read(raw, e, fault.Index(at, i)) {
			v.Set(reflect.Append(v, e))
		}
	}
	return true
}

func (r *reading) table(data Value, v reflect.Value, at string) bool {
	raw, err := split(data)
	if err != nil {
		return r.drop(data, v, at)
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(raw)))
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		e := reflect.New(v.Type().Elem()).Elem()
		if r.read(raw[name], e, fault.Field(at, name)) {
			v.SetMapIndex(reflect.ValueOf(name), e)
		}
	}
	return true
}

var textsType = reflect.TypeFor[Texts]()

// integer takes 60000.0 and 6e4 for 60000, as JavaScript does.
func (r *reading) integer(data Value, v reflect.Value, at string) bool {
	if json.Unmarshal(data, v.Addr().Interface()) == nil {
		return true
	}
	f, err := strconv.ParseFloat(string(bytes.TrimSpace(data)), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return r.drop(data, v, at)
	}
	r.warn(at, WarnForm, "is not written as a whole number", data)
	v.SetInt(int64(f))
	return true
}

// says names the JSON type of a value.
func says(data Value) string {
	switch d := bytes.TrimSpace(data); {
	case len(d) == 0 || d[0] == 'n':
		return "null"
	case d[0] == '"':
		return "a string"
	case d[0] == '{':
		return "an object"
	case d[0] == '[':
		return "a list"
	case d[0] == 't' || d[0] == 'f':
		return string(d)
	default:
		return "the number " + clip(string(d))
	}
}

// wants names the JSON type that a Go type is read from.
func wants(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int64:
		return "a whole number"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}
