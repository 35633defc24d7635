package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema/internal/catalog"
)

// read reads one value of a shape into v, which is settable. A value of the wrong type is a fault and leaves v as
// it is; reading goes on behind it. It returns false when the text is not JSON.
func (s *scanner) read(sh *shape, r *catalog.Rules, v reflect.Value) bool {
	c := s.peek()
	switch sh.form {
	case text:
		if c == '"' {
			return s.readText(r, v)
		}
	case integer, number:
		if c == '-' || c >= '0' && c <= '9' {
			return s.readNumber(sh, r, v)
		}
	case boolean:
		if c == 't' || c == 'f' {
			v.SetBool(c == 't')
			return s.skip()
		}
	case list:
		if c == '[' {
			return s.readList(sh, r, v)
		}
	case table:
		if c == '{' {
			return s.readTable(sh, r, v)
		}
	case object:
		if c == '{' {
			return s.readObject(sh, v)
		}
	case union:
		if c == '{' {
			return s.readUnion(sh, v)
		}
	case rawObject:
		if c == '{' {
			raw, ok := s.raw()
			if ok {
				v.SetBytes(append([]byte(nil), raw...))
			}
			return ok
		}
	case anything, foreign:
		raw, ok := s.raw()
		if !ok {
			return false
		}
		err := json.Unmarshal(raw, v.Addr().Interface())
		switch {
		case err == nil:
		case sh.form == anything: // well formed, so it can only be a number that Go cannot hold
			s.fault(fault.OutOfRange, "holds a number that is too large", "use a smaller number")
		default:
			s.fault(fault.WrongType, err.Error(), "")
		}
		return true
	}
	return s.wrongType(c, sh.form)
}

// raw reads any value and returns its text.
func (s *scanner) raw() ([]byte, bool) {
	s.space()
	start := s.pos
	ok := s.skip()
	return s.data[start:s.pos], ok
}

func (s *scanner) wrongType(c byte, want form) bool {
	at := s.at()
	start := s.pos
	if !s.skip() {
		return false
	}
	got := "a number"
	switch c {
	case '"':
		got = "a string"
	case '{':
		got = "an object"
	case '[':
		got = "a list"
	case 't', 'f':
		got = string(s.data[start:s.pos])
	case 'n':
		got = "null"
	}
	s.faults.Add(at, fault.WrongType, "is "+got, "use "+want.says())
	return true
}

func (s *scanner) readText(r *catalog.Rules, v reflect.Value) bool {
	raw, f, ok := s.str()
	if !ok {
		return false
	}
	var val string
	if f.escaped {
		val = unquote(raw)
	} else {
		val = string(raw)
	}
	if f.lone {
		s.fault(fault.BadFormat, "holds half a surrogate pair", "write the character whole")
	}
	if f.nul {
		s.fault(fault.BadFormat, "holds a NUL character", "remove it")
	}
	if r != nil {
		s.textRules(r, val)
	}
	v.SetString(val)
	return true
}

func (s *scanner) textRules(r *catalog.Rules, val string) {
	switch {
	case r.Enum != nil:
		for _, word := range r.Enum {
			if word == val {
				return
			}
		}
		fault.OneOf(&s.faults, s.at(), val, r.Enum...)
	case r.MinLength > 0 && val == "":
		remedy := "give it a value"
		if r.Optional {
			remedy = "give it a value, or leave it out"
		}
		s.fault(fault.Blank, "is blank", remedy)
	case r.MaxLength > 0 && len(val) > r.MaxLength:
		if n := utf8.RuneCountInString(val); n > r.MaxLength {
			s.fault(fault.OutOfRange, fmt.Sprintf("has %d characters", n), fmt.Sprintf("use at most %d", r.MaxLength))
		}
	}
}

func (s *scanner) readNumber(sh *shape, r *catalog.Rules, v reflect.Value) bool {
	raw, whole, ok := s.num()
	if !ok {
		return false
	}
	var f float64
	if sh.form == integer {
		digits := raw
		if !whole {
			if digits, whole = withoutFraction(raw); whole {
				s.decimals++
			}
		}
		if !whole {
			s.fault(fault.WrongType, clip(raw)+" is not written as a whole number", "use digits only")
			return true
		}
		n, err := strconv.ParseInt(string(digits), 10, sh.typ.Bits())
		if err != nil {
			s.fault(fault.OutOfRange, clip(raw)+" is too large", fmt.Sprintf("use a number of at most %d bits", sh.typ.Bits()))
			return true
		}
		v.SetInt(n)
		f = float64(n)
	} else {
		var err error
		f, err = strconv.ParseFloat(string(raw), sh.typ.Bits())
		if err != nil {
			s.fault(fault.OutOfRange, clip(raw)+" is too large", "use a smaller number")
			return true
		}
		v.SetFloat(f)
	}
	if r != nil && (r.Minimum != nil && f < *r.Minimum || r.Maximum != nil && f > *r.Maximum) {
		s.fault(fault.OutOfRange, clip(raw)+" is out of range", "use "+between(r))
	}
	return true
}

// withoutFraction takes a fraction of nothing but zeros off a number: 1.0 is a whole number in JSON Schema, and many programs write whole
// numbers so. One with an exponent stays what it is.
func withoutFraction(raw []byte) ([]byte, bool) {
	digits, fraction, ok := bytes.Cut(raw, []byte("."))
	return digits, ok && len(bytes.Trim(fraction, "0")) == 0
}

func between(r *catalog.Rules) string {
	switch {
	case r.Minimum == nil:
		return fmt.Sprintf("at most %s", plain(*r.Maximum))
	case r.Maximum == nil:
		return fmt.Sprintf("at least %s", plain(*r.Minimum))
	}
	return fmt.Sprintf("%s to %s", plain(*r.Minimum), plain(*r.Maximum))
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func clip(raw []byte) string {
	if len(raw) > 40 {
		return string(raw[:40]) + "…"
	}
	return string(raw)
}

func (s *scanner) readList(sh *shape, r *catalog.Rules, v reflect.Value) bool {
	n := 0
	v.SetZero()
	ok := s.entries(func(int) bool {
		if n == v.Cap() {
			v.Grow(1)
		}
		n++
		v.SetLen(n)
		e := v.Index(n - 1)
		e.SetZero()
		return s.read(sh.entry, r, e)
	})
	if ok && n == 0 {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	if ok && r != nil && n < r.MinItems {
		s.fault(fault.Blank, "has too few entries", "give at least "+strconv.Itoa(r.MinItems))
	}
	return ok
}

func (s *scanner) readTable(sh *shape, r *catalog.Rules, v reflect.Value) bool {
	m := reflect.MakeMap(v.Type())
	ok := s.members(func(key []byte, f found) bool {
		if f.twice {
			return s.skip()
		}
		if f.lone || f.nul {
			s.fault(fault.BadFormat, "is named by a text that cannot be kept", "use another name")
		}
		e := reflect.New(sh.entry.typ).Elem()
		if !s.read(sh.entry, r, e) {
			return false
		}
		m.SetMapIndex(reflect.ValueOf(string(key)).Convert(v.Type().Key()), e)
		return true
	})
	v.Set(m)
	return ok
}

func (s *scanner) readObject(of *shape, v reflect.Value) bool {
	var seen uint64
	sh := of.members()
	if !s.members(func(key []byte, f found) bool {
		if f.twice { // the first one counts
			return s.skip()
		}
		i, known := sh.index[string(key)]
		if !known && sh.extra >= 0 {
			return s.keep(v.Field(sh.extra), string(key))
		}
		if !known {
			return s.unknown(sh, string(key))
		}
		seen |= 1 << i
		m := &sh.fields[i]
		return s.member(sh, m, v.Field(m.Index))
	}) {
		return false
	}
	if missing := sh.required &^ seen; missing != 0 {
		at := s.at()
		for i, m := range sh.fields {
			if missing&(1<<i) != 0 {
				s.faults.Add(fault.Field(at, m.Name), fault.MissingField, "is missing", "add it: "+need(&m))
			}
		}
	}
	return true
}

// need says what a missing member should hold.
func need(m *member) string {
	if len(m.Rules.Enum) > 0 && m.shape.form == text {
		return "one of " + strings.Join(m.Rules.Enum, ", ")
	}
	if m.Nullable {
		return m.shape.form.says() + " or null"
	}
	return m.shape.form.says()
}

func (s *scanner) member(sh *members, m *member, v reflect.Value) bool {
	if s.peek() == 'n' && m.shape.form != anything && m.shape.form != foreign {
		start := s.pos
		if !s.word("null") {
			return false
		}
		switch {
		case m.Nullable && m.shape.form == rawObject:
			v.SetBytes(append([]byte(nil), s.data[start:s.pos]...))
		case m.Nullable:
		case m.Optional:
			s.fault(fault.WrongType, "is null", "use "+m.shape.form.says()+", or leave it out")
		default:
			s.fault(fault.WrongType, "is null", "use "+m.shape.form.says())
		}
		return true
	}
	if m.holds != nil {
		start := s.pos
		held := reflect.New(m.holds.typ)
		before, decimals := s.faults.Len(), s.decimals
		if !s.read(m.holds, nil, held.Elem()) {
			return false
		}
		if s.faults.Len() == before {
			raw := append([]byte(nil), s.data[start:s.pos]...)
			if s.decimals > decimals { // who reads it next may be encoding/json, to which 1.0 is no integer
				if text, err := json.Marshal(held.Interface()); err == nil {
					raw = text
				}
			}
			v.SetBytes(raw)
			if c, ok := held.Interface().(interface{ Validate() error }); ok {
				s.faults.Within(s.at(), c.Validate())
			}
		}
		return true
	}
	if m.Pointer {
		v.Set(reflect.New(m.Type))
		v = v.Elem()
	}
	if m.Name == "schema" && sh.schemaID != "" && m.shape.form == text {
		if !s.read(m.shape, nil, v) {
			return false
		}
		if got := v.String(); got != sh.schemaID {
			s.fault(fault.WrongSchema, fmt.Sprintf("%q is not the schema of this record", clip([]byte(got))), fmt.Sprintf("write %q", sh.schemaID))
		}
		return true
	}
	return s.read(m.shape, &m.Rules, v)
}

// keep puts a member that the record does not know where the record keeps such.
func (s *scanner) keep(extra reflect.Value, key string) bool {
	raw, ok := s.raw()
	if !ok {
		return false
	}
	if extra.IsNil() {
		extra.Set(reflect.MakeMap(extra.Type()))
	}
	value := reflect.New(extra.Type().Elem()).Elem()
	value.SetBytes(append([]byte(nil), raw...))
	extra.SetMapIndex(reflect.ValueOf(key), value)
	return true
}

// unknown skips a member that the record does not have and, in what people author, says which one was meant.
func (s *scanner) unknown(sh *members, key string) bool {
	if sh.open {
		return s.skip()
	}
	at := s.at()
	if !s.skip() {
		return false
	}
	for _, m := range sh.fields {
		if m.shape.form == object {
			if _, ok := m.shape.members().index[key]; ok {
				s.faults.Add(at, fault.UnknownField, fmt.Sprintf("is not a member of this record; it belongs in %q", m.Name), fmt.Sprintf("write it as %s.%s", m.Name, key))
				return true
			}
		}
	}
	if near := fault.Nearest(key, sh.names); near != "" {
		s.faults.Add(at, fault.UnknownField, fmt.Sprintf("is not a member of this record; did you mean %q?", near), "rename or remove it")
		return true
	}
	s.faults.Add(at, fault.UnknownField, "is not a member of this record", "remove it; known are "+strings.Join(sh.names, ", "))
	return true
}

// readUnion finds the word that tells the members of a union apart, wherever in the object it stands, and reads
// the object as that member.
func (s *scanner) readUnion(sh *shape, v reflect.Value) bool {
	u := sh.union
	words := make([]string, len(u.Members))
	for i, m := range u.Members {
		words[i] = m.Word
	}
	word, kind, ok := s.lookAhead(u.Key)
	if !ok {
		return s.skip() // breaks where the look ahead broke, with its reason
	}
	for _, m := range u.Members {
		if kind == '"' && m.Word == word {
			field := v.FieldByName(m.Field)
			field.Set(reflect.New(m.Type))
			return s.readObject(shapeOf(m.Type), field.Elem())
		}
	}
	at := fault.Field(s.at(), u.Key)
	switch kind {
	case 0:
		s.faults.Add(at, fault.MissingField, "is missing", "add it: one of "+strings.Join(words, ", "))
	case '"':
		fault.OneOf(&s.faults, at, word, words...)
	default:
		s.faults.Add(at, fault.WrongType, "is not a string", "use one of "+strings.Join(words, ", "))
	}
	return s.skip()
}

// lookAhead returns the value of a member of the object at hand if it is a string, and the first byte of the value.
func (s *scanner) lookAhead(name string) (word string, kind byte, ok bool) {
	ahead := scanner{data: s.data, pos: s.pos}
	ok = ahead.members(func(key []byte, _ found) bool {
		if kind == 0 && string(key) == name {
			kind = ahead.peek()
			if kind == '"' {
				raw, _, ok := ahead.str()
				word = unquote(raw)
				return ok
			}
		}
		return ahead.skip()
	})
	return word, kind, ok
}
